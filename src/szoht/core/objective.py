"""What a function offers, declared and never guessed: `Objective`, `as_objective`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from szoht.core.validation import (
    answer_array,
    check_flag,
    check_integer,
    describe_shape,
    shown,
)
from szoht.errors import AnswerShapeError, CapabilityError, ParameterError, ParameterTypeError
from szoht.types import Sample, Vector

__all__ = ["Gradient", "HasValue", "Objective", "as_objective", "check_args"]

Call: TypeAlias = Callable[..., Any]

Gradient: TypeAlias = Call | bool | None
"""A function, or True where the objective returns ``(value, gradient)``."""

CAPABILITIES = ("values", "along", "gradient", "n_samples", "stochastic", "n_outputs")


class HasValue(Protocol):
    """An object that can be minimized; the capabilities of `Objective` are optional on it."""

    def value(self, x: Vector, sample: Sample) -> float:
        """Return f(x), on ``sample`` if the function is stochastic."""
        ...


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A function and its declared capabilities; what it does not offer is None.

    Parameters
    ----------
    value : callable
        ``value(x, sample) -> float``.
    values : callable, optional
        ``values(points, sample) -> (m,)`` for points of shape (m, d).
    along : callable, optional
        ``along(x, indices, offsets, sample) -> (m,)``: the values at the m points that equal
        ``x`` plus ``offsets[i]`` at the coordinates ``indices[i]``, both of shape (m, s).
    gradient : callable, optional
        ``gradient(x, sample) -> (d,)``.
    n_samples : int, optional
        The number of components of a finite sum; ``sample`` then is an array of their indices.
    stochastic : bool
        Whether ``value`` needs a sample.
    n_outputs : int, optional
        ``value`` returns an array of this many numbers, ``values`` and ``along`` one of shape
        (m, n_outputs); None for plain numbers. Single outputs may be NaN.
    """

    value: Call
    values: Call | None = None
    along: Call | None = None
    gradient: Call | None = None
    n_samples: int | None = None
    stochastic: bool = False
    n_outputs: int | None = None

    def __post_init__(self) -> None:
        for name in ("value", "values", "along", "gradient"):
            _check_callable(name, getattr(self, name), optional=name != "value")
        if self.n_samples is not None:
            check_integer("n_samples", self.n_samples, low=1)
            object.__setattr__(self, "stochastic", True)
        if self.n_outputs is not None:
            check_integer("n_outputs", self.n_outputs, low=1)


def as_objective(
    fun: Call | HasValue | Objective,
    *,
    vectorized: bool = False,
    n_samples: int | None = None,
    stochastic: bool = False,
    gradient: Gradient = None,
    along: Call | None = None,
    args: tuple[Any, ...] = (),
) -> Objective:
    """Turn what users pass as ``fun`` into an `Objective`.

    Parameters
    ----------
    fun : callable or object with a method ``value``
        ``fun(x) -> float``; with ``vectorized`` ``fun(X) -> (m,)`` for X of shape (m, d). A
        stochastic function takes the sample as its second argument. An object's own methods say
        what it offers, see `Objective`; the other parameters then stay at their defaults.
    vectorized : bool
        Whether ``fun`` takes a stack of points.
    n_samples : int, optional
        ``fun(x, sample)`` is the mean over the components in ``sample``, an integer array with
        entries in [0, n_samples). A point on a sample of size b costs b queries.
    stochastic : bool
        Whether ``fun`` takes a sample; implied by ``n_samples``.
    gradient : callable or True, optional
        ``gradient(x) -> (d,)``, or ``gradient(x, sample)``. True says that ``fun`` returns both,
        ``(value, gradient)``.
    along : callable, optional
        ``along(x, indices, offsets) -> (m,)``, or with the sample as fourth argument: a function
        with structure answers m queries without m dense points.
    args : tuple
        Passed to ``fun``, ``gradient`` and ``along`` after their own arguments, as in SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> def fun(x):
    ...     return 0.5 * float(x @ x)
    >>> def along(x, indices, offsets):
    ...     return fun(x) + (x[indices] * offsets + 0.5 * offsets**2).sum(axis=1)
    >>> objective = as_objective(fun, along=along)
    >>> objective.along(np.ones(4), np.array([[0], [3]]), np.array([[-1.0], [1.0]]), None)
    array([1.5, 3.5])
    """
    vectorized, stochastic = (
        check_flag("vectorized", vectorized),
        check_flag("stochastic", stochastic),
    )
    check_args(args)
    given = {
        "vectorized": vectorized,
        "n_samples": n_samples,
        "stochastic": stochastic,
        "gradient": gradient,
        "along": along,
        "args": args or None,
    }
    if isinstance(fun, Objective) or callable(getattr(fun, "value", None)):
        extra = [n for n, value in given.items() if value is not None and value is not False]
        if extra:
            raise ParameterError(
                f"`{extra[0]}` describes a plain function; an objective object declares what it "
                f"offers by its own methods. Got {extra[0]}={shown(given[extra[0]])}."
            )
        return fun if isinstance(fun, Objective) else _from_methods(cast(HasValue, fun))
    if not callable(fun):
        raise ParameterTypeError(
            f"`fun` must be callable or have a method `value(x, sample)`; got {shown(fun)}."
        )
    _check_callable("along", along, optional=True)
    if args:
        fun = _WithArguments(fun, args)
        gradient = _WithArguments(gradient, args) if callable(gradient) else gradient
        along = along and _WithArguments(along, args)
    if gradient is True:
        if vectorized:
            raise CapabilityError(
                "`vectorized` functions return values only; got gradient=True. Pass the gradient "
                "as a function of its own."
            )
        both = _Both(fun)
        fun, gradient = _Part(both, 0), _Part(both, 1)
    if gradient is not False:
        _check_callable("gradient", gradient, optional=True)
    drop = not (stochastic or n_samples is not None)
    return Objective(
        value=_FirstOfBatch(fun, drop) if vectorized else _value(fun, drop),
        values=_Call(fun, drop) if vectorized else None,
        along=None if along is None else _Call(along, drop),
        gradient=_Call(gradient, drop) if callable(gradient) else None,
        n_samples=n_samples,
        stochastic=stochastic,
    )


def check_args(args: object) -> None:
    """Raise unless the further arguments of a function are a tuple, or a list."""
    if not isinstance(args, tuple | list):
        raise ParameterTypeError(
            f"`args` must be a tuple of further arguments; got args={shown(args)}. For one "
            "argument a write args=(a,)."
        )


def _check_callable(name: str, part: object, *, optional: bool) -> None:
    if not callable(part) and not (optional and part is None):
        raise ParameterTypeError(f"`{name}` must be callable; got {name}={shown(part)}.")


def _from_methods(source: HasValue) -> Objective:
    offered = {name: getattr(source, name) for name in CAPABILITIES if hasattr(source, name)}
    return Objective(value=source.value, **offered)


def _value(fun: Call, drop_sample: bool) -> Call:
    return _WithoutSample(fun) if drop_sample else fun


# Classes rather than closures, so that an objective can be sent to another process.


@dataclass(frozen=True)
class _Call:
    fun: Call
    drop_sample: bool

    def __call__(self, *arguments: Any) -> Any:
        return self.fun(*arguments[:-1]) if self.drop_sample else self.fun(*arguments)


@dataclass(frozen=True)
class _WithArguments:
    fun: Call
    args: tuple[Any, ...]

    def __call__(self, *arguments: Any) -> Any:
        return self.fun(*arguments, *self.args)


@dataclass
class _Both:
    """A function that returns value and gradient, and what it returned last: most points need both.

    What it has returned is not sent to another process.
    """

    fun: Call

    def __post_init__(self) -> None:
        self._last: tuple[Vector, tuple[Any, ...], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"fun": self.fun, "_last": None}

    def __call__(self, x: Vector, *others: Any) -> Any:
        if self._last is not None:
            point, same, answer = self._last
            is_known = all(a is b for a, b in zip(same, others, strict=True))
            if is_known and np.array_equal(point, x):
                return answer
        answer = self.fun(np.array(x), *others)
        self._last = np.array(x), others, answer
        return answer


@dataclass(frozen=True)
class _Part:
    both: _Both
    place: int

    def __call__(self, x: Vector, *others: Any) -> Any:
        answer = self.both(x, *others)
        if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004
            raise AnswerShapeError(
                "`fun` must return (value, gradient) where gradient=True (or jac=True) says so; "
                f"got {describe_shape(answer)}."
            )
        return answer[self.place]


@dataclass(frozen=True)
class _WithoutSample:
    fun: Call

    def __call__(self, x: Vector, _: Sample) -> Any:
        return self.fun(x)


@dataclass(frozen=True)
class _FirstOfBatch:
    fun: Call
    drop_sample: bool

    def __call__(self, x: Vector, sample: Sample) -> Any:
        stack = x[np.newaxis]
        answer = self.fun(stack) if self.drop_sample else self.fun(stack, sample)
        values = answer_array(answer)
        if values.shape != (1,):
            raise AnswerShapeError(
                "A vectorized function must give values of shape (1,) for one point; got "
                f"{describe_shape(answer)}."
            )
        return values[0]
