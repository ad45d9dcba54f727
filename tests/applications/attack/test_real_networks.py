"""MNIST and CIFAR-10 with the networks of the experiments, where the data is there."""

import contextlib
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import szoht
from szoht.applications.attack import datasets, zoo
from szoht.errors import DataNotFoundError
from szoht.paper import evaluate_claim, get_experiment, read_claims
from szoht.paper.experiment import Curve, Results, Scale


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Have absent data skip the test, not download it."""
    monkeypatch.setitem(sys.modules, "pooch", None)


def loaded(load, count):
    torch.set_num_threads(1)
    try:
        return load(count)
    except DataNotFoundError as missing:
        pytest.skip(f"no data: {str(missing).splitlines()[0]}")


@pytest.mark.data
@pytest.mark.parametrize(
    ("load", "count", "accuracy"),
    [(datasets.load_mnist, 1000, 0.98), (datasets.load_cifar10, 200, 0.87)],
)
def test_the_networks_are_as_good_as_they_are_said_to_be(load, count, accuracy):
    data = loaded(load, count)
    assert len(data.images) == count
    assert data.images.min() == 0
    assert data.images.max() == 1
    assert np.mean(data.predictions == data.labels) >= accuracy


SHADES = torch.linspace(0, 1, 12).reshape(1, 3, 2, 2)


def entering(network):
    """Return what the layers of a network are given for an image in [0, 1]."""
    seen = []
    hook = network.network.register_forward_pre_hook(lambda _, images: seen.append(images[0]))
    try:
        with torch.inference_mode(), contextlib.suppress(RuntimeError):  # too small for some
            network(SHADES)
    finally:
        hook.remove()
    return seen[0]


@pytest.mark.data
def test_colours_are_normalised_channel_by_channel():
    """By the means and deviations that the network was trained with."""
    data = loaded(datasets.load_cifar10, 1)
    mean, spread = (
        torch.tensor(numbers).reshape(3, 1, 1)
        for numbers in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    )
    assert torch.allclose(entering(data.network), (SHADES - mean) / spread)


def test_a_shortcut_keeps_every_second_pixel_and_adds_channels_of_zeros():
    block = zoo.Block(2, 4, stride=2).eval()
    torch.nn.init.zeros_(block.conv2.weight)
    images = torch.rand((1, 2, 6, 6), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        through = block(images)
    assert torch.equal(through[:, 1:3], images[:, :, [0, 2, 4]][..., [0, 2, 4]])
    assert not through[:, [0, 3]].any()


@pytest.mark.data
@pytest.mark.parametrize(
    ("load", "settings"),
    [
        (datasets.load_mnist, {"k": 20}),
        (datasets.load_cifar10, {"k": 60}),
        (datasets.load_cifar10, {"k": 20, "unit": "pixels"}),
    ],
)
def test_few_pixels_are_enough(load, settings):
    data = loaded(load, 10)
    images, labels = data.correct(6)
    results = szoht.attack_many(
        data.network, images, labels, max_queries=500, batch_size=32, rng=0, **settings
    )
    assert results.success_rate > 0.5
    for result in results:
        count = result.pixels if "unit" in settings else result.l0
        assert count <= settings["k"]
        shown = torch.from_numpy(result.adversarial[np.newaxis].astype(np.float32))
        with torch.inference_mode():
            answer = int(data.network(shown).argmax())
        assert (answer != result.label) == result.success


def test_imagenet_size():
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("foolbox")
    torch.set_num_threads(1)
    data = datasets.load_imagenet(3)
    assert data.images.shape == (3, 3, 299, 299)
    assert np.mean(data.predictions == data.labels) >= 0.6
    assert torch.allclose(entering(data.network), (255 * SHADES - 127) / 128)
    images, labels = data.correct(1)
    result = szoht.attack(
        data.network, images[0], int(labels[0]), k=2000, max_queries=12, batch_size=4, rng=0
    )
    assert result.queries <= 12
    assert result.l0 <= 2000


@pytest.mark.data
@pytest.mark.parametrize("name", ["attacks", "attack-table"])
def test_the_experiments_run_draw_and_judge(name):
    loaded(datasets.load_mnist, 10)
    experiment = get_experiment(name)
    assert experiment.why_unavailable() == ""
    curves = []
    for job in experiment.jobs(Scale(quick=True, seeds=2, datasets=("mnist",))):
        small = {**job.settings, "budget": 220}
        table = experiment.run(small, job.seed)
        assert len({len(column) for column in table.values()}) == 1
        curves.append(Curve(job=replace(job, settings=small), table=table, seconds=0.0))
    results = Results(curves)
    for drawing in experiment.figures(results).values():
        drawing.figure.canvas.draw()
    for table in experiment.tables(results):
        assert {len(row) for row in table.rows} == {len(table.header)}
    claims = [claim for claim in read_claims() if claim.experiment == name]
    for claim in claims:
        judged = evaluate_claim(claim, experiment, results, quick=False)
        if claim.arguments["dataset"] == "mnist" and judged.measured is not None:
            assert "2 images" in judged.measured.text
        else:
            assert judged.reason
