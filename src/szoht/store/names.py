"""The names under which a store holds the library's records: they outlive the modules' paths.

A file says "sparse", never "szoht.operators.sparse:Sparse", so that classes can move. When a class
moves or is renamed, its path in `PATHS` changes; when a field is renamed, `RENAMED_FIELDS` gets a
line. Names are never changed or given to another class. A class that is not listed here is neither
written to a file nor made from one.
"""

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any, get_origin

import numpy as np

from szoht.errors import EncodingError

__all__ = ["UnknownPartError", "belongs", "find_class", "name_of", "new_field"]


class UnknownPartError(EncodingError):
    """A record that another version of the library has written, and this one does not have."""


PATHS: Mapping[str, Mapping[str, str]] = {
    "Algorithm": {
        "auto": "szoht.algorithms.auto.solver:Auto",
        "auto_integer": "szoht.algorithms.auto.integers:AutoInteger",
        "auto_low_rank": "szoht.algorithms.auto.low_rank.solver:AutoLowRank",
        "auto_path": "szoht.algorithms.auto.path:AutoPath",
        "auto_transformed": "szoht.algorithms.auto.transformed:AutoTransformed",
        "calibration": "szoht.algorithms.calibration.solver:Calibration",
        "composite": "szoht.algorithms.composite:Composite",
        "corner_search": "szoht.algorithms.vertex.corner_search:CornerSearch",
        "handed_over": "szoht.algorithms.auto.handed_over:HandedOver",
        "sparse_rs": "szoht.algorithms.vertex.sparse_rs:SparseRS",
    },
    "Operator": {
        "box": "szoht.operators.box:Box",
        "graph_sparse": "szoht.operators.graph_sparse:GraphSparse",
        "group_sparse": "szoht.operators.group_sparse:GroupSparse",
        "identity": "szoht.operators.identity:Identity",
        "l1_ball": "szoht.operators.l1:L1Ball",
        "low_rank": "szoht.operators.low_rank:LowRank",
        "semicontinuous": "szoht.operators.semicontinuous:Semicontinuous",
        "soft_threshold": "szoht.operators.l1:SoftThreshold",
        "sparse": "szoht.operators.sparse:Sparse",
        "sparse_box": "szoht.operators.sparse_box:SparseBox",
        "sparse_in": "szoht.operators.sparse_in:SparseIn",
        "sparse_simplex": "szoht.operators.sparse_simplex:SparseSimplex",
        "sparse_sum": "szoht.operators.sparse_sum:SparseSum",
        "tree_sparse": "szoht.operators.tree_sparse:TreeSparse",
        "two_step": "szoht.operators.two_step:TwoStep",
    },
    "Estimator": {
        "adaptive_recovery": "szoht.estimators.adaptive_recovery:AdaptiveRecovery",
        "coordinate": "szoht.estimators.coordinate:Coordinate",
        "exact": "szoht.estimators.exact:Exact",
        "gaussian": "szoht.estimators.gaussian:Gaussian",
        "memory_table": "szoht.estimators.memory:MemoryTable",
        "sarah": "szoht.estimators.anchored:SARAH",
        "sketch": "szoht.estimators.sketch:Sketch",
        "sparse_recovery": "szoht.estimators.sparse_recovery:SparseRecovery",
        "sphere": "szoht.estimators.sphere:Sphere",
        "svrg": "szoht.estimators.anchored:SVRG",
    },
    "Update": {
        "accelerated": "szoht.updates.accelerated:AcceleratedConditionalGradient",
        "adaptive": "szoht.updates.adaptive:Adaptive",
        "forward_backward": "szoht.updates.forward_backward:ForwardBackward",
        "frank_wolfe": "szoht.updates.frank_wolfe:FrankWolfe",
        "line_search": "szoht.updates.line_search:LineSearch",
        "momentum": "szoht.updates.momentum:Momentum",
        "snapshot_search": "szoht.updates.snapshot_search:SnapshotSearch",
    },
    "Sampler": {
        "full": "szoht.samplers:Full",
        "minibatch": "szoht.samplers:Minibatch",
        "seeds": "szoht.samplers:Seeds",
        "snapshots": "szoht.samplers:Snapshots",
    },
    "Schedule": {
        "constant": "szoht.schedules:Constant",
        "geometric": "szoht.schedules:Geometric",
        "open_loop": "szoht.schedules:OpenLoop",
        "polynomial": "szoht.schedules:Polynomial",
    },
    "Rule": {
        "any_of": "szoht.stopping:AnyOf",
        "iterations": "szoht.stopping:Iterations",
        "queries": "szoht.stopping:Queries",
        "seconds": "szoht.stopping:Seconds",
        "stalled": "szoht.stopping:Stalled",
        "target": "szoht.stopping:Target",
    },
    "": {
        "auto_noise_policy": "szoht.algorithms.auto.policy:NoisePolicy",
        "auto_policy": "szoht.algorithms.auto.policy:Policy",
        "known_evaluations": "szoht.core.known:KnownEvaluations",
        "measured": "szoht.core.algorithm:Measured",
        "program": "szoht.evaluation.programs:Program",
        "request": "szoht.store.spec:Request",
        "sparse_vector": "szoht.core.sparse_vector:SparseVector",
        "variables": "szoht.core.variables:Variables",
    },
}
"""Where each class is now, by the protocol that it fulfils."""

PROTOCOL_ALIASES: Mapping[str, str] = {"SearchUpdate": "Update"}
"""Protocols whose classes are listed under another one."""

RENAMED_FIELDS: dict[str, dict[str, str]] = {}
"""For each registered name, its renamed fields: old name -> new name."""

_PATH_OF = {name: path for group in PATHS.values() for name, path in group.items()}
_NAME_OF = {path: name for name, path in _PATH_OF.items()}


def name_of(kind: type) -> str:
    """Return the registered name of a class, or raise `EncodingError`.

    >>> from szoht import Sparse
    >>> name_of(Sparse)
    'sparse'
    """
    name = _NAME_OF.get(f"{kind.__module__}:{kind.__qualname__}")
    if name is None:
        raise EncodingError(f"{kind.__qualname__} is not a class that a store can hold")
    return name


@cache
def find_class(stored: str) -> tuple[str, Any]:
    """Return the registered name and the class that a file means.

    >>> find_class("sparse")[1].__name__
    'Sparse'
    """
    if stored not in _PATH_OF:
        raise UnknownPartError(f"{stored!r} is not the name of a class that a store can hold")
    module, _, attribute = _PATH_OF[stored].partition(":")
    return stored, getattr(importlib.import_module(module), attribute)


def belongs(name: str, annotation: Any) -> bool:
    """Tell whether a record may stand where a field is annotated with the class ``annotation``.

    Protocols are fulfilled by the classes listed under them, not by whatever has their methods: a
    `Program` can be called like a schedule, and must never be called as one. Where an array
    belongs, a sparse vector may stand in for it.
    """
    if get_origin(annotation) is np.ndarray:
        return name == "sparse_vector"
    if getattr(annotation, "_is_protocol", False):
        return name in PATHS.get(PROTOCOL_ALIASES.get(annotation.__name__, annotation.__name__), {})
    return isinstance(annotation, type) and issubclass(find_class(name)[1], annotation)


def new_field(name: str, field: str) -> str:
    """Return what a field of a class is called today."""
    return RENAMED_FIELDS.get(name, {}).get(field, field)
