"""Runs that outlive their process: answers in one SQLite file, and nothing evaluated twice."""

from szoht.store.recorded import Recorded as Recorded
from szoht.store.recorded import RunOver as RunOver
from szoht.store.recorded import recording as recording
from szoht.store.settings import Settings as Settings
from szoht.store.sitting import Fault as Fault
from szoht.store.sitting import Sitting as Sitting
from szoht.store.store import RunSummary as RunSummary
from szoht.store.store import Store as Store
from szoht.store.store import StoreLike as StoreLike
from szoht.store.store import opened as opened
