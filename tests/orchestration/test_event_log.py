"""The house's event log beside Dagster's own: the same files, written while they are kept open."""

import os
import subprocess
import sys
from pathlib import Path
from queue import Queue

import pytest
from dagster import AssetKey, DagsterInstance, asset, job, materialize
from dagster._core.storage.event_log import SqliteEventLogStorage

from orchestration.event_log import EventLog
from orchestration.local import open_instance, prepare_dagster_home
from orchestration.settings import PROJECT_ROOT, load_settings

REPORT_AND_DIE = """
import os, signal
from dagster import AssetMaterialization
from orchestration.local import open_instance
from orchestration.settings import load_settings
with open_instance(load_settings()) as instance:
    for n in range(20):
        instance.report_runless_asset_event(AssetMaterialization("seen", metadata={"n": n}))
    os.kill(os.getpid(), signal.SIGKILL)
"""

OPEN_AT_ONCE = """
import sys, time
from orchestration.local import open_instance, prepare_dagster_home
from orchestration.settings import load_settings
settings = load_settings()
print("ready", flush=True)
sys.stdin.readline()
prepare_dagster_home(settings)
with open_instance(settings) as instance:
    assert instance.get_runs() == []
"""


@asset
def written() -> int:
    return 1


@job
def empty() -> None:
    pass


def _quick(home: Path) -> DagsterInstance:
    """Open the records as a run of the command line does."""
    return open_instance(load_settings({"THETAHOUSE_HOME": str(home.parent)}))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = load_settings({"THETAHOUSE_HOME": str(tmp_path)})
    monkeypatch.setenv("DAGSTER_HOME", str(settings.dagster_home))
    monkeypatch.setenv("THETAHOUSE_HOME", str(tmp_path))
    prepare_dagster_home(settings)
    return settings.dagster_home


def test_what_the_house_replaces_of_the_storage_is_still_there() -> None:
    for name in ("_connect", "has_table", "wipe", "config_type", "from_config_value"):
        assert name in vars(SqliteEventLogStorage)
        assert name in vars(EventLog)


def test_records_that_several_processes_open_first_at_the_same_time_are_made_once(tmp_path: Path) -> None:
    ours = {**os.environ, "THETAHOUSE_HOME": str(tmp_path), "PYTHONPATH": str(PROJECT_ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    opening = [subprocess.Popen([sys.executable, "-c", OPEN_AT_ONCE], env=ours, **pipes) for _ in range(4)]
    for process in opening:
        assert process.stdout.readline() == "ready\n"
    for process in opening:
        process.stdin.write("now\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[1] for process in opening]
    assert [process.returncode for process in opening] == [0, 0, 0, 0], said


def test_a_run_is_written_where_dagster_itself_reads_it(home: Path) -> None:
    with _quick(home) as instance:
        assert isinstance(instance.event_log_storage, EventLog)
        run_id = materialize([written], instance=instance).run_id
        events = [record.message for record in instance.all_logs(run_id)]
    with DagsterInstance.get() as instance:
        assert [record.message for record in instance.all_logs(run_id)] == events
        assert instance.get_latest_materialization_event(AssetKey("written")) is not None
        again = materialize([written], instance=instance).run_id
    with _quick(home) as instance:
        assert {run.run_id for run in instance.get_runs()} == {run_id, again}


def test_nothing_reported_is_lost_when_the_process_is_killed(home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", REPORT_AND_DIE], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    with DagsterInstance.get() as instance:
        records = instance.fetch_materializations(AssetKey("seen"), limit=100).records
    assert {record.asset_materialization.metadata["n"].value for record in records} == set(range(20))


def test_wiped_and_written_again(home: Path) -> None:
    with _quick(home) as instance:
        wiped = materialize([written], instance=instance).run_id
        instance.wipe()
        kept = materialize([written], instance=instance).run_id
    with DagsterInstance.get() as instance:
        assert instance.all_logs(wiped) == []
        assert instance.all_logs(kept) != []
        assert len(instance.fetch_materializations(AssetKey("written"), limit=10).records) == 1


def test_who_watches_a_run_sees_its_events_while_it_writes(home: Path) -> None:
    seen: Queue[str] = Queue()
    with DagsterInstance.get() as watching, _quick(home) as writing:
        run = writing.create_run_for_job(empty)
        writing.report_engine_event("before", run)
        watching.watch_event_logs(run.run_id, None, lambda event, _cursor: seen.put(event.message))
        for message in ("first", "second"):
            writing.report_engine_event(message, run)
            while seen.get(timeout=20) != message:  # queue.Empty where the watcher was told nothing
                continue
