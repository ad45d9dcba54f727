"""Files from strangers, with checksums that are right: an error of ours, and nothing is run."""

import io
import json
import shutil
import sqlite3
import struct
import warnings
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app
from szoht.errors import EncodingError, StoreFileError, SzohtError
from szoht.operators import Operator
from szoht.run import external as remote
from szoht.schedules import Schedule
from szoht.store.codec import Encoded, decode, encode
from szoht.types import Vector

D = 12


def fun(x):
    return float(((x - np.eye(D)[4]) ** 2).sum())


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A store with a run whose points are evaluated elsewhere, some of them answered."""
    path = tmp_path_factory.mktemp("original") / "runs.db"
    run = szoht.AskTell(np.zeros(D), k=2, method="szoht", options={"q": 4}, max_queries=60, rng=0)
    with szoht.Store(path) as file:
        name = remote.begin(file, run, np.zeros(D), limits={"max_queries": 60})
        for count in (None, None, 2):
            points = remote.waiting(file, name)[:count]
            remote.answer(file, name, [remote.Reply(p.id, fun(p.x)) for p in points])
    return path


@pytest.fixture
def store(original, tmp_path):
    return Path(shutil.copy(original, tmp_path))


def program(canary):
    return {
        "record": "program",
        "fields": {
            "command": {"tuple": ["sh", "-c", f"echo 1 | tee -a {canary}"]},
            "input": "json",
        },
    }


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def read(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()


def rewrite_settings(path, edit):
    """Change the tree of the settings, and the checksum with it."""
    text, arrays = read(path, "SELECT settings, arrays FROM runs")
    entries = dict(json.loads(text)["dict"])
    edited = edit(entries)
    if edited is None:
        edited = json.dumps({"dict": [list(item) for item in entries.items()]})
    write_settings(path, edited, arrays)


def write_settings(path, text, arrays):
    crc = zlib.crc32(arrays, zlib.crc32(text.encode()))
    change(path, "UPDATE runs SET settings = ?, arrays = ?, crc = ?", text, arrays, crc)


def rewrite_snapshot(path, **columns):
    names = ("round", "summary", "state", "arrays")
    row = dict(zip(names, read(path, "SELECT * FROM snapshots")[1:5], strict=True))
    row |= columns
    text = f"{row['round']} {row['summary']} {row['state']}"
    crc = zlib.crc32(row["arrays"], zlib.crc32(text.encode()))
    change(
        path,
        "UPDATE snapshots SET round = ?, summary = ?, state = ?, arrays = ?, crc = ?",
        *(row[name] for name in names),
        crc,
    )


def use(path):
    """Do all that never runs anything; return the errors."""
    errors = []

    def attempt(action):
        try:
            action()
        except SzohtError as error:
            errors.append(error)

    def opened(action):
        with szoht.Store(path, create=False) as file:
            action(file)

    def name(file):
        return file.find()

    reply = remote.Reply(remote.PointId("zzzzzz", 2, 3), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attempt(lambda: opened(lambda file: file.runs()))
        attempt(lambda: opened(lambda file: file.snapshot(name(file))))
        attempt(lambda: opened(lambda file: file.faults(name(file))))
        attempt(lambda: opened(lambda file: remote.replay(file, name(file)).result))
        attempt(lambda: opened(lambda file: remote.waiting(file, name(file))))
        attempt(lambda: opened(lambda file: remote.answer(file, name(file), [reply])))
        attempt(lambda: szoht.resume(path, fun))
        attempt(lambda: szoht.AskTell(np.zeros(D), k=2, known=path, max_queries=60, rng=0))
        for command in (["runs"], ["runs", "--json"], ["report"], ["ask"], ["tell"]):
            result = CliRunner().invoke(app, [command[0], str(path), *command[1:]], input="")
            assert result.exception is None or isinstance(result.exception, SystemExit)
    return errors


def in_method(*where, to):
    """Return an edit that puts something at a place of the stored method."""

    def edit(entries):
        tree = entries["method"]["fields"]
        for step in where[:-1]:
            tree = tree[step]["fields"]
        tree[where[-1]] = to

    return edit


def entry(name, value):
    return lambda entries: entries.update({name: value})


@pytest.mark.parametrize(
    "where",
    [
        ("estimator", "mu"),
        ("estimator", "q"),
        ("estimator", "support_size"),
        ("estimator",),
        ("sampler",),
        ("update",),
        ("update", "operator"),
        ("update", "operator", "k"),
    ],
)
def test_a_program_where_another_part_belongs(store, canary, where):
    rewrite_settings(store, in_method(*where, to=program(canary)))
    errors = use(store)
    assert not canary.exists()
    assert any("'program' does not belong where" in str(error) for error in errors)


@pytest.mark.parametrize("name", ["method", "stop", "x0", "function", "limits"])
def test_a_program_in_place_of_an_entry(store, canary, name):
    rewrite_settings(store, entry(name, program(canary)))
    errors = use(store)
    assert not canary.exists()
    assert any("'program' does not belong where" in str(error) for error in errors)


def test_a_program_as_the_source_is_not_started_by_looking(store, canary):
    rewrite_settings(store, entry("source", program(canary)))
    assert use(store) == []
    assert not canary.exists()
    with szoht.Store(store) as file:
        assert isinstance(file.spec(file.find()).source, szoht.Program)


def test_a_schedule_that_runs_a_program_is_not_stored_in_the_first_place(tmp_path, canary):
    """As in the file that showed the fault: the method must then be given again."""
    path = tmp_path / "evil.db"
    command = ["sh", "-c", f"echo ran >> {canary}; echo 0.01"]
    mu = szoht.Program(command=command, input="npy")
    settings = {"k": 2, "method": "szoht", "options": {"mu": mu, "q": 4}, "rng": 0}
    szoht.minimize(fun, np.zeros(D), max_queries=30, store=path, **settings)
    canary.unlink()
    errors = use(path)
    assert not canary.exists()
    assert any("`method` must be given again" in str(error) for error in errors)


def npy(header, data=b""):
    header = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


def header(shape, descr="<f8", order="False"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def object_array():
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([{}]), allow_pickle=True)
    return file.getvalue()


ARRAYS = {
    "74 GiB": npy(header("(10000000000,)"), b"\0" * 96),
    "more than any": npy(header("(999999999999999999, 999999999999999999)"), b"\0" * 96),
    "nothing, but large": npy(header("(0, 999999999999999999, 99999999999)")),
    "negative": npy(header("(-12,)"), b"\0" * 96),
    "70 dimensions": npy(header(f"({'1, ' * 70})"), b"\0" * 8),
    "objects": object_array(),
    "text": npy(header("(12,)", "<U8"), b"\0" * 384),
    "unknown": npy(header("(12,)", "<f3"), b"\0" * 384),
    "truncated": npy(header("(12,)"), b"\0" * 90),
    "an expression": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2**9999,), }"),
    "brackets": npy("(" * 9000),
    "half a header": b"\x93NUMPY\x01\x00\xff",
    "another version": b"\x93NUMPY\x03\x00" + npy(header("(12,)"), b"\0" * 96)[8:],
    "no array": b"hello",
    "many": npy(header("(0,)")) * 20_000,
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(store, kind):
    text, _ = read(store, "SELECT settings, arrays FROM runs")
    write_settings(store, text, ARRAYS[kind])
    errors = use(store)
    assert any("an array" in str(error) for error in errors)
    with pytest.raises(EncodingError, match="an array"):
        decode(Encoded('{"array": 0}', ARRAYS[kind]), Vector)


def nested(depth, inner, before, after):
    return before * depth + inner + after * depth


TREES = {
    "lists": nested(10_000, "", "[", "]"),
    "dicts": nested(10_000, "1", '{"dict": [["a", ', "]]}"),
    "tuples": nested(100, "1", '{"tuple": [', "]}"),
    "rules": nested(200, "", '{"record": "any_of", "fields": {"rules": {"tuple": [', "]}}}"),
    "a method's name": '{"value": [1, 2]}',
    "a private name": '{"__class__": []}',
    "a name with a bar": '{"_record": "sparse", "fields": {}}',
    "nothing": "{}",
    "a record without fields": '{"record": "sparse"}',
    "a record with a list": '{"record": "sparse", "fields": [3]}',
    "a record whose name is a list": '{"record": ["sparse"], "fields": {}}',
    "a record with too much": '{"record": "sparse", "fields": {"k": 3, "l": 4}}',
    "a record with too little": '{"record": "sparse", "fields": {}}',
    "a record with other kinds": '{"record": "sparse", "fields": {"k": "3"}}',
    "a record with an array": '{"record": "sparse", "fields": {"k": {"array": 0}}}',
    "an enumeration": '{"member": "szoht.result:Status", "name": "FAILED"}',
    "array -1": '{"array": -1}',
    "array 7": '{"array": 7}',
    "array true": '{"array": true}',
    "array 0.5": '{"array": 0.5}',
    "array null": '{"array": null}',
    "a tuple of nothing": '{"tuple": null}',
    "a dict of nothing": '{"dict": null}',
    "a dict of numbers": '{"dict": [1, 2]}',
    "a dict with an unhashable key": '{"dict": [[[1], 2]]}',
    "a long number": "9" * 5000,
    "half a text": '{"record": "spar',
}


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("where", ["all", "method", "limits", "source"])
def test_trees(store, kind, where):
    tree = TREES[kind]

    def edit(entries):
        if where == "all":
            return tree
        rows = [[name, f"<{name}>" if name == where else value] for name, value in entries.items()]
        return json.dumps({"dict": rows}).replace(f'"<{where}>"', tree)

    rewrite_settings(store, edit)
    with szoht.Store(store) as file, pytest.raises(szoht.errors.RunMismatchError):
        file.spec(file.find())
    if where in ("all", "method"):
        assert use(store)


ENTRIES = {
    "x0 of text": ("x0", "0"),
    "x0 of numbers": ("x0", [0.0] * D),
    "a rule for a method": ("method", {"record": "stalled", "fields": {"iterations": 3}}),
    "a text for a seed": ("seed", "7"),
    "a negative seed": ("seed", -7),
    "a limit of a callback": ("limits", {"dict": [["callback", None]]}),
    "a limit of text": ("limits", {"dict": [["max_queries", "many"]]}),
    "a limit of nothing": ("limits", {"dict": [["max_queries", 0]]}),
    "a limit that is infinite": ("limits", {"dict": [["max_queries", float("inf")]]}),
    "an unknown way of failing": ("on_error", "explode"),
    "samples": ("n_samples", -3),
    "a fingerprint without a name": ("function", {"dict": [["python", "3.11"]]}),
    "a fingerprint of numbers": ("function", {"dict": [["name", 1], ["python", 3]]}),
    "a sparse start of a dense method": (
        "x0",
        {"record": "sparse_vector", "fields": {"size": 10**15}},
    ),
    "too few entries": ("x0", {"record": "sparse_vector", "fields": {"size": 0}}),
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_entries(store, kind):
    rewrite_settings(store, entry(*ENTRIES[kind]))
    assert use(store)


def test_more_points_than_can_be_are_not_listed(store):
    def edit(entries):
        entries["method"]["fields"]["estimator"]["fields"]["q"] = 10**13
        entries["limits"] = {"dict": [["max_queries", 10**14]]}

    rewrite_settings(store, edit)
    assert use(store)


@pytest.mark.parametrize("kind", ["something new", "no method"])
def test_what_another_version_stores_is_no_obstacle(store, kind):
    """A method that cannot be read is made again, as the user asked for it."""
    changed = ("something_new", 1) if kind == "something new" else ("method", None)
    rewrite_settings(store, entry(*changed))
    assert not use(store)


@pytest.mark.parametrize("name", ["os:system", "szoht.run.minimize:minimize", "subprocess:run"])
def test_nothing_that_python_has_is_made_from_a_name(store, name):
    """A record that is not known is none, whatever it is called: the request takes its place."""
    rewrite_settings(store, entry("method", {"record": name, "fields": {}}))
    with szoht.Store(store) as file:
        assert file.spec(file.find()).method is None
    rewrite_settings(store, entry("stop", {"record": name, "fields": {}}))
    assert use(store)


@pytest.mark.parametrize("name", ["x0", "seed", "limits", "method"])
def test_an_entry_that_is_missing(store, name):
    rewrite_settings(store, lambda entries: [entries.pop(name), None][1])
    assert use(store)


@pytest.mark.parametrize(
    "numbers",
    [{"q": -1}, {"q": 0.5}, {"mu": 0}, {"mu": 1e400}, {"support_size": 99}],
)
def test_numbers_that_fit_no_run(store, numbers):
    def edit(entries):
        entries["method"]["fields"]["estimator"]["fields"].update(numbers)
        entries["limits"] = {"dict": [["max_queries", 10**14]]}

    rewrite_settings(store, edit)
    assert use(store)


@pytest.mark.parametrize(
    "columns",
    [
        {"summary": "[]"},
        {"summary": "{"},
        {"summary": "[" * 5000},
        {"summary": '{"queries": "all"}'},
        {"summary": '{"best": [1]}'},
        {"summary": f'{{"best": {10**400}}}'},
        {"summary": f'{{"best": -{10**309}}}'},
        {"summary": '{"best": true}'},
        {"summary": '{"iteration": 1e9}'},
        {"state": "[]"},
        {"state": "{}"},
        {"state": '{"dict": [["iteration", 1]]}'},
        {"state": '{"dict": [["iteration", 1], ["x", 2.0], ["best", null]]}'},
        {"state": '{"dict": [["iteration", 1], ["x", {"array": 99}], ["best", null]]}'},
        {"arrays": ARRAYS["74 GiB"]},
        {"arrays": b""},
    ],
)
def test_snapshots(store, columns):
    rewrite_snapshot(store, **columns)
    errors = use(store)
    assert errors
    assert all(isinstance(error, StoreFileError) for error in errors)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "BOGUS"),
        ("started", "yesterday"),
        ("started", 7),
        ("seed", "seven"),
        ("seed", "9" * 5000),
        ("d", "many"),
        ("k", b"2"),
        ("seconds", "long"),
        ("seconds", float("inf")),
        ("seconds", -1.0),
        ("id", b"\xff"),
        ("algorithm", b"\0"),
        ("function", b"\0"),
        ("settings", b"\0"),
        ("arrays", "text"),
        ("crc", "sum"),
    ],
)
def test_columns(store, column, value):
    change(store, f"UPDATE runs SET {column} = ?", value)  # noqa: S608
    errors = use(store)
    assert errors
    assert all(isinstance(error, StoreFileError) for error in errors)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_moments_beyond_the_calendar(store, moment):
    change(store, "UPDATE runs SET started = ?", moment)
    assert use(store) == []
    assert moment in CliRunner().invoke(app, ["runs", str(store)], env={"COLUMNS": "200"}).output


def journal_that_names(file, n_pages):
    """Return the journal of a transaction over several files, which this one holds together."""
    magic = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    start = magic + struct.pack(">5I", 0, 7, n_pages, 512, 4096)
    name = str(file).encode()
    page = struct.pack(">I", 2**30 // 4096 + 1)
    return start.ljust(512, b"\0") + page + name + struct.pack(">2I", len(name), sum(name)) + magic


@pytest.mark.parametrize("whole", [True, False])
def test_a_journal_that_names_a_file_of_ours(store, whole):
    """SQLite deletes that file once it has rolled the transaction back."""
    ours = store.with_name("ours.txt")
    ours.write_text("precious")
    journal = store.with_name(f"{store.name}-journal")
    journal.write_bytes(journal_that_names(ours, store.stat().st_size // 4096 if whole else 0))
    before = store.read_bytes()
    errors = use(store)
    assert errors
    assert all("because it names another file" in str(error) for error in errors)
    assert ours.read_text() == "precious"
    assert store.read_bytes() == before


def rewrite_answer(path, **columns):
    names = ("query", "start", "stop", "values", "gradient")
    row = read(path, "SELECT * FROM answers WHERE round = 1")[2:7]
    row = dict(zip(names, row, strict=True)) | columns
    try:
        crc = zlib.crc32(b"%d %d %d" % tuple(row[name] for name in names[:3]))
        crc = zlib.crc32(row["gradient"] or b"", zlib.crc32(row["values"], crc))
    except TypeError:
        crc = 0
    change(path, "DELETE FROM answers WHERE round = 1 AND query = 0 AND start = 0")
    change(
        path,
        "INSERT OR REPLACE INTO answers VALUES (1, 1, ?, ?, ?, ?, ?, ?)",
        *(row[name] for name in names),
        crc,
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"query": 10**6},
        {"query": -1},
        {"query": "none"},
        {"start": -3},
        {"start": 1},
        {"stop": 0},
        {"stop": 10**15},
        {"values": b""},
        {"values": b"\0" * 7},
        {"values": b"\0" * 800},
        {"values": "text"},
        {"gradient": b"\0" * 16},
        {"gradient": 0.5},
    ],
)
def test_answers(store, columns):
    rewrite_answer(store, **columns)
    errors = use(store)
    assert errors
    assert all(isinstance(error, StoreFileError) for error in errors)


@pytest.mark.parametrize("seconds", ["late", float("inf"), -1.0, b"\0"])
def test_times_of_rounds(store, seconds):
    change(store, "UPDATE rounds SET seconds = ? WHERE round = 0", seconds)
    assert any(isinstance(error, StoreFileError) for error in use(store))


def test_a_complete_round_without_answers(store):
    change(store, "DELETE FROM answers WHERE round = 0")
    assert any("has few answers" in str(error) for error in use(store))


@pytest.mark.parametrize("column", ["point", "attempt", "reason", "stderr"])
def test_faults(store, column):
    change(store, "INSERT INTO faults VALUES (NULL, 1, 0, 0, 1, 'why', 'where', 'when')")
    assert use(store) == []
    change(store, f"UPDATE faults SET {column} = ?", b"\0")  # noqa: S608
    errors = use(store)
    assert errors
    assert all(isinstance(error, StoreFileError) for error in errors)


@pytest.mark.parametrize(
    "statements",
    [
        [
            "ALTER TABLE faults RENAME TO other",
            "CREATE VIEW faults AS SELECT 1 AS number, 1 AS run, 0 AS round, 0 AS point, "
            "0 AS attempt, hex(zeroblob(1000000000)) AS reason, '' AS stderr, '' AS at",
        ],
        ["CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM answers; END"],
        ["CREATE TABLE more (x)"],
        ["DROP TABLE faults"],
        ["ALTER TABLE runs ADD COLUMN more AS (hex(zeroblob(9)))"],
        ["CREATE INDEX i ON runs (abs(d))"],
        ["PRAGMA user_version = 0"],
    ],
)
def test_other_tables(store, statements):
    for statement in statements:
        change(store, statement)
    before = store.read_bytes()
    errors = use(store)
    assert errors
    assert all(isinstance(error, StoreFileError) for error in errors)
    assert store.read_bytes() == before


def test_only_our_own_schedules_are_made(canary):
    decoded = decode(encode(szoht.schedules.OpenLoop()), Schedule)
    assert decoded == szoht.schedules.OpenLoop()
    for tree in (program(canary), {"record": "sparse", "fields": {"k": 1}}):
        with pytest.raises(EncodingError, match="does not belong where Schedule does"):
            decode(Encoded(json.dumps(tree), b""), Schedule)
    with pytest.raises(EncodingError, match="does not belong where Operator does"):
        decode(encode(szoht.schedules.OpenLoop()), Operator)


WORDS = [
    None,
    True,
    0,
    -1,
    1e308,
    10**12,
    "",
    "sphere",
    "program",
    [],
    {},
    {"array": 0},
    {"tuple": []},
    {"dict": []},
    {"record": "constant", "fields": {"value": -1.0}},
    {"record": "sparse", "fields": {"k": 2}},
    {"record": "geometric", "fields": {"start": 1e-300, "ratio": 1e-300}},
]


def mutate(tree, rng, canary):
    """Put something else at a random place of a tree."""
    places = []

    def walk(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in list(items):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(tree)
    node, key = places[rng.integers(len(places))]
    words = [*WORDS, program(canary)]
    node[key] = words[rng.integers(len(words))]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(i, marks=pytest.mark.statistical) for i in (1, 2))]
)
def test_changes_at_random_places(store, canary, seed):
    """Whatever is changed in settings, snapshots and answers: no error but ours, and no program."""
    rng = np.random.default_rng(seed)
    content = store.read_bytes()
    for _ in range(20):
        for end in ("-wal", "-shm"):
            store.with_name(store.name + end).unlink(missing_ok=True)
        store.write_bytes(content)
        for _ in range(rng.integers(1, 3)):
            what = rng.integers(3)
            if what == 0:
                text, arrays = read(store, "SELECT settings, arrays FROM runs")
                tree = json.loads(text)
                mutate(tree, rng, canary)
                write_settings(store, json.dumps(tree), arrays)
            elif what == 1:
                state, summary = read(store, "SELECT state, summary FROM snapshots")
                tree = [json.loads(state), json.loads(summary)]
                mutate(tree, rng, canary)
                rewrite_snapshot(store, state=json.dumps(tree[0]), summary=json.dumps(tree[1]))
            else:
                values = rng.bytes(8 * int(rng.integers(3)))
                rewrite_answer(store, query=int(rng.integers(-1, 3)), values=values)
        use(store)
        assert not canary.exists()
