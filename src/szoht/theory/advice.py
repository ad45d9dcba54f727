"""What would help where Theorem 1 covers no setting, in sentences."""

from szoht.theory.inputs import Regularity
from szoht.theory.necessity import largest_kappa, smallest_d
from szoht.theory.regularization import regularizing_weight, shift_bound

__all__ = ["advise_on_budget", "advise_on_conditions"]

_MARGIN = 0.999
"""At `largest_kappa` itself infinitely many directions are needed; so far below, finitely many."""

_WHOLE = 100.0  # per cent

_LOOSE = (
    "The bounds are loose, and the algorithm often converges where they do not: run the setting "
    'above, or method="auto", which needs none of these constants.'
)


def advise_on_conditions(*, d: int, k_star: int, regularity: Regularity) -> tuple[str, ...]:
    """Return what would make Theorem 1 apply where no ``k`` and ``q`` do, and what to do else."""
    kappa = regularity.kappa
    least = smallest_d(k_star=k_star, kappa=kappa)
    lines = [f"Theorem 1 covers kappa = {kappa:g} from d = {least:,.10g} on."]
    most = largest_kappa(d=d, k_star=k_star) if _has_room(d, k_star) else None
    if most is not None:
        lines += [f"At d = {d} it covers kappa < {most:.4g}.", _on_regularizing(regularity, most)]
    elif kappa > 1:
        least = smallest_d(k_star=k_star, kappa=1.0)
        lines.append(f"At d = {d} it covers no kappa: even kappa = 1 needs d >= {least:,.10g}.")
    fewer = _largest_k_star(d, kappa)
    if fewer >= 1:
        lines.append(f"At d = {d} and this kappa it covers k_star <= {fewer}.")
    return (*lines, _LOOSE)


def _on_regularizing(regularity: Regularity, most: float) -> str:
    """Say which quadratic term lowers kappa enough, and what it does to the minimizer."""
    weight = regularizing_weight(regularity, kappa=1 + _MARGIN * (most - 1))
    moved = 100 * shift_bound(regularity, weight=weight, norm=1.0)
    bias = f"by up to {moved:.2g} % of its norm" if moved < _WHOLE else "by more than its norm"
    return (
        f"Adding w/2 |x|^2 to f lowers kappa to (L + w) / (nu + w): w = {weight:.3g} is enough "
        f"for L = {regularity.smoothness:g}, but may move the sparse minimizer {bias}."
    )


def advise_on_budget(*, halving: float) -> tuple[str, ...]:
    """Return what would help where the budget does not halve the bound of Theorem 1."""
    enough = f"A budget of {halving:,.3g} queries or more would halve the bound of Theorem 1."
    return (enough, _LOOSE)


def _has_room(d: int, k_star: int) -> bool:
    return d >= 3 and 3 * k_star <= d  # noqa: PLR2004 - 2 k + k_star <= d for k = k_star


def _largest_k_star(d: int, kappa: float) -> int:
    """Return the largest sparsity whose `smallest_d` is at most ``d``, 0 if there is none."""
    low, high = 0, d
    while low < high:
        middle = (low + high + 1) // 2
        if smallest_d(k_star=middle, kappa=kappa) <= d:
            low = middle
        else:
            high = middle - 1
    return low
