"""Outputs as users have them, arrays or numbers by name, and as the solver has them: rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from szoht.algorithms.calibration import Calibration
from szoht.core.objective import Call, Objective
from szoht.core.validation import answer_array, frozen, real_array
from szoht.errors import EvaluationError, ParameterError, ParameterTypeError
from szoht.types import Sample, Vector

__all__ = ["ObservedData", "OutputForm", "with_outputs"]

SHOWN_NAMES = 3


@dataclass(frozen=True, kw_only=True)
class OutputForm:
    """How many outputs a function has, and their names if it says them."""

    n_outputs: int
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, answer: Any) -> "OutputForm":
        """Return the form of a function's first answer."""
        named = _named(answer)
        if named is not None:
            return cls(n_outputs=len(named), names=tuple(named))
        return cls(n_outputs=_row(answer).size)

    @classmethod
    def stored(cls, algorithm: Calibration) -> "OutputForm":
        """Return the form that a stored run knows."""
        if algorithm.n_outputs is None:
            raise ParameterError(
                "`fun` must be called elsewhere: the run was begun for external evaluation, and "
                "does not know how many outputs there are."
            )
        return cls(n_outputs=algorithm.n_outputs, names=algorithm.output_names)

    def row(self, answer: Any) -> Vector:
        """Return an answer as a row of numbers, or raise if it has another form."""
        named = _named(answer)
        if named is None or not self.names:
            row = _row(answer if named is None else list(named.values()))
            if row.size != self.n_outputs:
                raise EvaluationError(
                    f"`fun` must return {self.n_outputs} outputs at every point; got {row.size}. "
                    "So many has `observed`, or without it the first answer"
                )
            return row
        lost = [name for name in self.names if name not in named]
        added = [name for name in named if name not in self.names]
        if lost or added:
            what = f"lacks {_listed(lost)}" if lost else f"has {_listed(added)} besides"
            raise EvaluationError(
                f"`fun` must return the same outputs at every point; one {what}. Their names are "
                "those of `observed`, or without it of the first answer"
            )
        return _row([named[name] for name in self.names])

    def label(self, i: int) -> str:
        """Return the name of an output, ``output[i]`` if it has none."""
        return self.names[i] if self.names else f"output[{i}]"


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedData:
    """What the outputs are compared with; NaN is a measurement that is missing."""

    observed: Vector | None = None
    sigma: Vector | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, observed: Any, sigma: Any) -> "ObservedData":
        """Check what users pass as ``observed`` and ``sigma``."""
        names, values = _column("observed", observed)
        sigma_names, deviations = _column("sigma", sigma)
        if deviations is not None:
            _check_positive(deviations, sigma_names)
        if names and sigma_names:
            deviations = _in_order(sigma, sigma_names, names)
        if values is not None and deviations is not None and deviations.size != 1:
            _check_same_size(values, deviations)
        if values is not None:
            _check_observed(values, names)
        return cls(
            observed=None if values is None else frozen(values),
            sigma=None if deviations is None else frozen(deviations),
            names=names or sigma_names,
        )

    @property
    def n_outputs(self) -> int | None:
        """How many outputs the function must have, if that is known."""
        if self.observed is not None:
            return int(self.observed.size)
        return None if self.sigma is None or self.sigma.size == 1 else int(self.sigma.size)

    def check(self, form: OutputForm) -> None:
        """Raise unless the measurements fit the outputs of a function."""
        if self.n_outputs not in (None, form.n_outputs):
            name = "sigma" if self.observed is None else "observed"
            raise ParameterError(
                f"`{name}` must have one entry for each of the {form.n_outputs} outputs of `fun`; "
                f"got {self.n_outputs}."
            )


def with_outputs(objective: Objective, form: OutputForm) -> Objective:
    """Return the objective with answers as rows of the form."""
    values = objective.values
    return replace(
        objective,
        value=_RowOf(objective.value, form) if values is None else _FirstRow(values),
        n_outputs=form.n_outputs,
    )


# Classes rather than closures, so that an objective can be sent to another process.


@dataclass(frozen=True)
class _RowOf:
    fun: Call
    form: OutputForm

    def __call__(self, x: Vector, sample: Sample) -> Any:
        return self.form.row(self.fun(x, sample))


@dataclass(frozen=True)
class _FirstRow:
    values: Call

    def __call__(self, x: Vector, sample: Sample) -> Any:
        return answer_array(self.values(x[np.newaxis], sample))[0]


def _named(answer: Any) -> dict[str, Any] | None:
    """Return an answer by names: of a dict, or of what has an index of strings such as a Series."""
    if isinstance(answer, Mapping):
        return {str(name): value for name, value in answer.items()}
    if hasattr(answer, "index") and hasattr(answer, "to_numpy"):
        names = list(answer.index)
        if names != list(range(len(names))):
            pairs = zip(names, answer.to_numpy().tolist(), strict=True)
            return {str(name): value for name, value in pairs}
    return None


def _row(answer: Any) -> Vector:
    """Return an answer of shape (m,), or a single number, as floats; None becomes NaN."""
    if answer is None:
        raise EvaluationError(
            "`fun` returned None (is a `return` missing?), not an array of outputs"
        )
    if isinstance(answer, list | tuple):
        answer = [np.nan if entry is None else entry for entry in answer]
    try:
        row = np.atleast_1d(real_array(answer))
        if np.asarray(answer).dtype.kind in "US":
            raise TypeError("it returned text")  # noqa: TRY301  (which NumPy would read)
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"`fun` must return an array of real numbers: {error}") from error
    if row.ndim != 1 or row.size == 0:
        raise EvaluationError(
            f"`fun` must return a 1-d array of outputs; got an array of shape {row.shape}"
        )
    return row


def _column(name: str, given: Any) -> tuple[tuple[str, ...], Vector | None]:
    """Return the names, if there are any, and the numbers of a parameter."""
    if given is None:
        return (), None
    named = _named(given)
    entries = given if named is None else list(named.values())
    if isinstance(entries, list | tuple):
        entries = [np.nan if entry is None else entry for entry in entries]
    try:
        values = np.atleast_1d(real_array(entries))
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"`{name}` must be numbers, one for each output; got {type(given).__name__}: {error}."
        ) from error
    if values.ndim != 1 or values.size == 0:
        raise ParameterError(
            f"`{name}` must be 1-d with one entry for each output; got shape {values.shape}."
        )
    return (() if named is None else tuple(named)), values


def _check_observed(values: Vector, names: tuple[str, ...]) -> None:
    if np.isinf(values).any():
        i = int(np.argmax(np.isinf(values)))
        where = repr(names[i]) if names else str(i)
        raise ParameterError(
            f"`observed` must be finite, or NaN for a measurement that is missing; got "
            f"observed[{where}]={values[i]:g}."
        )
    if np.isnan(values).all():
        raise ParameterError("`observed` must have a finite entry; all are missing.")


def _check_positive(sigma: Vector, names: tuple[str, ...]) -> None:
    wrong = ~(np.isfinite(sigma) & (sigma > 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        where = repr(names[i]) if names else str(i)
        raise ParameterError(
            f"`sigma` must be finite and > 0; got sigma[{where}]={sigma[i]:g}. To leave an output "
            "out, make its observed value NaN."
        )


def _check_same_size(observed: Vector, sigma: Vector) -> None:
    if observed.size != sigma.size:
        raise ParameterError(
            f"`sigma` must be one number or have one entry for each of the {observed.size} "
            f"observed values; got {sigma.size}."
        )


def _in_order(sigma: Any, sigma_names: tuple[str, ...], names: tuple[str, ...]) -> Vector:
    lost = [name for name in names if name not in sigma_names]
    if lost:
        raise ParameterError(f"`sigma` must have an entry for each observed value; no {lost[0]!r}.")
    named = _named(sigma) or {}
    return np.array([float(named[name]) for name in names])


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:SHOWN_NAMES]))
    return shown + (", ..." if len(names) > SHOWN_NAMES else "")
