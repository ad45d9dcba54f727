"""The methods that the experiments compare, and their names in figures."""

__all__ = ["METHOD_LABELS", "PAPER_METHODS"]

PAPER_METHODS = ("szoht", "rspgf", "zscg", "zoro")
METHOD_LABELS = {
    "szoht": "SZOHT",
    "rspgf": "RSPGF",
    "zscg": "ZSCG",
    "zoro": "ZORO",
    "corner_search": "corner search",
    "sparse_rs": "Sparse-RS",
    "auto": "auto",
}
