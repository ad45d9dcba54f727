"""Where evaluations run, behind one contract: submit a task, get a future."""

from szoht.evaluation.executors.base import Executor as Executor
from szoht.evaluation.executors.base import WorkerPool as WorkerPool
from szoht.evaluation.executors.dask import Dask as Dask
from szoht.evaluation.executors.futures import Futures as Futures
from szoht.evaluation.executors.local import Serial as Serial
from szoht.evaluation.executors.local import Threads as Threads
from szoht.evaluation.executors.processes import Processes as Processes
from szoht.evaluation.executors.ray import Ray as Ray
from szoht.evaluation.executors.wire import Task as Task
