"""Named algorithms: each a docstring with its update equation, and a composition of parts."""

from szoht.algorithms.auto import auto
from szoht.algorithms.hzo_ht import hzo_ht
from szoht.algorithms.iht import iht, stoiht
from szoht.algorithms.momentum_szoht import momentum_szoht
from szoht.algorithms.registry import METHODS, build
from szoht.algorithms.rspgf import rspgf, rspgf_setting
from szoht.algorithms.sketch_ht import sketch_ht
from szoht.algorithms.szoht import szoht
from szoht.algorithms.truncated_zsgd import truncated_zsgd
from szoht.algorithms.variance_reduced import saga_szht, sarah_szht, vr_szht
from szoht.algorithms.vertex.corner_search import corner_search
from szoht.algorithms.vertex.sparse_rs import sparse_rs
from szoht.algorithms.zo_adamm import zo_adamm
from szoht.algorithms.zo_projected_gradient import zo_projected_gradient
from szoht.algorithms.zoro import ada_zoro, zoro
from szoht.algorithms.zscg import zscg

__all__ = [
    "METHODS",
    "ada_zoro",
    "auto",
    "build",
    "corner_search",
    "hzo_ht",
    "iht",
    "momentum_szoht",
    "rspgf",
    "rspgf_setting",
    "saga_szht",
    "sarah_szht",
    "sketch_ht",
    "sparse_rs",
    "stoiht",
    "szoht",
    "truncated_zsgd",
    "vr_szht",
    "zo_adamm",
    "zo_projected_gradient",
    "zoro",
    "zscg",
]
