"""Seconds and peak memory of the first, an unchanged, a forced and a one-rater run, on the demo or on outside data.

Run it with ``make bench``. Where ``THETAHOUSE_DATA`` is set the recorded grades are part of every run. State lies in a
folder of its own that is removed at the end.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

COMMAND = [sys.executable, "-c", "from orchestration.cli import main; main()"]


def measured(name: str, environment: dict[str, str], *arguments: str) -> None:
    """Run one command and print what it took; memory is the largest of all processes so far."""
    started = time.monotonic()
    done = subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    first = (done.stdout.strip() or done.stderr.strip()).splitlines()[0]
    print(f"{name:<10} {seconds:7.1f} s  peak {peak:6.0f} MiB  exit {done.returncode}  {first}", flush=True)


def one_more_rater(home: Path) -> Path:
    """Write a prediction file with one rater over the demo's labels: what another rater said, one label for all."""
    import duckdb

    with duckdb.connect(str(home / "published" / "analyst.duckdb"), read_only=True) as connection:
        ids = connection.execute("select distinct item_id from core.responses where dataset = 'demo_labels'").pl()
    file = home / "one.csv"
    ids.with_columns(pl.lit("correct").alias("constant|correct")).write_csv(file)
    return file


def main() -> None:
    """Measure the runs in order."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environment = os.environ | {"THETAHOUSE_HOME": folder}
        measured("first", environment, "run")
        measured("unchanged", environment, "run")
        measured("import", environment, "import-responses", str(one_more_rater(home)), "--dataset", "demo_labels")
        measured("one rater", environment, "run")
        measured("forced", environment, "run", "--force")


if __name__ == "__main__":
    main()
