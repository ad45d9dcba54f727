"""Several attacks that share the calls of one classifier."""

import numpy as np
import pytest

import szoht
from applications.attack import classifiers
from interrupts import carried
from szoht import algorithms
from szoht.applications.attack import AttackStatus
from szoht.errors import ParameterError

IMAGES, LABELS = classifiers.right(6)

METHODS = {
    "corner_search": {"method": "corner_search"},
    "sparse_rs": {"method": "sparse_rs"},
    "szoht": {"method": algorithms.szoht(k=6, q=9, support_size=20, mu=0.1, step_size=0.1)},
    "zscg": {"method": algorithms.zscg(radius=5.0, q=9, mu=0.1)},
}


def logits(images):
    """Return scores that do not depend on the batch, not even in the last bit."""
    return np.concatenate([classifiers.logits(image[np.newaxis]) for image in images])


def attacked(model=logits, images=IMAGES, labels=LABELS, **settings):
    given = {"k": 6, "rng": 3, "batch_size": 8, "max_queries": 120} | settings
    return szoht.attack_many(model, images, labels, **given)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at_once", [2, 6, 100])
def test_an_attack_asks_what_it_asks_alone(method, at_once):
    alone, together = (attacked(at_once=n, **METHODS[method]) for n in (1, at_once))
    assert len(together) == 6
    for one, other in zip(alone, together, strict=True):
        assert (one.status, one.queries, one.nfev, one.nit) == (
            other.status,
            other.queries,
            other.nfev,
            other.nit,
        )
        assert np.allclose(one.adversarial, other.adversarial)
        assert np.allclose(one.history["value"], other.history["value"])


def test_a_call_is_as_large_as_fits():
    sizes = []

    def model(images):
        sizes.append(len(images))
        return logits(images)

    attacked(model, at_once=6, max_queries=12, k=1, method="sparse_rs")
    assert max(sizes) == 6  # one query of each: fewer than the eight that would fit
    sizes.clear()
    method = algorithms.szoht(k=6, q=3, support_size=20, mu=0.1, step_size=1e-6)
    attacked(model, at_once=6, method=method, max_queries=12)
    assert max(sizes) == 8  # four of each of two
    assert attacked(model, at_once=6, method=method, max_queries=12, batch_size=3)[0].nfev == 12


def test_an_image_that_is_misclassified_before_is_left_alone():
    labels = LABELS.copy()
    labels[1] = (labels[1] + 1) % 10
    results = attacked(labels=labels, at_once=6)
    assert results[1].status is AttackStatus.MISCLASSIFIED
    assert results[1].nfev == 0
    assert results[0].nfev > 0


def test_a_classifier_that_breaks_on_one_image_fails_that_attack_only():
    bright = IMAGES[2].sum()

    def model(images):
        scores = logits(images)
        changed = np.abs(images - IMAGES[2]).sum(axis=(1, 2))
        scores[(changed > 0) & (changed < 8) & (images.sum(axis=(1, 2)) != bright)] = np.nan
        return scores

    results = attacked(model, at_once=6)
    assert results[2].status is AttackStatus.FAILED
    assert [r.status for r in results if r is not results[2]].count(AttackStatus.FAILED) == 0


def test_ctrl_c_keeps_all_that_were_under_way():
    calls = []

    def model(images):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return logits(images)

    results = carried(attacked, model, at_once=4, k=1)
    assert len(results) == 4
    assert results.not_tried == 2
    ended = [AttackStatus.SUCCESS, AttackStatus.INTERRUPTED]
    assert all(result.status is ended[result.interrupted] for result in results)
    assert any(result.interrupted for result in results)
    assert all(result.nfev > 0 for result in results)


def test_at_once_is_a_count():
    with pytest.raises(ParameterError, match="`at_once` must be"):
        attacked(at_once=0)
