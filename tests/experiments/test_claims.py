import numpy as np
import pytest

from experiments.fakes import make, run
from szoht.errors import ParameterError
from szoht.experiments import (
    Claim,
    Curve,
    Job,
    NotRunError,
    Results,
    Verdict,
    find,
    judge,
    names,
    read_claims,
)
from szoht.experiments.claims import Deviation

CASE = {"id": "a", "experiment": "fake", "statement": "s", "where": "w", "compute": "value"}


def results():
    return Results(
        [
            Curve(
                job=Job(experiment="fake", curve="low", settings={"offset": 0}, seed=seed),
                table=run({"offset": 0}, seed),
                seconds=0.0,
            )
            for seed in (2, 0, 1)
        ]
    )


def verdict(kind, target, *, quick=False, place=1.5, curve="low", **more):
    claim = Claim(
        **CASE, kind=kind, target=target, arguments={"curve": curve, "place": place}, **more
    )
    return judge(claim, make(), results(), quick=quick)


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        ("band", 4.05, "holds"),
        ("band", 4.11, "fails"),
        ("at most", 4.0, "holds"),
        ("at most", 3.9, "fails"),
        ("at least", 4.0, "holds"),
        ("at least", 4.1, "fails"),
        ("equal", 4.0, "holds"),
        ("equal", 5.0, "fails"),
        ("contains", 3.5, "holds"),
        ("contains", 5.5, "fails"),
        ("excludes", 5.5, "holds"),
        ("excludes", 3.5, "fails"),
    ],
)
def test_rules(kind, target, expected):
    """The value at 1.5 is 3, 4 and 5 over the seeds."""
    assert verdict(kind, target, tolerance=0.1).verdict == expected


def test_a_known_reason_explains_only_its_own_values():
    known = Deviation(reason="because", low=3.9, high=4.1)
    explained = verdict("band", 9.0, differs=known)
    assert (explained.verdict, explained.reason) == (Verdict.DIFFERS, "because")
    other = Deviation(reason="because", low=7.0, high=8.0)
    assert verdict("band", 9.0, differs=other).verdict is Verdict.FAILS
    assert verdict("equal", 9.0, differs=Deviation(reason="r", value=4.0)).verdict == "differs"
    assert verdict("band", 4.0, differs=known).verdict is Verdict.HOLDS


def test_a_claim_that_could_not_fail_is_refused():
    with pytest.raises(ParameterError, match="could not fail"):
        verdict("equal", 9.0, differs=Deviation(reason="r", value=False))


def test_a_note_is_given_with_a_failure_only():
    assert verdict("band", 9.0, note="think of this").reason == "think of this"
    assert verdict("band", 4.0, note="think of this").reason == ""


def test_quick_runs_say_so():
    assert verdict("band", 4.3, quick=True, quick_tolerance=0.5).verdict is Verdict.HOLDS
    assert verdict("band", 4.3, quick=False, quick_tolerance=0.5).verdict is Verdict.FAILS
    skipped = verdict("band", 4.0, quick=True, tolerance=1.0)
    assert skipped.quick
    unsuited = judge(
        Claim(**CASE, kind="band", target=4.0, quick=False), make(), results(), quick=True
    )
    assert (unsuited.verdict, unsuited.reason) == (Verdict.OPEN, "needs the full run")


def test_what_was_not_run_is_not_judged():
    missing = verdict("band", 4.0, curve="high")
    assert missing.verdict is Verdict.OPEN
    assert "high" in missing.reason
    beyond = verdict("band", 4.0, place=99.0)
    assert beyond.verdict is Verdict.OPEN
    assert "ends at 4" in beyond.reason


def test_results_are_in_order_of_seeds():
    np.testing.assert_array_equal(results().at("low", "y", 1.5), [3.0, 4.0, 5.0])
    assert "low" in results()
    assert "high" not in results()
    with pytest.raises(NotRunError):
        results().runs("high")


def test_every_claim_of_the_paper_can_be_computed():
    claims = read_claims()
    assert {claim.experiment for claim in claims} == set(names())
    for claim in claims:
        assert claim.compute in find(claim.experiment).measures, claim.id
        assert claim.statement
        assert claim.where


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "nearly"', "`kind` must be one of"),
        ('kind = "band"\nmeasured = 3.0', "unknown entries: \\['measured'\\]"),
    ],
)
def test_bad_claims_are_refused(text, message):
    entry = "\n".join(f'{name} = "{value}"' for name, value in CASE.items())
    with pytest.raises(ParameterError, match=message):
        read_claims(f"[[claim]]\n{entry}\ntarget = 1\n{text}\n")


def test_ids_are_unique():
    entry = "\n".join(f'{name} = "{value}"' for name, value in CASE.items())
    one = f'[[claim]]\n{entry}\ntarget = 1\nkind = "equal"\n'
    with pytest.raises(ParameterError, match="given twice"):
        read_claims(one + one)


def test_intervals_need_one():
    with pytest.raises(ParameterError, match="needs an interval"):
        judge(
            Claim(**CASE, kind="contains", target=1.0),
            make(
                measures={
                    "value": lambda results: find("rho-gamma").measures["lowest"](rho(), q=200)
                }
            ),
            results(),
            quick=False,
        )


def rho():
    experiment = find("rho-gamma")
    job = Job(
        experiment="rho-gamma",
        curve="corrected q=200",
        settings={"d": 100, "k_max": 40, "q": 200, "version": "corrected"},
        seed=0,
    )
    table = experiment.run(job.settings, 0)
    return Results([Curve(job=job, table=table, seconds=0.0)])
