"""One file per figure or table of the paper, each with an ``EXPERIMENT``.

A file that is added here is found by `szoht reproduce`; its claims go into ``claims.toml``.
"""

__all__ = ["ORDER"]

ORDER = (
    "conflict",
    "sensitivity",
    "assets",
    "attacks",
    "attack-table",
    "projection",
    "rho-gamma",
    "dimension",
)
"""How the paper has them; others follow by name."""
