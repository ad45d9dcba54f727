"""What travels: base points once per iteration and worker, addresses and scalars, and no more."""

import pickle
from contextlib import closing

import numpy as np
import pytest

import workloads
from szoht import AskTell, algorithms
from szoht.core.objective import as_objective
from szoht.evaluation.chunks import Chunk
from szoht.evaluation.executors.scheduler import Scheduler
from szoht.evaluation.executors.wire import pack, unpack
from szoht.evaluation.oracle import Oracle
from szoht.executors import Processes

BASE_BYTES = 8 * 268_203


def big_run(x0, **options):
    method = algorithms.szoht(k=100, q=100, mu=1e-3, step_size=0.1, support_size=1000, **options)
    return AskTell(x0, method=method, max_iterations=3, rng=0)


def test_the_wire_volume_of_an_iteration():
    """d = 268,203, q = 100, s2 = 1000 and 4 workers: at most 1.2 x 4 base points."""
    x0 = np.random.default_rng(0).standard_normal(268_203)
    method = algorithms.szoht(
        constraint=workloads.WHOLE_SPACE, q=100, mu=1e-3, step_size=0.1, support_size=1000
    )
    run = AskTell(x0, method=method, max_iterations=3, rng=0)
    objective = as_objective(workloads.first_entries)
    with closing(Processes(4).open(objective)) as pool:
        oracle = Oracle(objective=objective, scheduler=Scheduler(pool, objective))
        for _ in range(3):
            before = pool.n_bytes
            plan = run.ask()
            assert np.count_nonzero(plan.queries[0].base) > 268_000  # a dense one, the worst case
            run.receive(oracle(plan))
            volume = pool.n_bytes - before
            assert volume <= 1.2 * 4 * BASE_BYTES
            assert volume >= BASE_BYTES  # it was measured where the bytes pass


def test_sparse_base_points_travel_as_what_they_are():
    x0 = np.zeros(268_203)
    x0[::30_000] = 1.0
    plan = big_run(x0).ask()
    assert len(pack(plan)) < 2_000
    assert len(pickle.dumps(Chunk(0, 17, 18))) < 200


@pytest.mark.parametrize("x0", [np.zeros(50), np.ones(50), np.full(50, -0.0)], ids=str)
def test_a_plan_comes_out_as_it_went_in(x0):
    x0[3] = -0.0
    x0[7] = 0.5
    for method in (
        algorithms.szoht(k=50, q=4, support_size=5, central=True),
        algorithms.vr_szht(k=50, q=4, step_size=0.1),
    ):
        run = AskTell(x0, method=method, max_queries=10_000, rng=0, n_samples=6)
        for _ in range(3):
            plan = run.ask()
            again = unpack(pack(plan))
            assert plan.points().tobytes() == again.points().tobytes()
            assert plan.stage is again.stage
            assert not again.queries[0].base.flags.writeable
            for one, other in zip(plan.queries, again.queries, strict=True):
                assert np.array_equal(one.sample, other.sample)
                assert one.gradient == other.gradient
            run.tell(np.square(plan.points() - 1).sum(axis=1))
