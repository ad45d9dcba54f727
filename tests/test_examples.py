"""The examples on simulators: what they need is named, and their figure is drawn."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import szoht

EXAMPLES = Path(__file__).parent.parent / "examples"

WITHOUT = """
import sys
sys.path.insert(0, {folder!r})
sys.modules[{package!r}] = None
{code}
"""

DRAW = """
import calibration_figure, pathlib
calibration_figure.draw(None, None, None, pathlib.Path("figure.png"))
"""


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("cantera", "import combustion; combustion.Ignition()", "szoht[bench]"),
        ("matplotlib.figure", DRAW, "szoht[plot]"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(package, code, extra):
    code = WITHOUT.format(folder=str(EXAMPLES), package=package, code=code)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert package.partition(".")[0] in done.stderr.lower()
    assert extra in done.stderr
    assert "Traceback" not in done.stderr


def test_the_figure_of_a_calibration(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import calibration_figure  # noqa: PLC0415

    matrix = np.random.default_rng(0).standard_normal((8, 20))
    truth = np.ones(20)
    truth[[3, 11]] = [1.5, 0.7]
    result = szoht.least_squares(
        lambda x: matrix @ np.log(x),
        szoht.Variables(np.ones(20), low=0.2, high=5.0, log=True),
        k=2,
        observed=matrix @ np.log(truth),
        sigma=0.01,
        max_queries=60,
        rng=0,
    )
    path = tmp_path / "figures" / "figure.png"
    calibration_figure.draw(result, np.zeros(8), truth, path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_first_gene_of_the_pathway_settles_where_it_must(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import calibration_ode  # noqa: PLC0415

    nominal = np.array(list(calibration_ode.NOMINAL.values()))
    states = calibration_ode.pathway(nominal)
    assert nominal.size == 36
    assert states.shape == (6, 8, 16)
    # the first gene is made at V / (1 + (P / Ki)^2 + (Ka / S)^2) and decays at rate 1
    expected = 1 / (1 + calibration_ode.PRODUCT**2 + calibration_ode.SUBSTRATE**-2)
    np.testing.assert_allclose(states[-1][0], expected, rtol=1e-6)
