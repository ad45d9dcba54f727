"""Tests of most seeds pass by their median, and by nothing less."""

import pytest

from outcomes import SEEDS, always, most_seeds


@pytest.mark.parametrize(
    ("passing", "passes", "tried"),
    [
        ({0, 1, 2, 3, 4}, True, [0, 1, 2]),
        ({2, 3, 4}, True, [0, 1, 2, 3, 4]),
        ({0, 2, 4}, True, [0, 1, 2, 3, 4]),
        ({1, 4}, False, [0, 1, 2, 3]),
        (set(), False, [0, 1, 2]),
    ],
    ids=str,
)
def test_most_seeds_decide(passing, passes, tried):
    seen = []

    @most_seeds
    def judged(seed):
        seen.append(seed)
        assert seed in passing

    if passes:
        judged()
    else:
        with pytest.raises(AssertionError) as caught:
            judged()
        assert str([seed for seed in tried if seed not in passing]) in caught.value.__notes__[0]
    assert seen == tried


def test_what_always_holds_holds_for_every_seed():
    @most_seeds
    def judged(seed):
        always(seed < 2)

    with pytest.raises(pytest.fail.Exception, match="every seed"):
        judged()


def test_an_error_is_no_outcome():
    @most_seeds
    def judged(seed):
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        judged()


def test_there_are_five():
    assert len(SEEDS) >= 5


@pytest.mark.parametrize("other", ["given"])
@most_seeds(seeds=range(5, 10))
def test_the_seed_is_no_fixture(other, tmp_path, seed):
    assert other == "given"
    assert seed in range(5, 10)
