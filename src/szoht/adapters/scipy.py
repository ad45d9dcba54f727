"""`scipy.optimize.minimize(fun, x0, method=szoht.scipy_method(k=10))`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.algorithm import Algorithm
from szoht.errors import ParameterError
from szoht.operators import Operator, SparseBox
from szoht.result import Progress
from szoht.run.minimize import minimize
from szoht.types import Vector

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

__all__ = ["ScipyMethod", "scipy_method"]

UNUSED = ("hess", "hessp")
RENAMED = {"maxiter": "max_iterations", "maxfev": "max_queries"}
PASSED = ("fun", "x0", "args", "bounds", "k", "constraint", "method", "gradient", "callback")
"""Arguments of `minimize` that SciPy, or `scipy_method`, has under a name of its own."""
ACCEPTED = tuple(
    name for name in inspect.signature(minimize).parameters if name not in (*PASSED, "maximize")
)
STATES_VARIABLES = ("reference", "unit", "integer", "names", "x_as")


@dataclass(frozen=True, kw_only=True)
class ScipyMethod:
    """A solver in the form that `scipy.optimize.minimize` accepts as ``method``."""

    k: int | None
    constraint: Operator | None
    method: str | Algorithm

    def __call__(
        self,
        fun: Callable[..., Any],
        x0: ArrayLike,
        args: tuple[Any, ...] = (),
        *,
        jac: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        callback: Any = None,
        **options: Any,
    ) -> "OptimizeResult":
        """Run `szoht.minimize`; ``options`` are its keyword arguments."""
        if constraints:
            raise ParameterError(
                "`constraints` are not supported; pass `constraint=` to scipy_method instead. "
                f"Got constraints={constraints!r}."
            )
        settings = {
            RENAMED.get(name, name): value for name, value in options.items() if name not in UNUSED
        }
        unknown = [name for name in settings if name not in (*ACCEPTED, "tol")]
        if unknown:
            raise ParameterError(
                f"`options` may hold {', '.join((*RENAMED, *ACCEPTED))}; got {unknown[0]!r}."
            )
        tol = settings.pop("tol", None)
        if tol is not None:
            raise ParameterError(
                f"`tol` is not supported; pass `target` or `stop` in `options`. Got tol={tol!r}."
            )
        result = minimize(
            lambda x: fun(x, *args),
            x0,
            gradient=(lambda x: jac(x, *args)) if callable(jac) else None,
            callback=None if callback is None else _Callback(callback),
            method=self.method,
            **self._constraint(bounds, np.size(x0), settings),
            **settings,
        )
        names = ("fun", "nfev", "njev", "nit", "success", "message", "support", "history")
        fields = {name: getattr(result, name) for name in names}
        return _as_scipy(x=np.array(result.x), status=result.status.code, **fields)

    def _constraint(self, bounds: Any, d: int, settings: dict[str, Any]) -> dict[str, Any]:
        if any(name in settings for name in STATES_VARIABLES):
            return {"k": self.k, "constraint": self.constraint, "bounds": bounds}
        if bounds is None:
            return {"k": self.k, "constraint": self.constraint}
        if self.k is None:
            raise ParameterError("`bounds` need `k`; a `constraint` object holds its own bounds.")
        low, high = _as_low_and_high(bounds, d)
        return {"constraint": SparseBox(self.k, low=low, high=high)}


def scipy_method(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    method: str | Algorithm = "auto",
) -> ScipyMethod:
    """Return a ``method`` for `scipy.optimize.minimize` that keeps at most k non-zeros.

    Parameters
    ----------
    k, constraint, method
        As in `szoht.minimize`. With ``bounds``, the constraint is ``SparseBox(k, low, high)``; with
        ``reference``, ``unit``, ``integer`` or ``names`` among the options of SciPy's `minimize`,
        they are those of `szoht.Variables`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> target = np.zeros(100)
    >>> target[[3, 50]] = [1.0, -2.0]
    >>> result = minimize(
    ...     lambda x, y: float(((x - y) ** 2).sum()),
    ...     np.zeros(100),
    ...     args=(target,),
    ...     method=scipy_method(k=2),
    ...     options={"max_queries": 2_000, "rng": 0},
    ... )
    >>> np.flatnonzero(result.x)
    array([ 3, 50])
    """
    return ScipyMethod(k=k, constraint=constraint, method=method)


@dataclass(frozen=True)
class _Callback:
    """SciPy's two callback forms: ``callback(intermediate_result=...)`` and ``callback(xk)``."""

    callback: Callable[..., Any]

    def __call__(self, progress: Progress) -> object:
        if set(inspect.signature(self.callback).parameters) == {"intermediate_result"}:
            now = _as_scipy(x=np.array(progress.best_x), fun=progress.best_value)
            return self.callback(intermediate_result=now)
        return self.callback(np.array(progress.best_x))


def _as_low_and_high(bounds: Any, d: int) -> tuple[Vector, Vector]:
    """Read SciPy's two forms: a `Bounds` object, or pairs in which None means no bound."""
    if hasattr(bounds, "lb"):
        return np.broadcast_to(bounds.lb, d), np.broadcast_to(bounds.ub, d)
    pairs = list(bounds)
    low = np.array([-np.inf if pair[0] is None else pair[0] for pair in pairs], dtype=np.float64)
    high = np.array([np.inf if pair[1] is None else pair[1] for pair in pairs], dtype=np.float64)
    return low, high


def _as_scipy(**fields: Any) -> "OptimizeResult":
    from scipy.optimize import OptimizeResult  # noqa: PLC0415  (slow to import)

    result = OptimizeResult()
    result.update(fields)
    return result
