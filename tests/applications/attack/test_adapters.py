"""Both toolboxes, each with a classifier of its own."""

import warnings

import numpy as np
import pytest

from applications.attack import classifiers

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they use names that SciPy will drop one day
    art = pytest.importorskip("art.estimators.classification")
    foolbox = pytest.importorskip("foolbox")
    import torch

    from szoht.adapters import art as art_adapter
    from szoht.adapters import foolbox as foolbox_adapter

from szoht.errors import ParameterError, ParameterTypeError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
IMAGES, LABELS = classifiers.right(4)
IMAGES = IMAGES.astype(np.float32)


def estimator(**settings):
    return art.PyTorchClassifier(
        loss=torch.nn.CrossEntropyLoss(),
        input_shape=(8, 8),
        nb_classes=10,
        device_type="cpu",
        **{"model": classifiers.module(), "clip_values": (0.0, 1.0)} | settings,
    )


class Sixteenths(torch.nn.Module):
    """The network for images from 0 to 16."""

    def __init__(self):
        super().__init__()
        self.inner = classifiers.module()

    def forward(self, images):
        return self.inner(images / 16)


def check(before, after, success, k):
    moved = (np.abs(after - before) > 0).reshape(len(after), -1).sum(axis=1)
    assert success.sum() >= 3
    assert (moved[success] >= 1).all()
    assert (moved <= k).all()
    assert after.min() >= 0
    assert after.max() <= 1


def test_art():
    attack = art_adapter.FewPixelAttack(estimator(), k=6, max_queries=600, rng=0)
    for y in (LABELS, np.eye(10)[LABELS], None):
        after = attack.generate(IMAGES, y)
        assert after.dtype == np.float32
        wrong = estimator().predict(after).argmax(axis=1) != LABELS
        assert wrong.tolist() == [result.success for result in attack.results]
        check(IMAGES, after, wrong, 6)


def test_art_with_targets():
    attack = art_adapter.FewPixelAttack(estimator(), targeted=True, k=20, max_queries=800, rng=0)
    targets = (LABELS + 1) % 10
    targets[0] = LABELS[0]
    after = attack.generate(IMAGES, targets)
    hit = estimator().predict(after).argmax(axis=1) == targets
    assert hit.sum() >= 3
    assert np.array_equal(after[0], IMAGES[0])
    assert attack.results[0].queries == 0
    with pytest.raises(ParameterError, match="needs `y`"):
        attack.generate(IMAGES)


def test_art_takes_the_range_of_the_estimator():
    model = estimator(model=Sixteenths(), clip_values=(0.0, 16.0))
    attack = art_adapter.FewPixelAttack(model, k=6, max_queries=600, rng=0)
    after = attack.generate(16 * IMAGES, LABELS)
    wrong = model.predict(after).argmax(axis=1) != LABELS
    check(IMAGES, after / 16, wrong, 6)


def test_art_leaves_images_alone_that_resist_or_are_misclassified_before():
    attack = art_adapter.FewPixelAttack(estimator(), k=1, max_queries=600, rng=0)
    after = attack.generate(IMAGES, LABELS, max_queries=3)
    assert [result.nfev for result in attack.results] == [3] * 4
    assert not any(result.success for result in attack.results)
    assert np.array_equal(after, IMAGES)
    after = attack.generate(IMAGES, (LABELS + 1) % 10)
    assert [result.nfev for result in attack.results] == [0] * 4
    assert np.array_equal(after, IMAGES)


def test_a_target_that_is_the_last_class_may_be_there_already():
    images, labels = classifiers.right(20)
    nine = images[labels == 9][:1].astype(np.float32)
    attack = art_adapter.FewPixelAttack(estimator(), targeted=True, k=6, max_queries=9, rng=0)
    assert np.array_equal(attack.generate(nine, np.array([9])), nine)
    assert attack.results[0].queries == 0


def test_art_needs_a_range():
    with pytest.raises(ParameterError, match="clip_values"):
        art_adapter.FewPixelAttack(estimator(clip_values=None))


def test_foolbox():
    model = foolbox.PyTorchModel(classifiers.module().eval(), bounds=(0, 1), device="cpu")
    attack = foolbox_adapter.FewPixelAttack(k=6, max_queries=600, rng=0)
    images, labels = torch.from_numpy(IMAGES), torch.from_numpy(LABELS)
    raw, clipped, success = attack(model, images, labels, epsilons=None)
    assert torch.equal(raw, clipped)
    check(IMAGES, raw.numpy(), success.numpy(), 6)
    assert success.tolist() == [result.success for result in attack.results]


def test_foolbox_takes_the_range_of_the_model():
    model = foolbox.PyTorchModel(Sixteenths().eval(), bounds=(0, 16), device="cpu")
    attack = foolbox_adapter.FewPixelAttack(k=6, max_queries=600, rng=0)
    images, labels = torch.from_numpy(16 * IMAGES), torch.from_numpy(LABELS)
    raw, _, success = attack(model, images, labels, epsilons=None)
    check(IMAGES, raw.numpy() / 16, success.numpy(), 6)


def test_foolbox_leaves_images_alone_that_resist_or_are_misclassified_before():
    model = foolbox.PyTorchModel(classifiers.module().eval(), bounds=(0, 1), device="cpu")
    attack = foolbox_adapter.FewPixelAttack(k=1, max_queries=600, rng=0)
    images, labels = torch.from_numpy(IMAGES), torch.from_numpy(LABELS)
    raw, _, success = attack(model, images, labels, epsilons=None, max_queries=3)
    assert [result.nfev for result in attack.results] == [3] * 4
    assert not success.any()
    assert torch.equal(raw, images)
    raw, _, _ = attack(model, images, (labels + 1) % 10, epsilons=None)
    assert [result.nfev for result in attack.results] == [0] * 4
    assert torch.equal(raw, images)


def test_foolbox_with_targets():
    model = foolbox.PyTorchModel(classifiers.module().eval(), bounds=(0, 1), device="cpu")
    wanted = (LABELS + 1) % 10
    wanted[0] = LABELS[0]  # as good as misclassified before
    targets = torch.from_numpy(wanted)
    criterion = foolbox.criteria.TargetedMisclassification(targets)
    attack = foolbox_adapter.FewPixelAttack(k=20, max_queries=800, rng=0)
    images = torch.from_numpy(IMAGES)
    raw, _, success = attack(model, images, criterion, epsilons=None)
    assert np.array_equal(raw.numpy()[0], IMAGES[0])
    assert attack.results[0].queries == 0
    assert success.sum() >= 3
    with pytest.raises(ParameterTypeError, match="`criterion`"):
        attack.run(model, images, foolbox.criteria.Criterion.__new__(Odd))


class Odd(foolbox.criteria.Criterion):
    """A criterion of another kind."""

    def __repr__(self):
        return "Odd()"

    def __call__(self, perturbed, outputs):
        return outputs


def test_ctrl_c_ends_a_call_and_keeps_the_results_so_far(monkeypatch):
    found = art_adapter.attack
    stopped = []

    def attack(*arguments, **settings):
        stopped.append(len(stopped) % 2 == 1)
        result = found(*arguments, **settings)
        if stopped[-1]:
            stop = KeyboardInterrupt()
            stop.result = result
            raise stop
        return result

    monkeypatch.setattr(art_adapter, "attack", attack)
    monkeypatch.setattr(foolbox_adapter, "attack", attack)
    in_art = art_adapter.FewPixelAttack(estimator(), k=6, max_queries=50, rng=0)
    with pytest.raises(KeyboardInterrupt):
        in_art.generate(IMAGES, LABELS)
    model = foolbox.PyTorchModel(classifiers.module().eval(), bounds=(0, 1), device="cpu")
    in_foolbox = foolbox_adapter.FewPixelAttack(k=6, max_queries=50, rng=0)
    with pytest.raises(KeyboardInterrupt):
        in_foolbox(model, torch.from_numpy(IMAGES), torch.from_numpy(LABELS), epsilons=None)
    for results in (in_art.results, in_foolbox.results):
        assert (len(results), results.not_tried) == (2, 2)
