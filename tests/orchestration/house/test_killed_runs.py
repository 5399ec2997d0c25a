"""Runs whose process was killed: their pool slots come back, so that the next run does not wait without end."""

import os
import subprocess
import sys

from dagster import DagsterInstance, DagsterRunStatus, job, op

from orchestration.local import prepare_dagster_home
from orchestration.runs import PROCESS_TAG, clear_killed_runs, process_identity
from orchestration.settings import Settings


@op
def nothing() -> None:
    """Do nothing."""


@job
def idle() -> None:
    """Run nothing."""
    nothing()


def _killed_process() -> str:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = process_identity(process.pid)
        process.kill()
    assert identity is not None
    return identity


def _started(instance: DagsterInstance, owner: str) -> str:
    run = instance.create_run_for_job(idle, tags={PROCESS_TAG: owner}, status=DagsterRunStatus.STARTED)
    claim = instance.event_log_storage.claim_concurrency_slot("gpu", run.run_id, "ask")
    assert claim.slot_status.value in {"CLAIMED", "BLOCKED"}
    return run.run_id


def test_the_slot_of_a_killed_run_is_given_back_and_that_of_a_living_one_is_not(settings: Settings) -> None:
    prepare_dagster_home(settings)
    with DagsterInstance.get() as instance:
        instance.event_log_storage.set_concurrency_slots("gpu", 1)
        killed = _started(instance, _killed_process())
        assert instance.event_log_storage.get_concurrency_info("gpu").active_run_ids == {killed}
        living = _started(instance, str(process_identity(os.getpid())))
        assert clear_killed_runs(instance) == 1
        assert killed not in instance.event_log_storage.get_concurrency_info("gpu").active_run_ids
        statuses = {run.run_id: run.status for run in instance.get_runs()}
        assert statuses == {killed: DagsterRunStatus.FAILURE, living: DagsterRunStatus.STARTED}
        assert clear_killed_runs(instance) == 0
