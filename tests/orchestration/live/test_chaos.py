"""Processes killed at bad moments, a full disk, two runs at once: nothing is lost, and the next run is green.

Readers see the old tables or the new ones at every instant, and nobody has to repair anything by hand.
"""

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestration.settings import Settings
from tests.orchestration.house.tiny import edit, raw
from tests.orchestration.live.commands import (
    contents,
    finish,
    generations,
    has_open,
    kill_group,
    run,
    start,
    undisturbed,
)
from tests.orchestration.live.control import wait_for

pytestmark = pytest.mark.slow

DIES_BEFORE_RENAME = """
import os, signal
from pathlib import Path
from orchestration import publish
swap = publish._swap
def killed(aside, target):
    if target.name == "NAME.duckdb":
        os.kill(os.getpid(), signal.SIGKILL)
    swap(aside, target)
publish._swap = killed
"""


@pytest.mark.parametrize("name", ["public", "analyst"])
def test_a_publisher_killed_between_build_and_rename_leaves_the_old_file(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    run(settings)
    before = contents(settings)
    edit(settings.shipped_registry / "banks/answers.csv", "answer 0,right", "answer 0,wrong")
    code, _ = finish(start(settings, before=DIES_BEFORE_RENAME.replace("NAME", name)))
    assert code == -signal.SIGKILL
    assert contents(settings) == before
    assert generations(settings) == ((1, 1) if name == "public" else (1, 2))
    run(settings)
    assert contents(settings) == undisturbed(settings, tmp_path)
    assert generations(settings) == (3, 3)
    assert sorted(file.name for file in settings.published.iterdir()) == ["analyst.duckdb", "public.duckdb"]


@pytest.mark.parametrize("layer", ["core", "marts"])
def test_dbt_killed_in_mid_build_fails_the_run_and_harms_nothing(
    settings: Settings, tmp_path: Path, layer: str
) -> None:
    run(settings)
    before = contents(settings)
    edit(settings.shipped_registry / "banks/answers.csv", "answer 0,right", "answer 0,wrong")
    process = start(settings)
    dbt = wait_for("dbt to build", lambda: dbt_at_work(process, layer, settings.warehouse))
    dbt.kill()
    code, printed = finish(process)
    assert code == 1
    assert "Traceback" not in printed
    assert f"dbt_{layer}" in printed
    assert contents(settings) == before
    run(settings)
    assert contents(settings) == undisturbed(settings, tmp_path)


def dbt_at_work(process: "subprocess.Popen[str]", layer: str, warehouse: Path) -> psutil.Process | None:
    """Return the dbt that builds a layer for a run, once it has the warehouse open."""
    assert process.poll() is None
    for child in psutil.Process(process.pid).children(recursive=True):
        command = child.cmdline()
        builds = "--select" in command and layer in " ".join(command[command.index("--select") :])
        if builds and has_open(child, warehouse):
            return child
    return None


def test_ten_kills_of_a_whole_run_at_random_moments_lose_nothing(settings: Settings, tmp_path: Path) -> None:
    began = time.monotonic()
    expected = undisturbed(settings, tmp_path)
    seconds = time.monotonic() - began
    moments = random.Random(20260401)
    for _ in range(10):
        process = start(settings, "--force")
        with suppress(subprocess.TimeoutExpired):
            process.wait(moments.uniform(0.0, seconds))
        kill_group(process)
    run(settings)
    assert contents(settings) == expected
    asked = "select count(*), count(distinct request_id), max(attempt) from raw.responses"
    n_planned = len(expected["core.response_matrix"])
    assert raw(settings, asked).rows() == [(n_planned, n_planned, 1)]


def test_two_runs_at_once_wait_for_each_other_or_say_why_not(settings: Settings, tmp_path: Path) -> None:
    processes = [start(settings), start(settings)]
    ends = [finish(process) for process in processes]
    for code, printed in ends:
        assert "Traceback" not in printed
        assert code == 0 or "locked by PID" in printed or "held by PID" in printed, printed
    assert min(code for code, _ in ends) == 0
    run(settings)
    assert contents(settings) == undisturbed(settings, tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """Return a disk of its own with little room; None where this user may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=150m", "tmpfs", disk], capture_output=True).returncode:
        yield None
        return
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_fails_the_run_and_harms_nothing(
    settings: Settings, tmp_path: Path, small_disk: Path | None
) -> None:
    if small_disk is not None:
        settings = Settings(home=small_disk / "home", data=None, shipped_registry=settings.shipped_registry)
    run(settings)
    before = contents(settings)
    edit(settings.shipped_registry / "recorded/grades.csv", "m|a,m|b", "m|a,m|c")
    with out_of_room(settings, small_disk) as limit:
        code, printed = finish(start(settings, limit=limit))
    assert code != 0
    assert "Traceback" not in printed
    assert any(sign in printed for sign in ("space", "File too large", "disk", "truncate")), printed
    assert contents(settings) == before
    run(settings)
    assert contents(settings) == undisturbed(settings, tmp_path)


class out_of_room:  # noqa: N801 - reads as a statement
    """Leave no room on a disk, or for any file beyond the working database, while the block lasts."""

    def __init__(self, settings: Settings, disk: Path | None) -> None:
        self.settings, self.filler = settings, None if disk is None else disk / "filler"

    def __enter__(self) -> int | None:
        if self.filler is None:
            return self.settings.warehouse.stat().st_size
        with self.filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"0" * 100_000)
            except OSError:
                pass
        return None

    def __exit__(self, *_: object) -> None:
        if self.filler is not None:
            self.filler.unlink()
