"""Table 1: the complexities of sparsity-enforcing algorithms, with what each row rests on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import indent, wrap

from szoht.theory.inputs import Version
from szoht.theory.queries import corollary_iterations, query_complexity

__all__ = ["Complexity", "ComplexityTable", "complexity_table", "smooth_query_complexity"]

_WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class Complexity:
    """One row of Table 1.

    Parameters
    ----------
    method, reference : str
        The name, and where its complexity is shown.
    kind : str
        Oracle and way to sparsity: "FO/l0", "ZO/l1" or "ZO/l0".
    assumptions : tuple of str
        What the row asks of f.
    oracle : {"gradients", "values"}
        What is counted: calls of the gradient (#IFO) or of f (#IZO).
    queries, thresholdings : str
        Their order as printed; no thresholdings where the method has none.
    precision : str
        What epsilon is the size of; it differs from row to row.
    remark : str
        The table's footnotes and our own reservations.
    algorithm : str
        The function of `szoht.algorithms`.
    count_queries, count_iterations : callable, optional
        The order with its constants, where the paper gives them; see `query_complexity`,
        `smooth_query_complexity` and `corollary_iterations` for the parameters.
    """

    method: str
    reference: str
    kind: str
    assumptions: tuple[str, ...]
    oracle: str
    queries: str
    thresholdings: str
    precision: str
    remark: str
    algorithm: str
    count_queries: Callable[..., int] | None = None
    count_iterations: Callable[..., int] | None = None

    def __str__(self) -> str:
        counted = f"{self.queries} {self.oracle}"
        if self.thresholdings:
            counted += f", {self.thresholdings} hard thresholdings"
        lines = (
            counted,
            f"assumes {', '.join(self.assumptions)}",
            f"epsilon: {self.precision}",
            self.remark,
        )
        wrapped = ["\n  ".join(wrap(line, _WIDTH - 4)) for line in lines if line]
        title = f"{self.method} ({self.kind}; {self.reference})"
        return "\n".join([title, indent("\n".join(wrapped), "  ")])


@dataclass(frozen=True, kw_only=True)
class ComplexityTable:
    """The rows of Table 1 in its order, and what must be known to read them."""

    rows: tuple[Complexity, ...]
    note: str

    def __iter__(self) -> Iterator[Complexity]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        title = "Table 1: complexity for a precision epsilon"
        return "\n\n".join([title, *map(str, self.rows), "\n".join(wrap(self.note, _WIDTH))])


def smooth_query_complexity(
    *,
    k: int,
    k_star: int,
    kappa: float,
    distance: float,
    accuracy: float,
    version: Version = "corrected",
) -> int:
    r"""Corollary 2: queries until the transient is below ``accuracy``; no ``d`` in them.

    .. math:: (q + 1) \cdot 104\,\kappa^2\log(\|x_0-x^*\|/\varepsilon)
              = O\big(k\,\kappa^2\log(1/\varepsilon)\big)

    Parameters
    ----------
    k, k_star, kappa, distance, accuracy, version
        As in :func:`~szoht.theory.query_complexity`, for directions with full supports.

    Examples
    --------
    >>> smooth_query_complexity(k=1560, k_star=5, kappa=1.0, distance=1.0, accuracy=0.1)
    1501200
    """
    least = 2 * k + k_star  # any d that has room for k gives the same number
    return query_complexity(
        d=least,
        k=k,
        k_star=k_star,
        kappa=kappa,
        support_size=least,
        distance=distance,
        accuracy=accuracy,
        version=version,
    )


def complexity_table() -> ComplexityTable:
    """Return Table 1 of the paper, row by row, with its footnotes.

    Examples
    --------
    >>> for row in complexity_table():
    ...     print(row.method, row.kind, row.queries)
    StoIHT FO/l0 O(kappa log(1/eps))
    RSPGF ZO/l1 O(d/eps^2)
    ZSCG ZO/l1 O(d/eps^2)
    ZORO ZO/l1 O(s log(d) log(1/eps))
    SZOHT ZO/l0 O((k + d/s2) kappa^2 log(1/eps))
    SZOHT ZO/l0 O(k kappa^2 log(1/eps))
    """
    return ComplexityTable(rows=(_STOIHT, *_L1_METHODS, *_SZOHT), note=_NOTE)


_NOTE = (
    "The rows are not to be ranked: epsilon measures different things in them, the assumptions "
    "differ, and SZOHT's k is no free parameter, since its corollaries need k of the order of "
    "kappa^4 k_star. Complexities are up to the system error where a row says so."
)

_DISTANCE = "the distance to the sparse minimizer, up to a system error"

_STOIHT = Complexity(
    method="StoIHT",
    reference="Nguyen, Needell, Woolf 2017",
    kind="FO/l0",
    assumptions=("restricted smoothness (RSS)", "restricted strong convexity (RSC)"),
    oracle="gradients",
    queries="O(kappa log(1/eps))",
    thresholdings="O(kappa log(1/eps))",
    precision=_DISTANCE,
    remark="",
    algorithm="stoiht",
)

_PENALIZED = "It minimizes f(x) + lambda |x|_1, of which only f needs to be smooth."

_L1_METHODS = (
    Complexity(
        method="RSPGF",
        reference="Ghadimi, Lan, Zhang 2016",
        kind="ZO/l1",
        assumptions=("smooth f",),
        oracle="values",
        queries="O(d/eps^2)",
        thresholdings="",
        precision="the squared gradient mapping, at an iterate drawn at random",
        remark=_PENALIZED,
        algorithm="rspgf",
    ),
    Complexity(
        method="ZSCG",
        reference="Balasubramanian, Ghadimi 2018",
        kind="ZO/l1",
        assumptions=("convex f", "smooth f"),
        oracle="values",
        queries="O(d/eps^2)",
        thresholdings="",
        precision="the objective minus its minimum on the l1 ball",
        remark="The row is the modified version, Algorithm 3 of its paper.",
        algorithm="zscg",
    ),
    Complexity(
        method="ZORO",
        reference="Cai, McKenzie, Yin, Zhang 2020",
        kind="ZO/l1",
        assumptions=(
            "s-sparse gradients",
            "weakly sparse Hessian",
            "smooth f",
            "restricted strong convexity in another sense (RSC_bis)",
        ),
        oracle="values",
        queries="O(s log(d) log(1/eps))",
        thresholdings="",
        precision="the objective minus its minimum",
        remark=_PENALIZED,
        algorithm="zoro",
    ),
)

_OURS = "de Vazelhes, Zhang, Wu, Yuan, Gu 2022"

_SZOHT = (
    Complexity(
        method="SZOHT",
        reference=f"{_OURS}, Corollary 1",
        kind="ZO/l0",
        assumptions=("restricted smoothness (RSS)", "restricted strong convexity (RSC)"),
        oracle="values",
        queries="O((k + d/s2) kappa^2 log(1/eps))",
        thresholdings="O(kappa^2 log(1/eps))",
        precision=_DISTANCE,
        remark="Directions move s2 coordinates each.",
        algorithm="szoht",
        count_queries=query_complexity,
        count_iterations=corollary_iterations,
    ),
    Complexity(
        method="SZOHT",
        reference=f"{_OURS}, Corollary 2",
        kind="ZO/l0",
        assumptions=("smooth f", "restricted strong convexity (RSC)"),
        oracle="values",
        queries="O(k kappa^2 log(1/eps))",
        thresholdings="O(kappa^2 log(1/eps))",
        precision=_DISTANCE,
        remark="Directions move all coordinates.",
        algorithm="szoht",
        count_queries=smooth_query_complexity,
        count_iterations=corollary_iterations,
    ),
)
