"""The objective: three kinds of classifier, three ways to ask, one answer."""

import copy

import numpy as np
import pytest
import torch

from applications.attack import classifiers
from szoht.applications.attack import AttackObjective, Batches, Margin, as_network
from szoht.errors import AnswerShapeError, ParameterTypeError

(IMAGE,), (LABEL,) = classifiers.right(1)


def objective(model, image=IMAGE, **settings):
    return AttackObjective(
        network=as_network(model, image.shape, np.dtype(np.float64)),
        image=image.ravel(),
        margin=Margin(label=int(LABEL)),
        low=0.0,
        high=1.0,
        **{"batches": Batches(3)} | settings,
    )


def naive(x):
    """The paper's loss, written out."""
    image = np.clip(IMAGE.ravel() + x, 0.0, 1.0)
    scores = classifiers.logits(image[np.newaxis])[0]
    return max(scores[LABEL] - np.delete(scores, LABEL).max(), 0.0)


MODELS = {
    "function": (lambda: classifiers.logits, 1e-12),
    "module": (classifiers.module, 1e-4),
    "session": (classifiers.session, 1e-4),
    "one at a time": (lambda: classifiers.session(batch=1), 1e-4),
}


@pytest.mark.parametrize("kind", MODELS)
def test_all_ways_to_ask_agree_with_the_definition(kind):
    make, tolerance = MODELS[kind]
    f = objective(make())
    rng = np.random.default_rng(1)
    x = rng.standard_normal(64) * 0.3
    points = x + rng.standard_normal((7, 64)) * 0.5
    expected = np.array([naive(point) for point in points])
    assert np.allclose(f.values(points), expected, rtol=0, atol=tolerance)
    assert f.value(points[2]) == pytest.approx(expected[2], abs=tolerance)
    everywhere = np.broadcast_to(np.arange(64), points.shape)
    assert np.allclose(f.along(x, everywhere, points - x), expected, rtol=0, atol=tolerance)
    indices = np.array([rng.permutation(64)[:5] for _ in range(7)])
    offsets = rng.standard_normal((7, 5))
    moved = np.tile(x, (7, 1))
    np.put_along_axis(moved, indices, x[indices] + offsets, axis=1)
    expected = [naive(point) for point in moved]
    assert np.allclose(f.along(x, indices, offsets), expected, rtol=0, atol=tolerance)
    shuffled = np.array([rng.permutation(64) for _ in range(7)])
    dense = np.take_along_axis(points - x, shuffled, axis=1)
    assert np.allclose(f.along(x, shuffled, dense), [naive(p) for p in points], atol=tolerance)
    assert f.queries == 7 + 1 + 7 + 7 + 7


def test_the_first_success_is_remembered_with_its_number():
    f = objective(classifiers.logits, counts=lambda x: x[0] < 1)
    wrong = np.linspace(-1, 1, 64) * 5
    assert naive(wrong) == 0.0
    f.values(np.zeros((4, 64)))
    f.along(np.zeros(64), np.zeros((2, 1), dtype=int), np.ones((2, 1)))
    assert f.hit is None
    barred = wrong.copy()
    barred[0] = 2.0
    f.values(np.array([0 * wrong, barred, wrong, wrong]))
    assert f.hit.query == 4 + 2 + 3
    assert np.array_equal(f.hit.change, wrong)
    f.value(wrong)
    assert f.hit.query == 9


def test_the_first_success_outlives_the_array_it_came_in():
    f = objective(classifiers.logits)
    points = np.tile(np.linspace(-1, 1, 64) * 5, (2, 1))
    wrong = points[0].copy()
    f.values(points)
    points[:] = 0.0
    assert np.array_equal(f.hit.change, wrong)


def test_rows_of_dense_offsets_may_differ_in_their_order():
    f = objective(classifiers.logits)
    rng = np.random.default_rng(2)
    step = rng.standard_normal(64) * 0.3
    order = np.array([np.arange(64), rng.permutation(64)])
    assert np.allclose(f.along(np.zeros(64), order, step[order]), naive(step), atol=1e-12)


def test_a_module_keeps_its_mode_and_weights():
    layers = torch.nn.Sequential(torch.nn.Dropout(0.9), classifiers.module())
    layers.train()
    first = objective(layers).value(np.zeros(64))
    assert layers.training
    assert first == objective(classifiers.module()).value(np.zeros(64))


def test_a_module_in_double_precision_is_asked_in_double_precision():
    double = copy.deepcopy(classifiers.module()).double()
    step = 1e-9 * np.ones(64)
    f = objective(double)
    assert f.value(step) != f.value(0 * step)


def test_a_module_may_have_weights_that_are_integers():
    class Counted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = torch.nn.Parameter(torch.tensor(0), requires_grad=False)
            self.inner = classifiers.module()

        def forward(self, images):
            return self.inner(images)

    x = np.full(64, 0.3)
    assert objective(Counted()).value(x) == objective(classifiers.module()).value(x)


def test_a_function_gets_the_kind_of_numbers_that_the_image_has():
    seen = []

    def model(images):
        seen.append((images.dtype, images.shape))
        return classifiers.logits(images)

    as_network(model, (8, 8), np.dtype(np.float32)).dense(np.zeros((2, 64)))
    assert seen == [(np.dtype(np.float32), (2, 8, 8))]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda images: classifiers.logits(images)[:, 0], r"of shape \(2, number of classes\)"),
        (lambda images: classifiers.logits(images)[:1], r"got \(1, 10\)"),
        (lambda images: classifiers.logits(images)[:, :1], "at least two classes"),
        (lambda images: "seven", "must return an array of scores"),
        (lambda images: [[1.0], [1.0, 2.0]], "must return an array of scores"),
    ],
)
def test_scores_of_the_wrong_shape(model, expected):
    with pytest.raises(AnswerShapeError, match=expected):
        objective(model).values(np.zeros((2, 64)))


def test_a_session_with_another_fixed_batch_says_what_to_do():
    with pytest.raises(AnswerShapeError, match="dynamic"):
        objective(classifiers.session(batch=5)).values(np.zeros((2, 64)))


def test_things_that_are_no_classifier():
    with pytest.raises(ParameterTypeError, match="`model` must be"):
        as_network(7, (8, 8), np.dtype(np.float64))


class Clock:
    """Time passes as the work does: a price per call and one per image."""

    def __init__(self, call, image):
        self.call, self.image, self.now = call, image, 0.0

    def __call__(self):
        return self.now

    def work(self, part):
        self.now += self.call + self.image * (part.stop - part.start)


@pytest.mark.parametrize(
    ("call", "image", "best"), [(1.0, 1e-3, 256), (0.0, 1.0, 4), (1.0, 0.3, 64)]
)
def test_batches_grow_while_it_pays(call, image, best):
    clock = Clock(call, image)
    batches = Batches(clock=clock)
    for _ in range(4):
        done = 0
        for part in batches.split(600):
            assert part.start == done
            done = part.stop
            clock.work(part)
        assert done == 600
    assert batches.size == best


def test_what_a_library_prepares_at_first_is_not_held_against_a_size():
    """The first batch of every size takes long; from then on an image takes one second in any."""
    clock = Clock(0.0, 1.0)
    batches, seen = Batches(clock=clock), set()
    for part in batches.split(600):
        size = part.stop - part.start
        clock.now += 0 if size in seen else 1000
        seen.add(size)
        clock.work(part)
    assert batches.size == 4


def test_batches_of_a_given_size():
    batches = Batches(64)
    assert [part.stop for part in batches.split(130)] == [64, 128, 130]
    assert list(batches.split(0)) == []
