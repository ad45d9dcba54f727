"""Compare `auto` with what a user could pick instead.

Run with ``make bench-peers``, or a part of it: ``python benchmarks/peers/run.py --quick``. Finished
runs are kept in ``runs.csv`` of the output folder and not repeated; ``--again auto`` repeats those
of one solver. Competitors that are not installed are named and left out. ``--smoke`` runs every
solver on one problem and `auto` on one of each kind, with few queries, and fails if one raises.
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

from child import Job, run  # noqa: E402  (after the number of threads is set)
from problems import BUDGET, NAMES, Unavailable, make  # noqa: E402
from report import report  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: E402
from rich.progress import TimeElapsedColumn as Elapsed  # noqa: E402
from solvers import OURS, SOLVERS, missing  # noqa: E402
from store import Store  # noqa: E402

QUICK_PROBLEMS = ("quad-d50", "quad-d1000", "axes-c10", "regression-ar", "attack-k5", "port1-k5")
QUICK_SOLVERS = ("auto", "szoht", "scipy-lbfgsb", "cma-sep")
SMOKE_BUDGET = 100
PROCESSES = 2


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark of auto against its peers.")
    parser.add_argument("--quick", action="store_true", help="few problems and solvers, one seed")
    parser.add_argument("--smoke", action="store_true", help="only see that everything runs")
    parser.add_argument("--problems", nargs="+", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--solvers", nargs="+", help=f"of {', '.join(SOLVERS)}")
    parser.add_argument("--seeds", type=int, help="seeds 0, 1, ...; 3 by default")
    parser.add_argument("--out", type=Path, default=Path("out/peers"))
    parser.add_argument("--budget", type=int, help="at most so many queries per run")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds per run")
    parser.add_argument("--processes", type=int, default=PROCESSES, choices=(1, 2))
    parser.add_argument("--again", nargs="+", default=[], help="forget the runs of these solvers")
    given = parser.parse_args()
    if given.smoke:
        os.environ["PEERS_SMOKE"] = "1"  # for the processes that run the jobs
    few = given.quick or given.smoke
    given.problems = given.problems or (QUICK_PROBLEMS if few else NAMES)
    given.solvers = given.solvers or (QUICK_SOLVERS if given.quick else tuple(SOLVERS))
    given.seeds = given.seeds or (1 if few else 3)
    given.budget = given.budget or (SMOKE_BUDGET if given.smoke else None)
    for kind, known in (("problems", NAMES), ("solvers", SOLVERS)):
        for name in getattr(given, kind):
            if name not in known:
                parser.error(f"{name!r} is not among the {kind}: {', '.join(known)}")
    return given


def available(problems: list[str]) -> list[str]:
    """Return the problems that can be built, and say which cannot."""
    kept = []
    for name in problems:
        try:
            make(name)
        except Unavailable as why:
            print(f"skipped {name}: {why}")
        else:
            kept.append(name)
    return kept


def installed(solvers: list[str]) -> list[str]:
    """Return the solvers whose packages are there, and say which are not."""
    lacking = {name: missing(name) for name in solvers}
    for name, package in lacking.items():
        if package is not None:
            print(f"{name}: {package} is not installed")
    return [name for name in solvers if lacking[name] is None]


def jobs(given: argparse.Namespace, store: Store) -> list[Job]:
    """List what is not done yet with these limits."""
    done = store.done()
    problems = available(list(given.problems))
    budgets = {name: min(given.budget or BUDGET, make(name).budget) for name in problems}
    wanted = [
        Job(problem, solver, seed, budgets[problem], given.seconds)
        for solver in installed(list(given.solvers))
        for seed in range(given.seeds)
        for problem in problems
        if make(problem).d <= SOLVERS[solver].largest
        and (not given.smoke or solver == OURS or problem == problems[0])
    ]
    return [job for job in wanted if job not in done]


def execute(job: Job, tuned: str) -> tuple[Job, dict[str, Any] | str]:
    """Run a job in a fresh process; the answer is a dictionary, or how the process ended."""
    context = multiprocessing.get_context("forkserver")
    preload = ["scipy.optimize", "szoht.problems", "rich.progress"]  # most of a start
    context.set_forkserver_preload(preload)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(job, there, tuned))
    process.start()
    there.close()
    try:
        answer: dict[str, Any] | str = here.recv()
    except EOFError:
        process.join()
        answer = f"exit code {process.exitcode}"
    process.join()
    return job, answer


def executed(todo: list[Job], processes: int, tuned: str) -> Iterator[tuple[Job, Any]]:
    """Run all jobs, a few at a time, and give the answers as they come."""
    with ThreadPoolExecutor(processes) as pool:
        waiting: set[Future[tuple[Job, dict[str, Any] | str]]] = set()
        for job in todo:
            waiting.add(pool.submit(execute, job, tuned))
            if len(waiting) > processes:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        for future in waiting:
            yield future.result()


def main() -> None:
    given = options()
    store = Store(given.out)
    if given.again:
        store.forget(given.again)
    todo = jobs(given, store)
    bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed())
    with bar:
        task = bar.add_task("runs", total=len(todo))
        for job, answer in executed(todo, given.processes, str(given.out / "tuned")):
            if isinstance(answer, str):
                store.crashed(job, answer)
            else:
                store.append(answer)
            bar.update(task, advance=1, description=f"{job.solver} {job.problem}")
    shown = [
        o for o in store.outcomes() if o.problem in given.problems and o.solver in given.solvers
    ]
    print(report(shown, given.out))
    failed = [row for row in store.rows() if row["ended"] in ("error", "crash")]
    if given.smoke and failed:
        sys.exit("\n".join(f"{row['solver']} on {row['problem']}: {row['note']}" for row in failed))


if __name__ == "__main__":
    main()
