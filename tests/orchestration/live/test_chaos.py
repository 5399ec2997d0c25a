"""A publisher killed at a bad moment, a full disk, two runs at once: nothing is lost, and the next run is green.

Readers see the old tables or the new ones at every instant, and nobody has to repair anything by hand.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from orchestration.settings import PROJECT_ROOT, Settings
from tests.orchestration.house.tiny import edit

pytestmark = pytest.mark.slow

RUN = "from orchestration.cli import main; main()"
TABLES = (
    "core.items",
    "core.response_matrix",
    "core.responses",
    "psychometrics.ctt_items",
    "psychometrics.irt_items",
    "psychometrics.irt_raters",
    "marts.leaderboard",
    "marts.rater_agreement",
)
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
SECONDS = 600


def start(settings: Settings, before: str = "", limit: int | None = None) -> "subprocess.Popen[str]":
    """Start ``thetahouse run``; perhaps after other statements, perhaps with a limit to the size of any file."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
    environment |= {"THETAHOUSE_HOME": str(settings.home), "THETAHOUSE_REGISTRY": str(settings.shipped_registry)}
    command = [sys.executable, "-c", before + RUN, "run"]
    return subprocess.Popen(
        command, env=environment | {"OMP_NUM_THREADS": "1"}, cwd=PROJECT_ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for the end; return exit code and everything printed."""
    try:
        printed = "".join(process.communicate(timeout=SECONDS))
    finally:
        kill_group(process)
    return process.returncode, printed


def kill_group(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(settings: Settings) -> str:
    """Run to a good end."""
    code, printed = finish(start(settings))
    assert code == 0, printed
    return printed


def contents(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect(str(settings.analyst), read_only=True) as connection:
        return {table: connection.execute(f"from {table} order by all").fetchall() for table in TABLES}


def generations(settings: Settings) -> tuple[int, int]:
    """Return the refresh that each published file is of."""
    found = []
    for file in (settings.analyst, settings.public):
        with duckdb.connect(str(file), read_only=True) as connection:
            found.append(connection.execute("select max(generation) from meta.refreshes").fetchall()[0][0])
    return found[0], found[1]


def undisturbed(settings: Settings, folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what the same registry gives in a fresh installation."""
    apart = Settings(home=folder / "undisturbed", data=None, shipped_registry=settings.shipped_registry)
    run(apart)
    return contents(apart)


@pytest.mark.parametrize("name", ["public", "analyst"])
def test_a_publisher_killed_between_build_and_rename_leaves_the_old_file(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    run(settings)
    before = contents(settings)
    edit(settings.shipped_registry / "banks/answers.csv", "answer 0,right", "answer 0,wrong")
    code, _ = finish(start(settings, DIES_BEFORE_RENAME.replace("NAME", name)))
    assert code == -signal.SIGKILL
    assert contents(settings) == before
    assert generations(settings) == ((1, 1) if name == "public" else (1, 2))
    run(settings)
    assert contents(settings) == undisturbed(settings, tmp_path)
    assert generations(settings) == (3, 3)
    assert sorted(file.name for file in settings.published.iterdir()) == ["analyst.duckdb", "public.duckdb"]


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
