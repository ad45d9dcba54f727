"""Runs that outlive their process: answers in one SQLite file, and nothing evaluated twice."""

from szoht.store.replay import PlanChanged, ReplayOracle, StoredEnding
from szoht.store.spec import Request, RunSpec
from szoht.store.store import RunSummary, Store, StoreLike, open_store
from szoht.store.stored_run import Fault, StoredRun

__all__ = [
    "Fault",
    "PlanChanged",
    "ReplayOracle",
    "Request",
    "RunSpec",
    "RunSummary",
    "Store",
    "StoreLike",
    "StoredEnding",
    "StoredRun",
    "open_store",
]
