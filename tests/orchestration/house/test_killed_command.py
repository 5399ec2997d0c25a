"""R13, R15: `thetahouse run` killed at 60 % of its second model of three, run again, and run once more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from dagster import DagsterInstance
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from inference.identity import encode_file_name
from inference.landing import chunk_files
from orchestration.assets.raw import RESPONSES
from orchestration.local import prepare_dagster_home
from orchestration.partitions import RATERS, partition_of
from orchestration.runs import clear_killed_runs
from orchestration.settings import PROJECT_ROOT, Settings
from tests.orchestration.house.tiny import raw

N_ITEMS = 200
MODELS = ("model, v2 (4-bit)", "org/model-a", "z")
TOO_LONG = {"0003", "0150"}
RUN = """
import sys, time
from inference.engines import failed
from inference.engines.recorded import RecordedEngine
from orchestration import house
from orchestration.cli import main

complete = RecordedEngine.complete

def slowly(self, requests):
    for completion in complete(self, noted(requests)):
        time.sleep(0.002)
        item = known[completion.request_id]
        yield failed(completion.request_id, "permanent", "too_long", "257 tokens") if item in TOO_LONG else completion

def noted(requests):
    for request in requests:
        known[request.request_id] = request.item_id
        with open(log, "a") as asked:
            asked.write(f"{request.rater.row.model}\\t{request.request_id}\\n")
        yield request

known, log, TOO_LONG = {}, sys.argv.pop(1), {"0003", "0150"}
RecordedEngine.complete = slowly
journal = house.Journal
house.Journal = lambda folder: journal(folder, rows_per_chunk=20)
main()
"""
ROWS = "select * exclude (chunk_id, finished_at) from raw.responses order by attempt_id"


def write_files(registry: Path) -> None:
    """Give the registry three recorded models, one file each, and enough items."""
    ids = [f"{i:04d}" for i in range(N_ITEMS)]
    answers = "".join(f"{item},q1,test,answer {item},{'right' if i % 3 else 'wrong'}\n" for i, item in enumerate(ids))
    (registry / "banks/answers.csv").write_text("id,question,split,answer,label\n" + answers)
    (registry / "recorded/grades.csv").unlink()
    entries = []
    for number, model in enumerate(MODELS):
        said = "".join(f"{item},{'right' if (i + number) % 4 else 'wrong'}\n" for i, item in enumerate(ids))
        (registry / f"recorded/grades{number}.csv").write_text(f'id,"{model}|x"\n{said}')
        entries.append(
            f"grades{number}:\n  title: Grades\n  dataset: tiny_labels\n  collection: grades\n"
            f"  table: {{file: grades{number}.csv}}\n  item_id: id\n  blank: not_recorded\n"
        )
    (registry / "recorded/old.yml").write_text("".join(entries))


class Runs:
    """Runs the command in processes of its own and knows what each of them asked."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self.log = log
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
        home, registry = str(settings.home), str(settings.shipped_registry)
        self._environment = kept | {"THETAHOUSE_HOME": home, "THETAHOUSE_REGISTRY": registry, "OMP_NUM_THREADS": "1"}

    def start(self) -> "subprocess.Popen[str]":
        self.log.write_text("")
        return subprocess.Popen(
            [sys.executable, "-c", RUN, str(self.log), "run"], cwd=PROJECT_ROOT, env=self._environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def asked(self, model: str | None = None) -> list[str]:
        """Return the requests that the last run has asked."""
        lines = [line.split("\t") for line in self.log.read_text().splitlines() if "\t" in line]
        return [request for of_model, request in lines if model in (None, of_model)]

    def finish(self) -> str:
        process = self.start()
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output
        return output

    def kill_at(self, model: str, share: float) -> None:
        process = self.start()
        while len(self.asked(model)) < share * N_ITEMS:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def partitions(settings: Settings) -> dict[str, AssetPartitionStatus | None]:
    """Return the state of every model's partition, as the control room shows it."""
    prepare_dagster_home(settings)
    with DagsterInstance.get() as instance:
        clear_killed_runs(instance)
        keys = [partition_of(encode_rater(model)) for model in MODELS]
        found = instance.get_status_by_partition(RESPONSES, keys, RATERS)
        return dict(zip(MODELS, (found.get(key) for key in keys), strict=True))


def encode_rater(model: str) -> str:
    return f"{model}|x"


def chunks_of(settings: Settings, model: str) -> dict[str, bytes]:
    folder = settings.landing / encode_file_name(encode_rater(model))
    return {path.name: path.read_bytes() for path in chunk_files(settings.landing) if path.parent == folder}


@pytest.mark.slow
def test_r13_r15_a_killed_run_asks_only_what_is_missing_and_shows_what_is_not_complete(
    settings: Settings, registry: Path, tmp_path: Path
) -> None:
    write_files(registry)
    runs = Runs(settings, tmp_path / "asked.log")
    first, second, third = MODELS
    runs.kill_at(second, 0.6)
    assert (len(runs.asked(first)), len(runs.asked(third))) == (N_ITEMS, 0)
    states = partitions(settings)
    assert states[first] is AssetPartitionStatus.MATERIALIZED
    assert states[second] is AssetPartitionStatus.FAILED
    assert states[third] is None
    in_chunks = {r for path in chunk_files(settings.landing) for r in pl.read_parquet(path)["request_id"]}
    before = chunks_of(settings, first)
    rows_before = raw(settings, ROWS).filter(pl.col("rater_id") == encode_rater(first))
    assert rows_before.height == N_ITEMS

    output = runs.finish()
    missing = 3 * N_ITEMS - len(in_chunks)
    assert f"asked 0 requests, read {missing} recorded responses;" in output
    assert len(runs.asked()) == len(set(runs.asked())) == missing
    assert not set(runs.asked()) & in_chunks
    assert runs.asked(first) == []
    assert chunks_of(settings, first) == before
    rows = raw(settings, ROWS)
    assert rows.filter(pl.col("rater_id") == encode_rater(first)).equals(rows_before)
    assert (rows.height, rows["request_id"].n_unique(), rows["attempt"].max()) == (3 * N_ITEMS, 3 * N_ITEMS, 1)
    assert set(partitions(settings).values()) == {AssetPartitionStatus.MATERIALIZED}

    # what has failed for good is not asked for again, and keeps no run from being green
    assert set(rows.filter(pl.col("error_kind") == "permanent")["item_id"]) == TOO_LONG
    assert runs.finish().startswith("nothing new: asked 0")
    assert runs.asked() == []
