"""Figure "Conflict": expansivity falls with k, the gradient error grows; measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import Sphere
from szoht.operators import Sparse
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, median_over_seeds, scalar
from szoht.paper.recording import table_from_rows
from szoht.reporting.figures import COLORS, plot_median_and_range, subplots
from szoht.theory import Regularity, Setting, contraction, error_second_moment, expansivity
from szoht.types import Indices, Vector

__all__ = ["EXPERIMENT"]

D, K_STAR, MU = 2000, 10, 1e-6
DIRECTIONS = (20, 50, 100, 200)
K_VALUES = (10, 20, 40, 80, 160, 320, 640, 995)


def _jobs(scale: Scale) -> Sequence[Job]:
    repeats = 60 if scale.quick else 400
    settings = {"d": D, "k_star": K_STAR, "mu": MU, "kept": list(K_VALUES), "repeats": repeats}
    return [
        Job(
            experiment="conflict",
            curve=f"q={q}",
            settings={**settings, "q": q},
            seed=seed,
            cost=repeats * (2.3e-3 + 2e-4 * q),
        )
        for q in DIRECTIONS
        for seed in scale.runs(quick=5, full=5)
    ]


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return for each k the expansivity, the gradient error and the contraction of a step."""
    return table_from_rows([_row(settings, k, seed) for k in settings["kept"]])


def _row(settings: Mapping[str, Any], k: int, seed: int) -> dict[str, float]:
    d, k_star, q = settings["d"], settings["k_star"], settings["q"]
    rng = np.random.default_rng([seed, k])
    x, target, fixed = _point(rng, d, k, k_star)
    gradient = x - target  # of f = |x - target|^2 / 2
    sample = _estimates(settings, x, target, seed * len(K_VALUES) + settings["kept"].index(k))
    unit = float(gradient @ gradient)
    errors = ((sample - gradient)[:, fixed] ** 2).sum(axis=1) / unit
    # the best step on F, min over eta of E|x - eta ghat_F - target|^2 / |x - target|^2
    along = float((sample @ gradient).mean()) / unit
    size = float((sample[:, fixed] ** 2).sum(axis=1).mean()) / unit
    rho = np.sqrt(max(0.0, 1 - along**2 / size))
    gamma = _worst_expansion(rng, d, k, k_star)
    steps, chosen = _steps(x, target, sample, k, along / size)
    setting = Setting(d=d, k=k, k_star=k_star, q=q, support_size=d)
    exact = float(error_second_moment(setting, on=1.0, off=0.0, size=fixed.size))
    bound = float(expansivity(d=d, k=k, k_star=k_star))
    return {
        "k": float(k),
        "gamma": gamma,
        "gamma_bound": bound,
        "error": float(errors.mean()),
        "error_deviation": float(errors.std(ddof=1) / np.sqrt(errors.size)),
        "error_exact": exact,
        "error_chosen": chosen / unit,
        "rho": float(rho),
        "product": gamma * float(rho),
        "product_theorem": float(contraction(setting, Regularity())),
        "product_exact": bound * float(np.sqrt(exact / (1 + exact))),
        "step": steps,
    }


def _point(rng: np.random.Generator, d: int, k: int, k_star: int) -> tuple[Vector, Vector, Indices]:
    """Return a k-sparse x, a k*-sparse target, and a set F of 2 k + k* coordinates around them."""
    places = rng.permutation(d)
    x, target = np.zeros(d), np.zeros(d)
    x[places[:k]] = rng.standard_normal(k)
    target[places[k : k + k_star]] = rng.standard_normal(k_star)
    return x, target, places[: min(d, 2 * k + k_star)]


def _estimates(settings: Mapping[str, Any], x: Vector, target: Vector, seed: int) -> Vector:
    """Return gradient estimates at x, one per row, by the library's own estimator."""
    estimator = Sphere(q=settings["q"], mu=settings["mu"])
    rows = []
    for t in range(settings["repeats"]):
        plan = estimator.plan(x, None, None, Key(seed=seed, iteration=t))
        values = 0.5 * ((plan.points() - target) ** 2).sum(axis=1)
        rows.append(estimator.combine(plan, [Answer(values=values)], None)[0].gradient)
    return np.stack(rows)


def _worst_expansion(rng: np.random.Generator, d: int, k: int, k_star: int) -> float:
    """Return the largest |H_k(b) - a| / |b - a| found, a being k*-sparse.

    Tries random b, and b whose largest entries barely push the support of a out of the first k.
    """
    pairs = [(rng.standard_normal(d), _sparse(rng, d, k_star)) for _ in range(20)]
    places, signs = rng.permutation(d), rng.choice([-1.0, 1.0], size=d)
    for height in np.linspace(1.0, 1 + 2 * np.sqrt(k / k_star), 200):
        a, b = np.zeros(d), np.zeros(d)
        a[places[:k_star]] = height
        b[places[:k_star]] = 1.0
        b[places[k_star : k_star + k]] = 1.0 + 1e-9
        pairs.append((signs * b, signs * a))
    keep = Sparse(k)
    return max(
        float(np.linalg.norm(keep.prox(b, 0.0) - a) / np.linalg.norm(b - a)) for b, a in pairs
    )


def _sparse(rng: np.random.Generator, d: int, k: int) -> Vector:
    a = np.zeros(d)
    a[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    return a


def _steps(x: Vector, target: Vector, sample: Vector, k: int, step: float) -> tuple[float, float]:
    """Return the contraction of a full step, and the error on the set F that the step selects."""
    keep, gradient = Sparse(k), x - target
    ratios, errors = [], []
    for estimate in sample:
        after = keep.prox(x - step * estimate, 0.0)
        inside = (after != 0) | (x != 0) | (target != 0)
        errors.append(float(((estimate - gradient)[inside] ** 2).sum()))
        ratios.append(float(((after - target) ** 2).sum()) / float(gradient @ gradient))
    return float(np.sqrt(np.mean(ratios))), float(np.mean(errors))


def _figures(results: Results) -> Mapping[str, Plot]:
    figure, (left, middle, right) = subplots(columns=3)
    first = results.runs(results.names[0])[0].table
    left.plot(first["k"], first["gamma_bound"], color="#888888", label="Lemma B.4")
    left.plot(first["k"], first["gamma"], "o", color=COLORS[0], markersize=4, label="worst found")
    left.set(title="Expansivity of thresholding", ylabel=r"$\gamma(k)$")
    for q, color in zip(DIRECTIONS, COLORS, strict=False):
        name = f"q={q}"
        k = results.columns(name, "k")[0]
        plot_median_and_range(middle, k, results.columns(name, "error"), label=name, color=color)
        middle.plot(k, results.columns(name, "error_exact")[0], ":", color="#444444", linewidth=1)
        plot_median_and_range(right, k, results.columns(name, "product"), label=name, color=color)
        right.plot(k, results.columns(name, "step")[0], "--", color=color, linewidth=1.0, alpha=0.7)
    middle.set(title="Gradient error on F", ylabel=r"$E|\hat g_F - g_F|^2 / |g_F|^2$", yscale="log")
    right.set(title="Their product", ylabel=r"$\gamma(k)\,\rho(k)$", ylim=(0.4, 1.5))
    right.axhline(1.0, color="#c0392b", linewidth=1.0)
    for panel in (left, middle, right):
        panel.set(xscale="log", xlabel="$k$")
        panel.legend(frameon=False, fontsize=8)
    caption = (
        f"Quadratic in d = {D}, k* = {K_STAR}, full supports. Left: the worst expansion found and "
        "the lemma. Middle: the error of the estimate on 2k + k* fixed coordinates; dotted, its "
        "exact value. Right: expansivity times the contraction of the best gradient step; above "
        "the red line the two together no longer contract. Dashed: what a whole step does to a "
        "random point; at small k more than the product, since the step chooses its own F."
    )
    return {"measured": Plot(figure=figure, caption=caption)}


def _tables(results: Results) -> list[Table]:
    return [curve.table for curve in results.curves]


def _lemma(results: Results) -> Measurement:
    """Return the largest ratio of the expansion found to the lemma's bound."""
    return scalar(max(float((t["gamma"] / t["gamma_bound"]).max()) for t in _tables(results)))


def _tight(results: Results) -> Measurement:
    """Return the smallest ratio of the expansion found to the lemma's bound."""
    return scalar(min(float((t["gamma"] / t["gamma_bound"]).min()) for t in _tables(results)))


def _least_expansion(results: Results) -> Measurement:
    return scalar(min(float(t["gamma"].min()) for t in _tables(results)))


def _monotone(results: Results, column: str, rising: bool) -> Measurement:
    """Return whether a column rises (or falls) with k in every curve."""
    steps = [np.diff(t[column]) * (1 if rising else -1) for t in _tables(results)]
    return boolean(
        all((s > 0).all() for s in steps),
        f"{column} {'rises' if rising else 'falls'} in {sum((s > 0).sum() for s in steps)} of "
        f"{sum(s.size for s in steps)} steps",
    )


def _moment(results: Results) -> Measurement:
    """Return the largest deviation from the exact error, in standard errors."""
    return scalar(
        max(
            float((np.abs(t["error"] - t["error_exact"]) / t["error_deviation"]).max())
            for t in _tables(results)
        ),
        " standard errors",
    )


def _falls_with_q(results: Results) -> Measurement:
    means = [np.mean(results.columns(f"q={q}", "error"), axis=0) for q in DIRECTIONS]
    return boolean(
        (np.diff(means, axis=0) < 0).all(), f"over q = {', '.join(map(str, DIRECTIONS))}"
    )


def _smallest_product(results: Results, q: int) -> Measurement:
    return median_over_seeds(np.array([c.min() for c in results.columns(f"q={q}", "product")]))


def _crossing(results: Results, q: int) -> Measurement:
    """Return the k at which the product passes 1 from below."""
    name = f"q={q}"
    k = results.columns(name, "k")[0]
    return median_over_seeds(np.array([_passes(k, c) for c in results.columns(name, "product")]))


def _predicted(results: Results, q: int) -> Measurement:
    """Return the ratio of that k to the one that exact moments and the lemma predict."""
    name = f"q={q}"
    k = results.columns(name, "k")[0]
    expected = _passes(k, results.columns(name, "product_exact")[0])
    return median_over_seeds(
        np.array([_passes(k, c) / expected for c in results.columns(name, "product")])
    )


def _passes(k: Vector, product: Vector) -> float:
    above = np.flatnonzero((product[:-1] < 1) & (product[1:] >= 1))
    if not above.size:
        raise NotRunError("the product does not pass 1 on these k.")
    i = int(above[-1])
    part = (1 - product[i]) / (product[i + 1] - product[i])
    return float(np.exp(np.log(k[i]) + part * (np.log(k[i + 1]) - np.log(k[i]))))


def _covered(results: Results) -> Measurement:
    """Return the largest ratio of the measured product to the theorem's."""
    return scalar(max(float((t["product"] / t["product_theorem"]).max()) for t in _tables(results)))


def _chosen(results: Results) -> Measurement:
    """Return how much larger the error is on the F that a step chooses than on a fixed one."""
    return median_over_seeds(
        np.array([(t["error_chosen"] / t["error_exact"]).max() for t in _tables(results)])
    )


EXPERIMENT = Experiment(
    name="conflict",
    title="Gradient error against expansivity",
    where='Section 3.2, figure "Conflict"',
    description=(
        "The paper sketches the conflict; here both sides are measured on a quadratic, and where "
        "their product passes 1."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures=by_name(
        _lemma,
        _tight,
        _least_expansion,
        _monotone,
        _moment,
        _falls_with_q,
        _smallest_product,
        _crossing,
        _predicted,
        _covered,
        _chosen,
    ),
)
