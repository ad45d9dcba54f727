"""After the smooth search: longer looks, derivative-free solves, several minima, and patience.

Slopes over short lengths say nothing about steps, plateaus, products at zero, even functions or
other minima. So before a run ends, f is compared over long distances as well: group screening,
0/1 probes, axis scans; then moves take turns until patience is used up.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration, Landscape
from szoht.algorithms.auto.moves.axis_scan import scan_axes
from szoht.algorithms.auto.moves.binary_probes import try_binary_probes
from szoht.algorithms.auto.moves.over_supports import LongSlopes, SparseRandomSearch
from szoht.algorithms.auto.moves.screening import screen_again, screen_variables
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.face import Face
from szoht.algorithms.auto.restricted.pattern_search import pattern_search
from szoht.algorithms.auto.schedule import MoveSchedule
from szoht.algorithms.auto.state import SearchState
from szoht.core.algorithm import Ending, Evidence

__all__ = ["search_globally", "spend_rest"]

NOTHING_TRIED: Mapping[str, int] = MappingProxyType({})


def search_globally(context: SearchContext, state: SearchState) -> Steps[None]:
    """Compare f over long distances, then take turns with all moves until patience is used up."""
    search = Exploration(context=context, state=state)
    if search.is_far:
        _end(search, Ending.UNBOUNDED)
        return
    yield from screen_variables(search)
    if not search.few and search.pool.size > 4 * search.look:
        yield from try_binary_probes(search, 1.0)
    if search.gained:
        yield from context.check_repeatable(search.incumbent)
        yield from search.polish()
        yield from search.classify()  # tells how much patience is due
    if not search.few:
        yield from _look_along_axes(search)
    if search.landscape is Landscape.UNKNOWN:
        yield from search.polish()
        if search.gained:
            yield from search.classify()
    proven = search.certified and search.landscape is Landscape.SMOOTH
    if proven and not math.isinf(context.effort):
        _end(search, Ending.CONVERGED)
    else:
        yield from _take_turns(search)


def _look_along_axes(search: Exploration) -> Steps[None]:
    """Scan all axes by long steps where that is affordable; slopes over long ones at steps."""
    context, d = search.context, search.context.structure.free.size
    if search.state.noise.stepwise:
        yield from LongSlopes().run(search)
    budget = math.inf if context.budget is None else context.budget
    affordable = 2 * d <= max(12 * search.look, search.patience / 3 if search.gained else 0)
    if not search.certified and (affordable or (not search.gained and 2 * d <= 0.1 * budget)):
        yield from scan_axes(search)


def _take_turns(search: Exploration) -> Steps[None]:
    """Let the moves take turns until all due ones had one and patience is used up."""
    context, screened, schedule = search.context, search.context.spent, MoveSchedule(search)
    while not (schedule.all_due_tried and search.impatient):
        if search.is_far:
            _end(search, Ending.UNBOUNDED)
            return
        if search.found is not None and (context.last_gain > screened or schedule.screening_due):
            screened = context.spent
            yield from screen_again(search)
        move = schedule.next()
        spent, gains = context.spent, context.gains
        yield from move.run(search)
        gained = context.gains > gains
        schedule.record(move, cost=context.spent - spent, gained=gained)
        if gained:
            context.explain(f"{move.name}: f fell to {search.incumbent.value:.6g}.")
            if move.keeps_support and search.landscape is Landscape.SMOOTH:
                search.landscape = Landscape.SEVERAL
            context.accept(search.incumbent)
            yield from context.check_repeatable(search.incumbent)
        if schedule.nothing_asked:
            break
    _end(search, None, schedule.tried)


def _end(
    search: Exploration, ending: Ending | None, tried: Mapping[str, int] = NOTHING_TRIED
) -> None:
    """Say how the run ended and on what evidence."""
    context = search.context
    if ending is None:
        ending = Ending.CONVERGED if search.landscape is Landscape.SMOOTH else Ending.EXHAUSTED
    if not search.gained:
        ending = Ending.NO_PROGRESS
    if 2 * context.failures > context.spent:
        ending = Ending.MOSTLY_FAILED
    state = search.state
    context.outer.ending = ending
    context.outer.evidence = Evidence(
        noise=state.noise.kind.value,
        noise_level=state.noise.sigma,
        slopes="" if state.slopes is None else state.slopes.confidence.value,
        lengths=(state.noise.row_step, state.noise.axis_step, 0.01, 0.1, 1.0),
        tried=tuple(sorted(tried.items())),
        restarts=search.restarts,
        restarts_agreeing=search.agreeing,
    )
    context.explain(f"{search.landscape.value}; {ending.value}: done.")


def spend_rest(context: SearchContext, noise: NoiseModel) -> Steps[None]:
    """Use what is left of a budget that is too small for the next plan: single points.

    Under fresh noise the answer is asked, for a single value that is lower than the estimate is no
    better answer; this returns if the budget was raised.
    """
    context.explain(f"{context.left:.0f} queries are left: they go to single points.")
    assert context.best is not None, "the start was measured"  # noqa: S101
    raised = False
    while noise.fresh and not raised:
        raised = math.isinf(context.left)
        yield from context.value(context.best.z)
    if noise.fresh:
        return
    search = Exploration(context=context, state=SearchState(point=context.best, noise=noise))
    while True:  # the budget ends it
        support = search.support
        face = Face(context, support)
        start = face.local(context.best)
        if not context.best.z.any():
            yield from SparseRandomSearch().run(search)
            continue
        steps = 0.1 * 10 ** context.generator().uniform(-1, 0) * search.unit[support]
        yield from pattern_search(face, start, steps, context.generator(), smallest=0.1)
