"""Records of the numbers by which a solver decides."""

from dataclasses import dataclass, fields

__all__ = ["SolverNumbers"]


@dataclass(frozen=True, kw_only=True, repr=False)
class SolverNumbers:
    """Numbers that all have a default; shows only those that were changed."""

    def __repr__(self) -> str:
        usual = type(self)()
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        changed = [
            f"{name}={value!r}" for name, value in given.items() if value != getattr(usual, name)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
