"""Latency and errors of readers: 50 queries a second from four processes while the house refreshes five times.

Run it with ``python benchmarks/readers.py``: it runs the demo in a folder of its own, then forces five refreshes with
readers beside them. Each query opens the analysts' file read-only, as an analyst's notebook would, and closes it again.
Two times are printed: how long an answer took, and how long it came after the moment at which its query was due, which
shows readers that fall behind because the machine is too busy.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

import duckdb
import numpy as np

COMMAND = [sys.executable, "-c", "from orchestration.cli import main; main()"]
N_PROCESSES, QUERIES_PER_SECOND, N_REFRESHES = 4, 50.0, 5
QUERIES = (
    "select rater_id, rank, theta, theta_se, accuracy from marts.leaderboard order by dataset, rank",
    "select dataset, status, count(*) from core.response_matrix group by all order by all",
    "select dataset, item_id, facility, b from marts.item_quality order by b desc nulls last limit 20",
    "select rater_id, scope, qwk, accuracy from marts.rater_agreement where scope = 'pooled' order by all",
    "select model, avg(is_correct) from core.response_matrix join core.raters using (rater_id) group by 1 order by 1",
)


@dataclass(frozen=True, slots=True)
class Readings:
    """What readers met."""

    seconds: np.ndarray
    """From opening the file to the answer in hand, per query, in seconds."""
    late_seconds: np.ndarray
    """From the moment at which a query was due to its answer, in seconds."""
    errors: tuple[str, ...]
    """Every error, verbatim."""
    generations: frozenset[int]
    """Refreshes that were seen."""


def read_until(file: Path, ended: Event, per_second: float, first: int) -> Readings:
    """Query at a steady pace until told to stop."""
    took, late, errors, generations = [], [], [], set()
    due, number = time.monotonic(), first
    while not ended.is_set():
        due += 1 / per_second
        time.sleep(max(0.0, due - time.monotonic()))
        number, begun = number + 1, time.monotonic()
        try:
            with closing(duckdb.connect(str(file), read_only=True)) as connection:
                connection.execute("set threads = 1")
                assert connection.execute(QUERIES[number % len(QUERIES)]).fetchall()
                generations.add(connection.execute("select max(generation) from meta.refreshes").fetchall()[0][0])
        except Exception as error:
            errors.append(repr(error))
        took.append(time.monotonic() - begun)
        late.append(time.monotonic() - due)
    return Readings(np.array(took), np.array(late), tuple(errors), frozenset(generations))


def _reader(file: Path, ended: Event, per_second: float, first: int, results: "multiprocessing.Queue[object]") -> None:
    results.put(read_until(file, ended, per_second, first))


def read_beside(file: Path, refreshes: Sequence[list[str]], environment: dict[str, str]) -> Readings:
    """Read from four processes while commands run one after another."""
    context = multiprocessing.get_context("spawn")
    ended, results = context.Event(), context.Queue()
    pace = QUERIES_PER_SECOND / N_PROCESSES
    readers = [context.Process(target=_reader, args=(file, ended, pace, i, results)) for i in range(N_PROCESSES)]
    for reader in readers:
        reader.start()
    try:
        for command in refreshes:
            subprocess.run(command, env=environment, check=True, capture_output=True)
    finally:
        ended.set()
    found: list[Readings] = [results.get(timeout=120) for _ in readers]
    for reader in readers:
        reader.join()
    return Readings(
        seconds=np.concatenate([reader.seconds for reader in found]),
        late_seconds=np.concatenate([reader.late_seconds for reader in found]),
        errors=tuple(error for reader in found for error in reader.errors),
        generations=frozenset().union(*(reader.generations for reader in found)),
    )


def described(found: Readings, seconds: float, file: Path) -> str:
    """Return what readers met in one line."""
    p50, p95, p99 = np.quantile(found.seconds, [0.5, 0.95, 0.99]) * 1000
    late = np.quantile(found.late_seconds, 0.95) * 1000
    return (
        f"{found.seconds.size:,} queries in {seconds:.0f} s ({found.seconds.size / seconds:.1f} a second, file of "
        f"{file.stat().st_size / 1e6:.1f} MB), {len(found.generations)} refreshes seen; {len(found.errors)} errors; "
        f"answered in p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, longest {found.seconds.max():.1f} s; "
        f"p95 from when it was due {late:.0f} ms; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )


def main() -> None:
    """Run the demo, read beside five refreshes, print."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"THETAHOUSE_HOME": folder}
        subprocess.run([*COMMAND, "run"], env=environment, check=True, capture_output=True)
        file, started = Path(folder) / "published" / "analyst.duckdb", time.monotonic()
        found = read_beside(file, [[*COMMAND, "run", "--force"]] * N_REFRESHES, environment)
        print(described(found, time.monotonic() - started, file))
        for error in found.errors[:5]:
            print(error)


if __name__ == "__main__":
    main()
