"""Locks between processes: who holds them, and that they go with their holder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.locks import LockHeldError, held_locks, hold, hold_raters
from orchestration.settings import PROJECT_ROOT

HOLD = """
import sys, time
from pathlib import Path
from orchestration.locks import hold
with hold(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    time.sleep(60)
"""
RATER = "org/model, v2 (4-bit)|zero shot"


@pytest.fixture
def holder(tmp_path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), f"rater {RATER}"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_held_rater_is_refused_by_name_with_its_holder(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    message = f"locked by PID {holder.pid} .*run again"
    with pytest.raises(LockHeldError, match=message) as caught, hold_raters(tmp_path, ["another", RATER]):
        pass
    assert str(caught.value).startswith(f"rater {RATER}: ")
    assert list(held_locks(tmp_path)) == [f"rater {RATER}"]


def test_another_rater_is_free_meanwhile(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    with hold_raters(tmp_path, ["another"]):
        assert f"rater {RATER}" in held_locks(tmp_path)


def test_a_lock_goes_with_a_killed_holder(tmp_path: Path, holder: "subprocess.Popen[str]") -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert held_locks(tmp_path) == {}
    with hold(tmp_path, f"rater {RATER}"):
        pass


def test_locks_taken_one_after_the_other_are_all_given_back_when_one_is_held(
    tmp_path: Path, holder: "subprocess.Popen[str]"
) -> None:
    with pytest.raises(LockHeldError), hold_raters(tmp_path, ["a", RATER]):
        pass
    assert list(held_locks(tmp_path)) == [f"rater {RATER}"]


def test_more_raters_than_the_usual_limit_of_open_files_are_held(tmp_path: Path) -> None:
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom orchestration.locks import hold_raters\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))\n"
        "with hold_raters(Path(sys.argv[1]), [f'm|{i}' for i in range(1200)]): print('held')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT_ROOT, timeout=120, check=False)
    assert done.stdout == "held\n", done.stderr[-500:]
