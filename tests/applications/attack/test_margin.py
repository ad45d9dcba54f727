"""The margin against a transcription, on all scales."""

import numpy as np
import pytest

from szoht.applications.attack import Margin
from szoht.errors import ParameterError, ParameterTypeError

SCORES = np.random.default_rng(0).standard_normal((40, 5)) * 3


def naive(scores, label, target, confidence):
    """One row at a time, as it is written on paper."""
    rows = []
    for row in scores:
        if target is None:
            best = max(row[j] for j in range(len(row)) if j != label)
            rows.append(max(row[label] - best, -confidence))
        else:
            best = max(row[j] for j in range(len(row)) if j != target)
            rows.append(max(best - row[target], -confidence))
    return np.array(rows)


def softmax(scores):
    return np.array([np.exp(row) / np.exp(row).sum() for row in scores])


@pytest.mark.parametrize("target", [None, 3])
@pytest.mark.parametrize("confidence", [0.0, 0.7])
def test_margin_equals_its_definition(target, confidence):
    margin = Margin(label=1, target=target, confidence=confidence)
    assert np.allclose(margin.of(SCORES), naive(SCORES, 1, target, confidence), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "on", "given", "seen"),
    [
        ("logits", "log_probs", SCORES, np.log(softmax(SCORES))),
        ("logits", "probs", SCORES, softmax(SCORES)),
        ("log_probs", "probs", np.log(softmax(SCORES)), softmax(SCORES)),
        ("probs", None, softmax(SCORES), softmax(SCORES)),
        ("probs", "log_probs", softmax(SCORES), np.log(softmax(SCORES))),
        ("probs", "logits", softmax(SCORES), SCORES),
    ],
)
def test_scales(scores, on, given, seen):
    margin = Margin(label=2, confidence=9.0, scores=scores, on=on)
    assert np.allclose(margin.of(given), naive(seen, 2, None, 9.0), rtol=0, atol=1e-10)


def test_a_probability_of_zero_has_a_finite_margin():
    margin = Margin(label=0, scores="probs", on="log_probs")
    assert np.isfinite(margin.of(np.array([[1.0, 0.0]]))).all()


def test_large_logits_have_probabilities():
    margin = Margin(label=0, confidence=1.0, on="probs")
    assert margin.of(np.array([[2000.0, 0.0], [0.0, 2000.0]])).tolist() == [1.0, -1.0]


def test_success_needs_the_confidence_and_a_wrong_answer():
    scores = np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 2.5]])
    assert Margin(label=0).is_misclassified(scores).tolist() == [
        True,
        False,
        True,
    ]  # a tie goes to class 0
    assert Margin(label=1).is_misclassified(scores).tolist() == [False, True, False]
    assert Margin(label=0, confidence=1.0).is_misclassified(scores).tolist() == [True, False, False]
    assert Margin(label=0, target=1).is_misclassified(scores).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"label": -1}, "`label` must be an integer"),
        ({"label": 1.5}, "`label` must be an integer"),
        ({"label": 1, "target": 1}, "another class"),
        ({"label": 1, "confidence": -1.0}, "`confidence`"),
        ({"label": 1, "scores": "percent"}, "`scores` must be one of"),
        ({"label": 1, "on": "percent"}, "`on` must be one of"),
    ],
)
def test_margins_that_make_no_sense(settings, expected):
    with pytest.raises((ParameterError, ParameterTypeError), match=expected):
        Margin(**settings)


@pytest.mark.parametrize("scale", ["logits", "log_probs", "probs"])
def test_cross_entropy_is_the_logarithm_of_a_probability(scale):
    scores = np.array([[1.0, 3.0, 2.0], [500.0, 0.0, -500.0]])
    probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    given = {"logits": scores, "probs": probabilities}
    given["log_probs"] = np.log(np.maximum(probabilities, 1e-300))
    targeted = Margin(label=0, target=1, scores=scale).cross_entropy(given[scale])
    assert targeted[0] == pytest.approx(-np.log(probabilities[0, 1]))
    assert np.isfinite(targeted).all()
    untargeted = Margin(label=0, scores=scale).cross_entropy(given[scale])
    assert untargeted == pytest.approx(np.log(probabilities[:, 0]))
