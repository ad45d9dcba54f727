"""Which folders in the shared temporary folder are acted upon, and which are left alone."""

import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

import szoht
from szoht.evaluation import program_folders
from szoht.evaluation.program_folders import (
    PID_FILE,
    TaskCancelled,
    cancel_programs,
    end_program,
    kill_programs,
    program_folder,
    task_scope,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups")


@pytest.fixture(autouse=True)
def shared(tmp_path, monkeypatch):
    monkeypatch.setattr(program_folders, "gettempdir", lambda: str(tmp_path))
    return tmp_path


@pytest.fixture
def program():
    code = "import time; time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def folder_of(shared, text, run="run"):
    folder = shared / f"szoht-{run}-7-tag-x"
    folder.mkdir()
    (folder / PID_FILE).write_text(text)
    return folder


def test_a_folder_of_this_user_is_ended(shared, program):
    folder = folder_of(shared, f"{program.pid}\n")
    kill_programs("run", 7)
    assert program.wait(10) == -9
    assert not folder.exists()


def test_a_folder_of_another_user_is_left_alone(shared, program, monkeypatch):
    folder = folder_of(shared, f"{program.pid}\n")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    kill_programs("run", 7)
    assert program.poll() is None
    assert folder.exists()


def test_a_link_to_a_folder_is_left_alone(shared, program):
    target = shared / "elsewhere"
    target.mkdir()
    (target / PID_FILE).write_text(f"{program.pid}\n")
    link = shared / "szoht-run-7-tag-x"
    link.symlink_to(target)
    kill_programs("run", 7)
    assert program.poll() is None
    assert link.exists()


@pytest.mark.parametrize(
    "text", ["garbage\n", "\n", "-1\n", "0\n", "1 2\n", "1e3\n", f"{2**32}\n", "\x00\n"]
)
def test_a_process_group_that_is_no_number_is_ignored(shared, text, monkeypatch):
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("a process group was killed"))
    folder = folder_of(shared, text)
    assert end_program(folder)
    assert list(shared.iterdir()) == []


def test_bytes_that_are_no_text_are_ignored(shared, monkeypatch):
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("a process group was killed"))
    folder = folder_of(shared, "")
    (folder / PID_FILE).write_bytes(b"\xff\xfe\n")
    assert end_program(folder)


def test_a_file_that_looks_like_a_folder_is_left_alone(shared):
    mark = shared / "szoht-run-7-mark"
    mark.touch()
    kill_programs("run", 7)
    assert mark.exists()


def made_by_another(path, monkeypatch):
    path.touch()
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)


def test_a_mark_of_this_user_cancels_a_run(shared):
    (shared / "szoht-run").touch()
    with task_scope("run", 7), pytest.raises(TaskCancelled), program_folder():
        pytest.fail("the program was started")


def test_a_mark_of_another_user_stops_no_task(shared, monkeypatch):
    made_by_another(shared / "szoht-run", monkeypatch)
    with task_scope("run", 7), program_folder() as folder:
        assert folder.is_dir()


@pytest.mark.parametrize("owner", ["this user", "another"])
@pytest.mark.parametrize("name", ["szoht-0", "szoht-None", "szoht-"])
def test_no_mark_stops_what_belongs_to_no_task(shared, monkeypatch, name, owner):
    (shared / name).touch()
    if owner == "another":
        made_by_another(shared / name, monkeypatch)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    program = szoht.Program(command=[sys.executable, "-c", "print(1.5)"])
    assert program(np.zeros(2)) == 1.5
    result = szoht.minimize(program, np.zeros(3), k=1, max_queries=3, rng=0)
    assert result.nfev == 3


def test_a_run_is_cancelled_where_another_user_has_its_mark(shared, program, monkeypatch):
    folder = folder_of(shared, f"{program.pid}\n")

    def refuse(self):
        raise PermissionError

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    task = Future()
    cancel_programs("run", [task])
    assert program.wait(10) == -9
    assert not folder.exists()
    task.set_result(None)
