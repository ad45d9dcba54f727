"""Who evaluates: processes, threads, any `concurrent.futures.Executor`, Dask, Ray."""

from szoht.executors.base import Crew as Crew
from szoht.executors.base import Executor as Executor
from szoht.executors.base import Report as Report
from szoht.executors.dask import Dask as Dask
from szoht.executors.dispatch import Dispatcher as Dispatcher
from szoht.executors.futures import Futures as Futures
from szoht.executors.processes import Processes as Processes
from szoht.executors.ray import Ray as Ray
from szoht.executors.serial import Serial as Serial
from szoht.executors.threads import Threads as Threads
