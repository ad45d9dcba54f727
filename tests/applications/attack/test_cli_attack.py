"""``szoht attack`` on the command line."""

import io
import json
import os
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest
from onnx import helper, numpy_helper
from PIL import Image
from typer.testing import CliRunner

from applications.attack import classifiers
from outcomes import always, most_seeds
from szoht.applications.attack.images import open_image
from szoht.cli.app import app
from szoht.errors import ParameterError


@pytest.fixture
def files(tmp_path):
    (image,), (label,) = classifiers.right(1)
    (tmp_path / "net.onnx").write_bytes(classifiers.onnx_model())
    Image.fromarray(np.round(image * 255).astype(np.uint8)).save(tmp_path / "digit.png")
    np.save(tmp_path / "digit.npy", image.astype(np.float32))
    return tmp_path, int(label)


def run(folder, image, label, *more, model="net.onnx", seed=0):
    arguments = ["attack", str(folder / model), str(folder / image), "--label", str(label)]
    more = (*more, "--quiet", "--seed", str(seed), "--output", str(folder / "out" / "result"))
    return CliRunner().invoke(app, [*arguments, *more])


def png_header(width, height):
    """Return the beginning of a picture of this size; there is nothing to decode."""
    fields = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunk = b"IHDR" + fields
    header = struct.pack(">I", len(fields)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return b"\x89PNG\r\n\x1a\n" + header + struct.pack(">I", 0) + b"IDAT"


def npy_header(shape):
    """Return an array file of this shape without its numbers."""
    file = io.BytesIO()
    fields = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


@pytest.mark.parametrize("image", ["digit.png", "digit.npy"])
@most_seeds
def test_picture_and_json_are_written(seed, files, image):
    folder, label = files
    outcome = run(folder, image, label, "-k", "6", "--batch-size", "8", seed=seed)
    always(outcome.exit_code == 0)
    record = json.loads((folder / "out" / "result.json").read_text())
    always(record["l0"] <= 6)
    with Image.open(folder / "out" / "result.png") as picture:
        always(picture.size[0] > 2 * picture.size[1])
    always(f"({record['nfev']} evaluated)" in outcome.output)
    assert record["success"]
    assert record["prediction"] == label != record["adversarial_prediction"]


def test_colours_and_channels(files):
    folder, label = files
    (folder / "grey.onnx").write_bytes(classifiers.onnx_model(shape=(1, 8, 8)))
    (folder / "last.onnx").write_bytes(classifiers.onnx_model(shape=(8, 8, 1)))
    for model in ("grey.onnx", "last.onnx"):
        outcome = run(folder, "digit.png", label, "-k", "8", "--pixels", model=model)
        assert outcome.exit_code == 0, outcome.output


def test_targets_methods_and_misclassified_images(files):
    folder, label = files
    outcome = run(folder, "digit.png", label, "--method", "sparse_rs", "--budget", "50")
    assert outcome.exit_code == 0, outcome.output
    outcome = run(folder, "digit.png", (label + 1) % 10)
    assert "misclassified before" in outcome.output
    assert json.loads((folder / "out" / "result.json").read_text())["queries"] == 0
    outcome = run(folder, "digit.png", label, "--target", str((label + 3) % 10), "-k", "30")
    assert json.loads((folder / "out" / "result.json").read_text())["target"] == (label + 3) % 10


@pytest.mark.parametrize(
    ("image", "model", "more", "expected"),
    [
        ("digit.png", "none.onnx", (), "does not exist"),
        ("digit.png", "digit.png", (), "must be an ONNX file"),
        ("none.png", "net.onnx", (), "No such file"),
        ("net.onnx", "net.onnx", (), "must be an image file"),
        ("large.png", "net.onnx", (), "must have the shape"),
        ("text.npy", "net.onnx", (), "must be a NPY file"),
        ("empty.npy", "net.onnx", (), "must be a NPY file"),
        ("large.npy", "net.onnx", (), "must have the shape"),
        ("false.npy", "net.onnx", (), "must be a NPY file"),
        ("bomb.png", "net.onnx", (), "must have at most 89,478,485 pixels"),
        ("wide.png", "net.onnx", (), "must have at most 89,478,485 pixels"),
        ("poster.png", "net.onnx", (), "must have the shape (8, 8)"),
        ("digit.png", "net.onnx", ("-k", "65"), "got k=65"),
        ("digit.png", "net.onnx", ("--method", "magic"), "`method` must be the name of a method"),
        ("digit.png", "net.onnx", ("--scores", "percent"), "`scores` must be"),
    ],
)
def test_mistakes_are_named(files, image, model, more, expected):
    folder, label = files
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(folder / "large.png")
    (folder / "text.npy").write_text("nothing")
    (folder / "empty.npy").touch()
    np.save(folder / "large.npy", np.zeros((9, 9), dtype=np.float32))
    (folder / "false.npy").write_bytes(npy_header((10**9, 10)))
    (folder / "bomb.png").write_bytes(png_header(60_000, 60_000))
    (folder / "wide.png").write_bytes(png_header(12_000, 12_000))
    (folder / "poster.png").write_bytes(png_header(9_000, 9_000))
    outcome = run(folder, image, label, *more, model=model)
    assert outcome.exit_code == 2
    text = " ".join(outcome.output.replace("│", " ").split())
    assert expected in text


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"


def test_an_image_that_is_postscript_inside_starts_no_interpreter(files, monkeypatch):
    folder, label = files
    started = folder / "started"
    for name in ("gs", "gswin32c", "gswin64c"):
        interpreter = folder / name
        interpreter.write_text(f"#!/bin/sh\necho 10.0 | tee -a {started}\n")
        interpreter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    (folder / "cat.png").write_bytes(POSTSCRIPT)
    outcome = run(folder, "cat.png", label)
    assert outcome.exit_code == 2
    assert "must be an image file (PNG, JPEG" in " ".join(outcome.output.replace("│", " ").split())
    assert not started.exists()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP"])
def test_formats(files, kind):
    folder, _ = files
    pixels = np.full((8, 8), 128, dtype=np.uint8)
    Image.fromarray(pixels).convert("RGB").save(folder / "image", format=kind)
    with open_image(folder / "image") as picture:
        assert np.abs(np.asarray(picture.convert("L")) - 128.0).max() <= 2


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "PPM", "TIFF", "WEBP"])
def test_broken_images_are_typed_errors(kind):
    rng = np.random.default_rng(0)
    file = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(file, format=kind)
    refused = 0
    for _ in range(200):
        broken = bytearray(file.getvalue())
        for place in rng.integers(len(broken), size=4):
            broken[place] = rng.integers(256)
        broken = broken[: rng.integers(1, 2 * len(broken))]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="PIL")
            try:
                with open_image(io.BytesIO(broken)) as picture:
                    if picture.size == (8, 8):
                        picture.convert("L")
            except ParameterError:
                refused += 1
    assert refused > 0


def test_a_model_that_asks_for_too_much_memory(files):
    """2^48 bytes: more than a process can address, so that no machine has them."""
    folder, label = files
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["large"]),
        helper.make_node("ReduceSum", ["large"], ["sum"], keepdims=1),
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Add", ["flat", "sum"], ["scores"]),
    ]
    size = numpy_helper.from_array(np.array([2**46]), "size")
    (folder / "large.onnx").write_bytes(classifiers.onnx_file(nodes, [size], n_scores=64))
    outcome = run(folder, "digit.png", label, model="large.onnx")
    assert outcome.exit_code == 2
    assert "cannot be evaluated" in " ".join(outcome.output.replace("│", " ").split())


@pytest.mark.parametrize("package", ["onnxruntime", "PIL"])
def test_a_missing_package_is_named(files, package):
    folder, label = files
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['szoht', 'attack', "
        f"{str(folder / 'net.onnx')!r}, {str(folder / 'digit.png')!r}, '--label', '{label}']; "
        "from szoht.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "szoht[attack]" in done.stderr


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("net.onnx/result", "is not a folder"),
        ("taken", "is a folder"),
        (".", "must include a file name"),
    ],
)
def test_a_bad_output_is_named_before_the_model_is_asked(files, monkeypatch, output, expected):
    folder, label = files
    (folder / "taken.json").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("szoht.cli.attack._session", lambda _: pytest.fail("too late"))
    arguments = ["attack", "net.onnx", "digit.png", "--label", str(label), "--output", output]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 2
    assert expected in " ".join(outcome.output.replace("│", " ").split())


def test_ctrl_c_writes_what_was_found_and_exits_with_130(files, monkeypatch):
    folder, label = files
    calls = []

    def call(self, batch):
        calls.append(len(batch))
        if len(calls) == 8:
            raise KeyboardInterrupt
        return classifiers.logits(batch)

    monkeypatch.setattr("szoht.applications.attack.networks.OnnxModel.__call__", call)
    outcome = run(folder, "digit.png", label, "-k", "2", "--batch-size", "1")
    assert outcome.exit_code == 130
    record = json.loads((folder / "out" / "result.json").read_text())
    assert (record["status"], record["success"], record["nfev"]) == ("INTERRUPTED", False, 7)
    assert "The attack was interrupted" in outcome.output
