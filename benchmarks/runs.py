"""Seconds and peak memory of the first, an unchanged, a one-rater and a forced run, on the demo and on outside data.

Run it with ``make bench``. Where ``THETAHOUSE_DATA`` is set, everything is measured a second time with the recorded
grades in every run. State lies in folders of its own that are removed at the end.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl

COMMAND = [sys.executable, "-c", "from orchestration.cli import main; main()"]


def measured(name: str, environment: dict[str, str], *arguments: str) -> None:
    """Run one command and print its wall-clock and processor seconds, and the peak of its largest process."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        output.seek(0)
        lines = output.read().strip().splitlines()
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(
        f"{name:<10} {seconds:7.1f} s  CPU {cpu:7.1f} s  peak {peak:6.0f} MiB  exit {process.returncode}  {lines[0]}",
        flush=True,
    )


def one_more_rater(home: Path) -> Path:
    """Write a prediction file with one rater over the demo's labels: one label for all."""
    with duckdb.connect(str(home / "published" / "analyst.duckdb"), read_only=True) as connection:
        ids = connection.execute("select distinct item_id from core.responses where dataset = 'demo_labels'").pl()
    file = home / "one.csv"
    ids.with_columns(pl.lit("correct").alias("constant|correct")).write_csv(file)
    return file


def measure_all(title: str, environment: dict[str, str]) -> None:
    """Measure the four runs in order, in a new home."""
    print(f"\n{title}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    with tempfile.TemporaryDirectory() as folder:
        environment = environment | {"THETAHOUSE_HOME": folder}
        measured("first", environment, "run")
        measured("unchanged", environment, "run")
        file = one_more_rater(Path(folder))
        measured("import", environment, "import-responses", str(file), "--dataset", "demo_labels")
        measured("one rater", environment, "run")
        measured("forced", environment, "run", "--force")


def main() -> None:
    """Measure the demo, and the demo with outside data where there is some."""
    demo = {name: value for name, value in os.environ.items() if name != "THETAHOUSE_DATA"}
    measure_all("demo", demo)
    if os.environ.get("THETAHOUSE_DATA"):
        measure_all("demo and recorded grades", dict(os.environ))


if __name__ == "__main__":
    main()
