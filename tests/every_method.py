"""What a short run of each named method needs, besides k."""

import szoht

SMALL_STEPS = {"q": 3, "step_size": 0.01}


def method_settings(method, *, k, reach, gradient, component_gradient):
    """Return arguments of `minimize` for ``k`` changes, at most ``reach`` each in a search."""
    box = {"k": None, "constraint": szoht.SparseBox(k, low=-reach, high=reach)}
    sums = {"n_samples": 4, "options": SMALL_STEPS}
    more = {
        "iht": {"gradient": gradient},
        "stoiht": {"gradient": component_gradient, "n_samples": 4},
        "vr_szht": sums,
        "sarah_szht": sums,
        "saga_szht": sums,
        "zscg": {"k": None, "options": {"radius": 3.0, "smoothness": 2.0}},
        "zo_projected_gradient": {"k": None, "options": {"radius": 3.0}},
        "rspgf": {"k": None, "options": {"penalty": 0.1}},
        "zoro": {"k": None, "options": {"sparsity": 3}},
        "momentum_szoht": {"options": {"step_size": 0.01}},
        "zo_adamm": {"options": {"step_size": 0.01}},
        "corner_search": box,
        "sparse_rs": box,
    }
    return {"k": k, "method": method} | more.get(method, {})
