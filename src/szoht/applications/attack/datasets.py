"""Images and networks of the experiments: MNIST, CIFAR-10, and images of ImageNet size."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from szoht.applications.attack.images import open_image
from szoht.errors import MissingExtraError
from szoht.problems.data import DataFile, fetch, register
from szoht.types import Vector

__all__ = ["ClassifiedImages", "load_cifar10", "load_imagenet", "load_mnist"]

register(
    DataFile(
        name="mnist/mnist.npz",
        url="",
        sha256="06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
        size=11_490_519,
    ),
    DataFile(
        name="cifar10/cifar10_test.npz",
        url="",
        sha256="db416ae49abad84f07becad2bf4d66130b970f92f3efde766a31b4a32a0abe7a",
        size=28_249_958,
    ),
    DataFile(
        name="weights/mnist_cnn.pt",
        url="",
        sha256="901b8c6eaa66e8682710bde089659e23ce1c25384d4a02932abf937546c13813",
        size=831_337,
    ),
    DataFile(
        name="weights/resnet20-12fca82f.th",
        url="https://github.com/akamaster/pytorch_resnet_cifar10/raw/master/pretrained_models/"
        "resnet20-12fca82f.th",
        sha256="12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8",
        size=1_099_231,
    ),
)

IMAGENET_SIDE = 299
"""299 x 299 x 3 = 268,203, the paper's dimension."""

BATCH_SIZE = 50


class ClassifiedImages(NamedTuple):
    """A network, images in [0, 1] with channels first, their labels, and its predictions."""

    network: Any
    images: Vector
    labels: Vector
    predictions: Vector

    def correct(self, count: int) -> tuple[Vector, Vector]:
        """Return the first ``count`` images that are classified correctly, and their labels."""
        correct = np.flatnonzero(self.labels == self.predictions)[:count]
        return self.images[correct], self.labels[correct]


def load_mnist(count: int = 200) -> ClassifiedImages:
    """Return the first test images of MNIST and a small convolutional network."""
    zoo = _load_zoo()
    network = zoo.mnist_cnn(fetch("weights/mnist_cnn.pt"))
    stored = _arrays(fetch("mnist/mnist.npz"), count)
    return _classify(network, stored[0][:, np.newaxis], stored[1])


def load_cifar10(count: int = 200) -> ClassifiedImages:
    """Return the first test images of CIFAR-10 and a ResNet-20."""
    zoo = _load_zoo()
    network = zoo.cifar_resnet20(fetch("weights/resnet20-12fca82f.th"))
    stored = _arrays(fetch("cifar10/cifar10_test.npz"), count)
    return _classify(network, stored[0].transpose(0, 3, 1, 2), stored[1])


def load_imagenet(count: int = 20) -> ClassifiedImages:
    """Return Foolbox's sample images at 299 x 299 and an EfficientNet-Lite0."""
    zoo = _load_zoo()
    try:
        import foolbox  # noqa: PLC0415
        from PIL import Image  # noqa: PLC0415

        network = zoo.efficientnet_lite0()
    except ImportError as error:
        raise MissingExtraError(
            f"images of ImageNet size need {error.name}: pip install 'szoht[attack-experiments]'"
        ) from error
    paths = sorted((Path(foolbox.__file__).parent / "data").glob("imagenet_*"))[:count]
    size = (IMAGENET_SIDE, IMAGENET_SIDE)
    loaded = []
    for path in paths:
        with open_image(path) as image:
            loaded.append(np.asarray(image.convert("RGB").resize(size, Image.Resampling.BICUBIC)))
    labels = np.array([int(re.findall(r"\d+", path.stem)[-1]) for path in paths])
    return _classify(network, np.stack(loaded).transpose(0, 3, 1, 2), labels, batch_size=4)


def _load_zoo() -> Any:
    try:
        from szoht.applications.attack import zoo  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "these networks need PyTorch: pip install 'szoht[attack]'"
        ) from error
    return zoo


def _arrays(path: Path, count: int) -> tuple[Vector, Vector]:
    with np.load(path, allow_pickle=False) as stored:
        return stored["x_test"][:count], stored["y_test"][:count].ravel()


def _classify(
    network: Any, images: Vector, labels: Vector, batch_size: int = BATCH_SIZE
) -> ClassifiedImages:
    from szoht.applications.attack.torch_network import TorchNetwork  # noqa: PLC0415

    scaled = images.astype(np.float32) / 255
    scores: Callable[[Vector], Vector] = TorchNetwork.of(network, scaled.shape[1:]).dense
    flat = scaled.reshape(len(scaled), -1)
    parts = [
        scores(flat[i : i + batch_size]).argmax(axis=1) for i in range(0, len(flat), batch_size)
    ]
    return ClassifiedImages(network, scaled, labels.astype(np.int64), np.concatenate(parts))
