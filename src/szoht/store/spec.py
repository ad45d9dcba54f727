"""The specification of a run: everything but its answers that is needed to repeat it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, get_type_hints

from szoht.core.algorithm import Algorithm, Measured
from szoht.core.operator import Operator
from szoht.core.variables import Variables
from szoht.core.version import __version__
from szoht.errors import EncodingError, RunMismatchError
from szoht.evaluation.programs import Program
from szoht.stopping import Rule
from szoht.store.codec import Encoded, decode, decode_entries, encode
from szoht.store.fingerprint import matches, stable_repr
from szoht.types import Vector

__all__ = ["Request", "RunSpec"]

LIMITS = frozenset({"max_queries", "max_iterations", "max_seconds", "target"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """The method that a user asked for by name, and what it was given.

    A later version in which that method is made of other parts makes it from this again.
    """

    method: str
    k: int | None = None
    constraint: Operator | None = None
    options: dict[str, Any] = field(default_factory=dict)
    has_gradient: bool = False
    plan_width: int = 1

    @property
    def data(self) -> Self | None:
        """The request as a store holds it; None if something in it is not data.

        Without the policy: its numbers are those of one version of the default solver.
        """
        options = {name: value for name, value in self.options.items() if name != "policy"}
        whole = replace(self, options=options)
        return None if _as_data(whole, Request) is None else whole


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSpec:
    """The parameters of a run, as far as they are data.

    ``method`` and ``stop`` are None if they hold something that is not data, such as a function;
    they must then be given again, and their description is compared. ``function`` is the
    fingerprint of the function, and ``source`` where it can be found again: a `Program`, or
    ``module:name``. With ``variables``, ``x0`` and the method are in the solver's numbers;
    ``limits`` and values are as the user states them. ``known`` is the best known point, which is
    measured beside x0 before the method begins. ``request`` is how the user asked for the method,
    if by name. ``version`` is for people to read.
    """

    version: str = __version__
    algorithm: str
    method: Algorithm | None
    request: Request | None = None
    x0: Vector
    seed: int
    limits: dict[str, float | None]
    stop: Rule | None
    stop_description: str
    on_error: str | None
    n_samples: int | None
    stochastic: bool
    vectorized: bool = False
    chunk_size: int | None = None
    function: dict[str, str] | None = None
    source: Program | str | None = None
    variables: Variables | None = None
    maximize: bool = False
    x_as: Literal["array", "series", "dict"] = "array"
    known: Measured | None = None

    @property
    def k(self) -> int | None:
        """How many non-zeros are allowed, if the constraint says so."""
        return getattr(getattr(self.method, "operator", None), "k", None)

    @property
    def label(self) -> str | None:
        """The function in few words; None if points are evaluated elsewhere."""
        if isinstance(self.source, Program):
            return shlex.join(self.source.command)
        return None if self.function is None else self.function["name"]

    @property
    def answers_best(self) -> bool:
        """Whether the answer is the best point evaluated, so that points must not be lost."""
        return bool(getattr(self.method, "answers_best", False))

    def encoded(self) -> Encoded:
        """Return the specification as a store holds it."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        method, stop = _as_data(self.method, Algorithm), _as_data(self.stop, Rule)
        request = None if self.request is None else self.request.data
        return encode(data | {"method": method, "stop": stop, "request": request})

    @classmethod
    def decoded(cls, encoded: Encoded) -> Self:
        """Return the specification that a store held.

        What a later version has no place for is ignored, and a method whose parts it does not know
        is None: it is made again from the request.
        """
        data = decode_entries(
            encoded, get_type_hints(cls), ignore_others=True, or_none=("method", "request")
        )
        try:
            spec = cls(**data)
        except TypeError as error:
            raise EncodingError(f"the specification is not complete: {error}") from error
        if not spec.limits.keys() <= LIMITS:
            raise EncodingError(f"{sorted(spec.limits)} are not limits of a run")
        if spec.function is not None and not {"name", "python"} <= spec.function.keys():
            raise EncodingError("the fingerprint of the function is not complete")
        return spec

    def with_limits(self, limits: Mapping[str, Any]) -> Self:
        """Return the specification with those limits replaced that are given."""
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return replace(self, limits=self.limits | given)

    def checked(self, *, method: Algorithm | None = None, stop: Rule | None = None) -> Self:
        """Return the specification with what had to be given again, which must be the same."""
        stored = self.method
        if stored is None and method is None and self.request is not None:
            return replace(self, stop=_choose("stop", stop, self.stop, self.stop_description))
        return replace(
            self,
            method=_choose("method", method, stored, self.algorithm),
            stop=_choose("stop", stop, self.stop, self.stop_description),
        )

    def check_function(self, given: dict[str, str]) -> None:
        """Raise unless a function with this fingerprint can be the stored one."""
        if self.function is None or matches(self.function, given):
            return
        raise RunMismatchError(
            f"`fun` must be the function of the stored run, {_shown(self.function)}; got "
            f"{_shown(given)}. Answers of different functions do not belong into one run."
        )


def _as_data(value: Any, place: Any) -> Any:
    """Return ``value`` if a store can hold it and give it back, else None."""
    try:
        decode(encode(value), place | None)
    except EncodingError:
        return None
    return value


def _choose(name: str, given: Any, stored: Any, description: str) -> Any:
    """Return the stored part, or the one given if it is the same."""
    if given is None and (stored is not None or description == stable_repr(None)):
        return stored
    if given is None:
        raise RunMismatchError(
            f"`{name}` must be given again, for it holds something that cannot be stored: "
            f"{description}."
        )
    if _is_same(given, stored, description):
        return given
    raise RunMismatchError(
        f"`{name}` must be what the run was made with, {description}; got {stable_repr(given)}."
    )


def _is_same(given: Any, stored: Any, description: str) -> bool:
    """Compare what a store holds, or the descriptions of what it does not hold."""
    if stored is None:
        return stable_repr(given) == description
    try:
        return encode(given) == encode(stored)
    except EncodingError:
        return False


def _shown(fingerprint: dict[str, str]) -> str:
    code = f" with code {fingerprint['code'][:8]}" if "code" in fingerprint else ""
    arguments = (
        f" and arguments {fingerprint['arguments'][:8]}" if fingerprint.get("arguments") else ""
    )
    return f"{fingerprint.get('repr', fingerprint['name'])}{code}{arguments}"
