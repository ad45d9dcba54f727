"""What a run is, apart from its answers: everything that is needed to have it again."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from szoht._version import __version__
from szoht.algorithm import Algorithm
from szoht.errors import EncodingError, RunMismatchError
from szoht.programs import Program
from szoht.store.codec import Encoded, decode, encode
from szoht.store.fingerprint import describe, same
from szoht.types import Vector

__all__ = ["Settings", "as_data"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """The parameters of a run, as far as they are data.

    ``method`` and ``stop`` are None if they hold something that is not data, such as a function;
    they must then be given again, and their description is compared. ``function`` is the
    fingerprint of the function, and ``source`` where it can be had again: a `Program`, or
    ``module:name``.
    """

    version: str = __version__
    algorithm: str
    method: Algorithm | None
    x0: Vector
    seed: int
    limits: dict[str, Any]
    stop: Any
    stop_description: str
    on_error: str
    n_samples: int | None
    stochastic: bool
    vectorized: bool = False
    chunk_size: int | None = None
    function: dict[str, str] | None = None
    source: Any = None

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

    def encoded(self) -> Encoded:
        """Return the settings as a store holds them."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        return encode(data | {"method": as_data(self.method), "stop": as_data(self.stop)})

    @classmethod
    def decoded(cls, encoded: Encoded) -> Self:
        """Return the settings that a store held."""
        return cls(**decode(encoded))

    def with_limits(self, limits: Mapping[str, Any]) -> Self:
        """Return the settings with those limits replaced that are given."""
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return replace(self, limits=self.limits | given)

    def checked(self, *, method: Algorithm | None = None, stop: Any = None) -> Self:
        """Return the settings with what had to be given again; it must be what was stored."""
        if self.version != __version__:
            raise RunMismatchError(
                f"the run was made by szoht {self.version}, and this is {__version__}, which may "
                f"ask other points. Install szoht=={self.version} to go on with it."
            )
        return replace(
            self,
            method=_again("method", method, self.method, self.algorithm),
            stop=_again("stop", stop, self.stop, self.stop_description),
        )

    def check_function(self, given: dict[str, str]) -> None:
        """Raise unless a function with this fingerprint can be the stored one."""
        if self.function is None or same(self.function, given):
            return
        raise RunMismatchError(
            f"`fun` must be the function of the stored run, {_shown(self.function)}; got "
            f"{_shown(given)}. Answers of different functions do not belong into one run."
        )


def as_data(value: Any) -> Any:
    """Return ``value`` if a store can hold it, else None."""
    try:
        encode(value)
    except EncodingError:
        return None
    return value


def _again(name: str, given: Any, stored: Any, description: str) -> Any:
    chosen = stored if given is None else given
    if describe(chosen) == description:
        return chosen
    if chosen is None:
        raise RunMismatchError(
            f"`{name}` must be given again, for it holds something that cannot be stored: "
            f"{description}."
        )
    raise RunMismatchError(
        f"`{name}` must be what the run was made with, {description}; got {describe(chosen)}."
    )


def _shown(print_: dict[str, str]) -> str:
    code = f" with code {print_['code'][:8]}" if "code" in print_ else ""
    return f"{print_.get('repr', print_['name'])}{code}"
