"""``thetahouse run`` as a person starts it, in a process of its own, and what it published.

Holds starting, ending and reading. Holds no claims.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import psutil

from orchestration.settings import PROJECT_ROOT, Settings

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
SECONDS = 600


def start(settings: Settings, *options: str, before: str = "", limit: int | None = None) -> "subprocess.Popen[str]":
    """Start ``thetahouse run``; perhaps after other statements, perhaps with a limit to the size of any file."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
    environment |= {"THETAHOUSE_HOME": str(settings.home), "THETAHOUSE_REGISTRY": str(settings.shipped_registry)}
    command = [sys.executable, "-c", before + RUN, "run", *options]
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
    """Kill a run and what it has started, without a word of warning."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def has_open(process: psutil.Process, file: Path) -> bool:
    """Tell whether a process has a file open."""
    return any(opened.path == str(file) for opened in process.open_files())


def run(settings: Settings, *options: str) -> str:
    """Run to a good end."""
    code, printed = finish(start(settings, *options))
    assert code == 0, printed
    return printed


def contents(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of the published tables, but not how long a server took to answer."""
    columns = "columns(name -> name != 'latency_seconds')"
    with duckdb.connect(str(settings.analyst), read_only=True) as connection:
        return {table: connection.execute(f"select {columns} from {table} order by all").fetchall() for table in TABLES}


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
