import re

import pytest

from szoht.reporting.cells import ErrorBar, Link, cell_html


def test_an_error_bar_lies_on_the_shared_axis():
    cells = [
        ErrorBar(value=50.0, low=40.0, high=60.0, target=100.0),
        ErrorBar(value=None, target=20.0),
    ]
    axis = ErrorBar.shared_axis(cells)
    assert axis == (0.0, 100.0)
    text = cell_html(ErrorBar(value=50.0, low=40.0, high=60.0, target=100.0, axis=axis))
    assert 'data-value="50.0"' in text
    assert "50 [40, 60] (100)" in text
    low, high = map(
        float, re.search(r'class="range" x1="([\d.]+)" y1="7" x2="([\d.]+)"', text).groups()
    )
    dot = float(re.search(r'circle cx="([\d.]+)"', text).group(1))
    tick = float(re.search(r'class="target" x1="([\d.]+)"', text).group(1))
    assert dot == pytest.approx((low + high) / 2, abs=0.1)
    assert low < dot < high < tick


def test_no_value_has_no_dot():
    text = cell_html(ErrorBar(value=None, target=20.0, axis=(0.0, 100.0)))
    assert "no value (20)" in text
    assert "circle" not in text
    assert "data-value" not in text


def test_text_is_escaped():
    assert "&lt;b&gt;" in cell_html("<b>")
    assert 'href="a&quot;b"' in cell_html(Link("name", 'a"b'))
    assert 'class="long"' in cell_html("x" * 40)
