"""One module per figure or table of the paper, each with an ``EXPERIMENT``.

`szoht reproduce` finds every module of this package; its claims are in the file of the same name
that ends with ``.toml``.
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
"""The order of the paper; other experiments follow by name."""
