"""Dagster's runs: which process each belongs to, and what becomes of those whose process was killed.

A run that is cut off by a kill stays "started" for ever in Dagster's books, with the pool slots that it holds. Here it
is found and closed, so that nobody waits for it. Does not decide what is launched again (:mod:`orchestration.sensors`).
"""

import os
import time

import psutil
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.events import JobFailureData, RunFailureReason
from dagster._core.storage.dagster_run import RunRecord

UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
PROCESS_TAG = "thetahouse/process"
SECONDS_TO_SAY_WHO = 300.0
"""A started run names its process within a second or two; one that has not by then was killed before it could."""


def process_identity(pid: int) -> str | None:
    """Return what tells a running process from a later one with the same number; None where it is gone."""
    try:
        return f"{pid}:{psutil.Process(pid).create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def own_tags() -> dict[str, str]:
    """Return the tags by which a run is known to belong to this process."""
    return {PROCESS_TAG: str(process_identity(os.getpid()))}


def _is_killed(record: RunRecord) -> bool:
    owner = record.dagster_run.tags.get(PROCESS_TAG)
    if owner is not None:
        return process_identity(int(owner.split(":")[0])) != owner
    return record.start_time is not None and time.time() - record.start_time > SECONDS_TO_SAY_WHO


def clear_killed_runs(instance: DagsterInstance) -> int:
    """Close the runs whose process was killed, and give back the pool slots that they hold; return how many.

    Nobody else does it where the process that started them was killed too, and a slot that stays claimed would keep
    every later run waiting without end.
    """
    killed = [run for run in instance.get_run_records(RunsFilter(statuses=UNFINISHED)) if _is_killed(run)]
    cut_off = JobFailureData(error=None, failure_reason=RunFailureReason.UNEXPECTED_TERMINATION)
    for run in (record.dagster_run for record in killed):
        instance.report_run_failed(run, "the process of this run was killed; what had landed stays landed", cut_off)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return len(killed)
