"""Named algorithms: each a docstring with its update equation, and a composition of parts."""

from szoht.algorithms.automatic import auto as auto
from szoht.algorithms.corner_search import corner_search as corner_search
from szoht.algorithms.hzo_ht import hzo_ht as hzo_ht
from szoht.algorithms.iht import iht as iht
from szoht.algorithms.iht import stoiht as stoiht
from szoht.algorithms.momentum_szoht import momentum_szoht as momentum_szoht
from szoht.algorithms.registry import METHODS as METHODS
from szoht.algorithms.registry import build as build
from szoht.algorithms.rspgf import rspgf as rspgf
from szoht.algorithms.rspgf import rspgf_setting as rspgf_setting
from szoht.algorithms.sketch_ht import sketch_ht as sketch_ht
from szoht.algorithms.sparse_rs import sparse_rs as sparse_rs
from szoht.algorithms.szoht import szoht as szoht
from szoht.algorithms.truncated_zsgd import truncated_zsgd as truncated_zsgd
from szoht.algorithms.variance_reduced import saga_szht as saga_szht
from szoht.algorithms.variance_reduced import sarah_szht as sarah_szht
from szoht.algorithms.variance_reduced import vr_szht as vr_szht
from szoht.algorithms.zo_adamm import zo_adamm as zo_adamm
from szoht.algorithms.zo_projected_gradient import zo_projected_gradient as zo_projected_gradient
from szoht.algorithms.zoro import ada_zoro as ada_zoro
from szoht.algorithms.zoro import zoro as zoro
from szoht.algorithms.zscg import zscg as zscg
