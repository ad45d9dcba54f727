"""`attack` and `attack_many` on scikit-learn's digits."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import szoht
from applications.attack import classifiers
from interrupts import carried
from outcomes import always, most_seeds
from szoht import algorithms
from szoht.applications.attack import AttackResults, AttackStatus, Margin
from szoht.applications.attack.layout import as_layout
from szoht.errors import AnswerShapeError, EvaluationError, ParameterError, ParameterTypeError

IMAGES, LABELS = classifiers.right(6)
IMAGE, LABEL = IMAGES[0], int(LABELS[0])


def attacked(model=classifiers.logits, image=IMAGE, label=LABEL, **settings):
    return szoht.attack(model, image, label, **{"k": 6, "rng": 0, "batch_size": 8} | settings)


@pytest.mark.parametrize("method", ["corner_search", "sparse_rs", "szoht", "auto"])
@most_seeds
def test_every_method_finds_some_pixels(seed, method):
    options = {"mu": 0.1, "q": 30, "step_size": 0.05} if method == "szoht" else None
    result = attacked(method=method, options=options, max_queries=3_000, k=8, rng=seed)
    always(result.l0 <= 8)
    always(result.queries <= result.nfev <= 3_000)
    always(0 <= result.adversarial.min() <= result.adversarial.max() <= 1)
    assert result.success
    assert result.status is AttackStatus.SUCCESS
    scores = classifiers.logits(result.adversarial[np.newaxis])[0]
    assert int(scores.argmax()) == result.adversarial_prediction != LABEL == result.prediction
    assert result.l2 == pytest.approx(np.sqrt(((result.adversarial - IMAGE) ** 2).sum()))
    assert result.linf == pytest.approx(np.abs(result.adversarial - IMAGE).max())


def test_queries_is_the_number_of_the_first_success():
    """Count what the classifier is shown, from outside."""
    seen = []

    def model(images):
        seen.extend(classifiers.logits(images).argmax(axis=1) != LABEL)
        return classifiers.logits(images)

    result = attacked(model, method="sparse_rs", batch_size=1)
    shown = seen[1:]  # the unchanged image comes first and is not counted
    assert shown.index(True) + 1 == result.queries == result.nfev


@most_seeds
def test_what_follows_the_first_success_in_its_batch_is_not_held_against_it(seed):
    """The newest iterate comes first in a batch, then the points of differences around it."""
    seen = []

    def model(images):
        sparse = (np.abs(images - IMAGE) > 0).reshape(len(images), -1).sum(axis=1) <= 8
        seen.extend((classifiers.logits(images).argmax(axis=1) != LABEL) & sparse)
        return classifiers.logits(images)

    options = {"mu": 0.1, "q": 30, "step_size": 0.05}
    settings = {"method": "szoht", "options": options, "max_queries": 3_000, "k": 8, "rng": seed}
    result = attacked(model, **settings)
    assert result.success
    assert seen[1:].index(True) + 1 == result.queries < result.nfev


def test_points_of_a_difference_are_no_success():
    """Dense probes may well be misclassified; only sparse changes count."""
    options = {"mu": 20.0, "q": 50, "step_size": 1e-9}
    result = attacked(method="szoht", options=options, max_queries=500, k=1)
    assert not result.success


def test_the_same_seed_gives_the_same_attack():
    first, second = attacked(rng=3), attacked(rng=3)
    assert np.array_equal(first.adversarial, second.adversarial)
    assert first.queries == second.queries
    assert attacked(rng=4).seed == 4


def test_the_change_keeps_the_range_of_an_image():
    for unit in ("coordinates", "pixels"):
        result = attacked(unit=unit)
        assert np.allclose(IMAGE.ravel() + result.change, result.adversarial.ravel(), atol=1e-15)


@pytest.mark.parametrize("unit", ["coordinates", "pixels"])
@most_seeds
def test_a_change_that_is_clipped_in_the_loss_is_free(seed, unit):
    options = {"mu": 0.3, "q": 30, "step_size": 1.0}
    result = attacked(
        method="szoht", options=options, unit=unit, bounds="clip", k=20, max_queries=3_000, rng=seed
    )
    assert np.abs(result.change).max() > 1


def test_a_function_sees_the_precision_of_the_image():
    seen = set()

    def model(images):
        seen.add(images.dtype.name)
        return classifiers.logits(images)

    attacked(model, IMAGE.astype(np.float32))
    assert seen == {"float32"}
    attacked(model, np.round(IMAGE).astype(np.uint8))
    assert seen == {"float32", "float64"}


@pytest.mark.parametrize(
    ("shape", "channels", "grid"),
    [
        ((3, 5, 6), "first", (3, 5, 6)),
        ((5, 6, 3), "last", (3, 5, 6)),
        ((5, 6), "none", (1, 5, 6)),
        ((7,), "none", (1, 1, 7)),
    ],
)
def test_layouts(shape, channels, grid):
    """A pixel has one number whatever its channel; pixels are counted row by row."""
    layout = as_layout(shape, None)
    assert (layout.channels, layout.grid) == (channels, grid)
    rows = np.arange(grid[1] * grid[2]).reshape(grid[1:])
    axis = {"first": 0, "last": 2}.get(channels)
    expected = rows if axis is None else np.stack([rows] * 3, axis=axis)
    assert np.array_equal(layout.pixels.reshape(shape), expected.reshape(shape))


def test_it_does_not_matter_where_the_channels_are():
    """With slopes that are smooth throughout, all that is drawn is drawn by places."""
    rng = np.random.default_rng(0)
    image, weights = rng.random((3, 6, 5)), rng.standard_normal((3, 6, 5, 4))
    label = int(np.tensordot(image, weights, 3).argmax())
    settings = {"label": label, "options": {"smooth": 1.0}, "max_queries": 9, "confidence": 99.0}
    first = attacked(lambda images: np.tensordot(images, weights, 3), image, **settings)
    last = attacked(
        lambda images: np.tensordot(np.moveaxis(images, 3, 1), weights, 3),
        np.moveaxis(image, 0, 2),
        **settings,
    )
    assert first.l0 == 6
    assert np.array_equal(np.moveaxis(last.adversarial, 2, 0), first.adversarial)


def test_methods_with_a_grid_are_told_it(monkeypatch):
    seen = []

    def search(*, k=None, constraint=None, grid=None):
        seen.append(grid)
        return algorithms.corner_search(k=k, constraint=constraint)

    monkeypatch.setitem(algorithms.METHODS, "new_search", search)
    attacked(method="new_search", max_queries=4)
    assert np.array_equal(seen[0], np.arange(64).reshape(1, 8, 8))


def test_a_grid_of_ones_own_is_used():
    with pytest.raises(ParameterError, match="each of the coordinates 0 to 63 once"):
        attacked(options={"grid": np.zeros((1, 8, 8), dtype=int)})


@most_seeds
def test_modules_and_sessions_are_led_astray_too(seed):
    for model in (classifiers.module(), classifiers.session()):
        result = attacked(model, IMAGE.astype(np.float32), rng=seed)
        assert result.success
        assert classifiers.logits(result.adversarial[np.newaxis]).argmax() != LABEL


@most_seeds
def test_a_target_is_reached(seed):
    target = (LABEL + 1) % 10
    result = attacked(target=target, k=20, max_queries=2_000, rng=seed)
    assert result.success
    assert result.adversarial_prediction == target == result.target


@most_seeds
def test_confidence_is_kept(seed):
    result = attacked(confidence=1.0, k=12, rng=seed)
    scores = classifiers.logits(result.adversarial[np.newaxis])[0]
    assert result.success
    assert np.delete(scores, LABEL).max() - scores[LABEL] >= 1.0
    assert result.margin == -1.0


@most_seeds
def test_probabilities(seed):
    settings = {"scores": "probs", "margin_on": "log_probs", "rng": seed}
    assert attacked(classifiers.probabilities, **settings).success
    for model in (classifiers.logits, lambda images: classifiers.probabilities(images) - 0.5):
        with pytest.raises(ParameterError, match="`scores` is 'probs', but"):
            attacked(model, scores="probs")


def color(images):
    """A classifier of color images: the mean over channels, as a grey one."""
    return classifiers.logits(np.asarray(images).mean(axis=1 if images.shape[1] == 3 else 3))


@pytest.mark.parametrize("channels", ["first", "last"])
@most_seeds
def test_pixels_of_colour_images_move_together(seed, channels):
    axis = 0 if channels == "first" else 2
    image = np.repeat(np.expand_dims(IMAGE, axis), 3, axis=axis)
    for method in ("corner_search", "sparse_rs"):
        settings = {"unit": "pixels", "k": 6, "method": method, "max_queries": 3_000, "rng": seed}
        result = attacked(color, image, **settings)
        changed = (result.adversarial != image).any(axis=axis)
        always(result.pixels == changed.sum() <= 6)
        assert result.success
        assert result.l0 > result.pixels
    single = attacked(color, image, k=12, method="corner_search", max_queries=3_000, rng=seed)
    always(single.l0 <= 12)


@most_seeds
def test_the_paper_clips_inside_the_loss(seed):
    method = algorithms.szoht(k=20, q=30, mu=0.3, step_size=1.0, support_size=30)
    result = attacked(method=method, bounds="clip", max_queries=3_000, rng=seed)
    always(result.linf <= 1)
    assert result.success
    assert np.abs(result.change).max() > 1  # free to leave the range


def test_an_image_that_is_misclassified_before():
    result = attacked(label=(LABEL + 1) % 10)
    assert result.status is AttackStatus.MISCLASSIFIED
    assert (result.success, result.queries, result.nfev, result.l0) == (False, 0, 0, 0)
    assert (result.label, result.prediction) == ((LABEL + 1) % 10, LABEL)
    assert "misclassified before" in str(result)


def test_a_classifier_that_resists():
    result = attacked(k=1, max_queries=40)
    assert result.status is AttackStatus.RESISTED
    assert not result.success
    assert result.queries == result.nfev == 40
    assert result.l0 <= 1


def test_a_classifier_that_breaks_on_the_way():
    calls = []

    def model(images):
        calls.append(len(images))
        return classifiers.logits(images) * (np.nan if len(calls) > 5 else 1.0)

    result = attacked(model, k=2)
    assert result.status is AttackStatus.FAILED
    assert "returned the score nan" in result.message
    assert np.isnan(result.margin)


def test_a_failure_is_named_with_its_query():
    shown = []

    def model(images):
        shown.extend(images)
        return classifiers.logits(images) * (np.nan if len(shown) > 6 else 1.0)

    result = attacked(model, k=2, batch_size=1)
    assert "Query 6: " in result.message  # the seventh image, after the unchanged one
    assert result.nfev == 6


@most_seeds
def test_a_success_counts_though_the_classifier_breaks_after_it(seed):
    found = []

    def model(images):
        scores = classifiers.logits(images)
        sparse = np.count_nonzero(images - IMAGE, axis=(1, 2)) <= 8
        if found and not sparse.all():
            return scores * np.nan
        found.extend(np.flatnonzero(sparse & (scores.argmax(axis=1) != LABEL)))
        return scores

    options = {"mu": 0.1, "q": 30, "step_size": 0.05}
    settings = {"method": "szoht", "options": options, "k": 8, "max_queries": 3_000}
    result = attacked(model, batch_size=1, rng=seed, **settings)
    assert result.status is AttackStatus.SUCCESS
    assert result.adversarial_prediction != LABEL


def interrupted_at(call):
    """Return a classifier during whose ``call``-th call Ctrl-C is pressed."""
    calls = []

    def model(images):
        calls.append(len(images))
        if len(calls) == call:
            raise KeyboardInterrupt
        return classifiers.logits(images)

    return model


def test_ctrl_c_keeps_what_was_found():
    result = carried(attacked, interrupted_at(9), k=2, batch_size=1)
    assert (result.status, result.success) == (AttackStatus.INTERRUPTED, False)
    assert result.interrupted
    assert result.nfev == result.queries == 8
    assert "The best change so far is kept" in result.message
    before = attacked(k=2, batch_size=1, max_queries=7)
    assert np.array_equal(result.adversarial, before.adversarial)
    assert result.margin == before.margin


def test_ctrl_c_at_the_very_end_keeps_what_was_found():
    whole = attacked(k=1, batch_size=1, max_queries=10)
    result = carried(attacked, interrupted_at(12), k=1, batch_size=1, max_queries=10)
    assert result.status is AttackStatus.INTERRUPTED
    assert result.nfev == 10
    assert np.array_equal(result.adversarial, whole.adversarial)


def test_ctrl_c_after_a_success_is_a_success():
    whole = attacked(batch_size=1)
    late = interrupted_at(whole.nfev + 2)  # the last look at the success
    result = carried(attacked, late, batch_size=1)
    assert result.status is AttackStatus.SUCCESS
    assert result.interrupted
    assert np.array_equal(result.adversarial, whole.adversarial)


@pytest.mark.parametrize("first_query", [False, True])
def test_ctrl_c_among_many_images_keeps_the_results_so_far(first_query):
    settings = {"k": 6, "rng": 1, "batch_size": 1}
    whole = szoht.attack_many(classifiers.logits, IMAGES, LABELS, **settings)
    calls = sum(result.nfev + 2 for result in whole[:2])  # two more: the first and the last look
    model = interrupted_at(calls + (1 if first_query else 4))
    results = carried(szoht.attack_many, model, IMAGES, LABELS, **settings)
    statuses = [result.status for result in results]
    assert statuses[:2] == [result.status for result in whole[:2]]
    assert statuses[2:] == ([] if first_query else [AttackStatus.INTERRUPTED])
    assert len(results) + results.not_tried == len(IMAGES)
    assert results.success_rate == type(whole)(whole[:2]).success_rate
    assert f"interrupted, {results.not_tried} images not tried" in str(results)


def test_a_limit_of_time_ends_an_attack():
    result = attacked(k=1, max_seconds=1e-9, max_queries=40)
    assert result.status is AttackStatus.RESISTED
    assert result.nfev < 40


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        ({"image": IMAGE * 300}, ParameterError, r"within \[low, high\] = \[0, 1\]"),
        ({"image": IMAGE * np.nan}, ParameterError, "`image` must be finite; got nan"),
        ({"image": np.full((8, 8), "a")}, (ParameterError, ParameterTypeError), "`image` must be"),
        ({"image": []}, ParameterTypeError, "`image` must be"),
        ({"image": np.zeros((5, 8, 7))}, ParameterError, "`channels` must be 'first' or 'last'"),
        ({"channels": "first"}, ParameterError, "unless the image has three dimensions"),
        ({"label": 10}, ParameterError, r"`label` must be an integer in \[0, number of classes"),
        ({"label": -1}, ParameterError, "`label` must be"),
        ({"target": 12}, ParameterError, "`target` must be"),
        ({"k": 65}, ParameterError, "got k=65 with number of coordinates=64"),
        ({"k": 65, "unit": "pixels"}, ParameterError, "number of pixels=64"),
        ({"k": 0}, ParameterError, "`k` must be"),
        ({"unit": "dots"}, ParameterError, "`unit` must be one of"),
        ({"bounds": "none"}, ParameterError, "`bounds` must be one of"),
        ({"low": 1.0}, ParameterError, "`high` must be"),
        ({"batch_size": 0}, ParameterError, "`batch_size` must be"),
        ({"model": lambda x: np.zeros(3)}, AnswerShapeError, "must return scores"),
        ({"model": lambda x: np.full((len(x), 3), np.nan)}, EvaluationError, "score nan"),
        ({"model": "net.onnx"}, ParameterTypeError, "`model` must be"),
        ({"bounds": "clip"}, ParameterError, "needs a sparse set within bounds"),
    ],
)
def test_bad_input_is_named(change, error, expected):
    with pytest.raises(error, match=expected):
        attacked(**change)


def test_many_images_make_a_table():
    labels = LABELS.copy()
    labels[2] = (labels[2] + 1) % 10
    results = szoht.attack_many(
        classifiers.logits, IMAGES, labels, k=6, rng=1, max_queries=800, batch_size=8
    )
    assert len(results) == 6
    assert results[2].status is AttackStatus.MISCLASSIFIED
    assert len(results.attacked) == 5
    won = [result.queries for result in results if result.success]
    assert results.success_rate == len(won) / 5
    table = results.table()
    assert table["success"].sum() == len(won)
    assert table["status"][2] == "MISCLASSIFIED"
    text = str(results)
    assert "6 images, 5 classified correctly" in text
    assert len(text.splitlines()) == 8
    alone = szoht.attack_many(classifiers.logits, IMAGES, labels, k=6, rng=1, max_queries=800)
    assert [r.queries for r in alone] == [r.queries for r in results]


def test_the_median_is_of_queries_to_success_among_the_images_attacked():
    won = attacked()
    rows = [(10, "SUCCESS"), (20, "SUCCESS"), (90, "SUCCESS"), (0, "MISCLASSIFIED")]
    results = [
        dataclasses.replace(won, queries=queries, nfev=queries + 70, status=AttackStatus[status])
        for queries, status in rows
    ]
    assert AttackResults(results).median_queries == 20
    lost = dataclasses.replace(won, queries=1, status=AttackStatus.RESISTED)
    assert AttackResults([*results, lost]).median_queries == 55
    assert AttackResults([*results, lost]).success_rate == 0.75


def test_each_of_many_images_has_a_seed_of_its_own():
    twice = [szoht.attack_many(classifiers.logits, IMAGES[:n], LABELS[:n], rng=1) for n in (2, 3)]
    seeds = [[result.seed for result in results] for results in twice]
    assert seeds[0] == seeds[1][:2]
    assert len(set(seeds[1])) == 3


def test_failures_count_as_infinitely_many_queries():
    results = szoht.attack_many(classifiers.logits, IMAGES, LABELS, k=1, rng=1, max_queries=10)
    assert results.median_queries == np.inf
    assert np.isnan(type(results)([]).median_queries)
    assert np.isnan(type(results)([]).success_rate)


def test_a_list_of_images_needs_as_many_labels():
    with pytest.raises(ParameterError, match="as many images as there are labels"):
        szoht.attack_many(classifiers.logits, IMAGES, [1, 2])


def test_bars_are_shown(capsys):
    pytest.importorskip("rich")
    attacked(progress=True)
    labels = [int(LABELS[0]), int(LABELS[1] + 1) % 10]
    szoht.attack_many(classifiers.logits, IMAGES[:2], labels, k=6, rng=1, progress=True)
    assert "1 succeeded, 1 misclassified before" in capsys.readouterr().out


@pytest.mark.parametrize("shape", [(8, 8), (1, 8, 8), (8, 8, 1), (64,), (3, 8, 8), (8, 8, 3)])
def test_pictures(shape):
    model, image = classifiers.logits, IMAGE
    if 3 in shape:
        model, axis = color, shape.index(3)
        image = np.repeat(np.expand_dims(IMAGE, axis), 3, axis=axis)
    result = attacked(model, image.reshape(shape), k=6, max_queries=500)
    figure = result.plot()
    titles = [panel.get_title() for panel in figure.axes]
    assert titles[0] == f"original: {LABEL}"
    assert titles[2] == f"adversarial: {result.adversarial_prediction}"
    assert f"{result.pixels} of 64 pixels" in titles[1]
    figure.canvas.draw()
    original, change, adversarial = (panel.images[0].get_array() for panel in figure.axes)
    plane = (1, 64) if shape == (64,) else (8, 8)
    expected = np.stack([IMAGE] * 3, axis=2) if 3 in shape else IMAGE.reshape(plane)
    assert np.array_equal(original, expected)
    assert adversarial.shape == original.shape == change.shape
    moved = change - 0.5 if 3 in shape else change
    assert np.array_equal(np.sign(moved), np.sign(adversarial - original))


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_have_the_range_of_the_image(channels):
    image = np.repeat(IMAGE[np.newaxis] * 255, channels, axis=0)
    result = attacked(
        lambda images: classifiers.logits(images.mean(axis=1) / 255),
        image,
        high=255,
        unit="pixels",
        max_queries=300,
    )
    original, change, adversarial = (panel.images[0] for panel in result.plot().axes)
    if channels == 1:
        assert original.get_clim() == adversarial.get_clim() == (0, 255)
        assert change.get_clim() == (-result.linf, result.linf)
    else:
        assert np.allclose(original.get_array(), np.stack([IMAGE] * 3, axis=2), atol=1e-12)
        moved = np.moveaxis(result.adversarial - image, 0, 2)
        assert np.allclose(change.get_array(), 0.5 + moved / (2 * result.linf), atol=1e-12)


def test_json_holds_the_change():
    result = attacked()
    record = json.loads(json.dumps(result.as_json()))
    again = IMAGE.ravel().copy()
    again[record["coordinates"]] = record["values"]
    assert np.array_equal(again, result.adversarial.ravel())
    assert record["status"] == "SUCCESS"
    assert record["history"]["queries"][-1] == result.nfev


def test_attacks_are_imported_on_first_use_and_torch_never():
    code = (
        "import sys, szoht; assert 'szoht.problems' not in sys.modules; szoht.attack; "
        "assert 'torch' not in sys.modules; szoht.nonsense"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "has no attribute 'nonsense'" in run.stderr


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        ({"method": "sparse_rs"}, "margin"),
        ({"method": "sparse_rs", "target": 1}, "cross_entropy"),
        ({"method": "sparse_rs", "target": 1, "loss": "margin"}, "margin"),
        ({"method": "corner_search", "target": 1}, "margin"),
        ({"method": "corner_search", "loss": "cross_entropy"}, "cross_entropy"),
    ],
)
def test_targeted_sparse_rs_minimizes_the_cross_entropy(settings, loss):
    """As its authors do; the success and the margin of the result are the same in both."""
    result = attacked(label=LABEL, max_queries=20, k=2, **settings)
    scores = classifiers.logits(result.adversarial[np.newaxis])
    margin = Margin(label=LABEL, target=settings.get("target"))
    expected = margin.of(scores) if loss == "margin" else margin.cross_entropy(scores)
    assert min(result.history["best"]) == pytest.approx(expected[0])
    assert result.margin == pytest.approx(margin.of(scores)[0])


def test_the_schedule_of_sparse_rs_is_scaled_to_the_budget():
    same = attacked(method="sparse_rs", k=8, max_queries=60, options={"horizon": 60}, rng=2)
    scaled = attacked(method="sparse_rs", k=8, max_queries=60, rng=2)
    assert np.array_equal(same.adversarial, scaled.adversarial)
    algorithm = algorithms.sparse_rs(constraint=szoht.SparseBox(2, low=0.0, high=1.0))
    assert algorithm.horizon == 10_000
