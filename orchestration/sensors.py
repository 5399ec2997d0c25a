"""The sensor: what the plan lacks is asked, one run per model; one refresh publishes it; pictures follow.

What was cut off (a kill, a restart) is launched again, and so is a refresh that failed (a full disk): soon at first,
then after longer and longer waits. What failed in asking is left to the nightly schedule, or to a change of its entry.
"""

import time

from dagster import (
    DagsterRunStatus,
    DefaultSensorStatus,
    JobDefinition,
    ResourceParam,
    RunRequest,
    RunsFilter,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.events import RunFailureReason
from dagster._core.storage.dagster_run import RunRecord
from dagster._core.storage.tags import RUN_FAILURE_REASON_TAG

from orchestration.house import House, load_catalogue
from orchestration.partitions import sync_partitions
from orchestration.requests import ASK_JOB, MODEL_TAG, REFRESH_JOB, ask_runs, pictures_run, refresh_run
from orchestration.runs import UNFINISHED, clear_killed_runs
from orchestration.warehouse import WarehouseBusyError

CAUSE_TAG = "thetahouse/cause"
"""What a run was launched for; a run that is launched again has the same cause under another key."""
SECONDS_BETWEEN_TICKS = 30
FIRST_WAIT_SECONDS = 30.0
LONGEST_WAIT_SECONDS = 86_400.0


def _running(context: SensorEvaluationContext, job: str) -> list[dict[str, str]]:
    """Return the tags of the runs of a job that have not ended."""
    return [dict(run.tags) for run in context.instance.get_runs(RunsFilter(job_name=job, statuses=UNFINISHED))]


def _evaluate(context: SensorEvaluationContext, house: House) -> SensorResult | SkipReason:
    """Ask first, refresh once nothing is being asked, then draw; what failed for good holds nobody up."""
    clear_killed_runs(context.instance)
    sync_partitions(context.instance, load_catalogue(house.settings).raters)
    asked = {tags.get(MODEL_TAG) for tags in _running(context, ASK_JOB)}
    due = [_due(context, run) for run in ask_runs(house) if run.tags[MODEL_TAG] not in asked]
    new = [run for run in due if run is not None]
    if new:
        return SensorResult(run_requests=new)
    if asked:
        return SkipReason("models are being asked")
    if _running(context, REFRESH_JOB):
        return SkipReason("a refresh is running")
    for wanted in (refresh_run(house), pictures_run(house)):
        run = None if wanted is None else _due(context, wanted)
        if run is not None:
            return SensorResult(run_requests=[run])
    return SkipReason("everything that has landed is published and drawn")


def _due(context: SensorEvaluationContext, wanted: RunRequest) -> RunRequest | None:
    """Return the run to launch for a cause, or None where one has been launched that is enough."""
    cause = str(wanted.run_key)
    earlier = context.instance.get_run_records(RunsFilter(tags={CAUSE_TAG: cause}))
    if not all(_is_to_be_repeated(record) for record in earlier):
        return None
    if earlier:
        wait = min(FIRST_WAIT_SECONDS * 2 ** (len(earlier) - 1), LONGEST_WAIT_SECONDS)
        if time.time() - max(record.end_time or 0.0 for record in earlier) < wait:
            return None
    key = f"{cause}-{len(earlier)}" if earlier else cause
    return wanted.with_replaced_attrs(run_key=key, tags={**wanted.tags, CAUSE_TAG: cause})


def _is_to_be_repeated(record: RunRecord) -> bool:
    """Tell whether a run ended in a way that passes: cut off, or a refresh that failed."""
    run = record.dagster_run
    cut_off = run.tags.get(RUN_FAILURE_REASON_TAG) != RunFailureReason.STEP_FAILURE.value
    return run.status == DagsterRunStatus.FAILURE and (cut_off or run.job_name == REFRESH_JOB)


def plan_sensor(jobs: list[JobDefinition | UnresolvedAssetJobDefinition]) -> SensorDefinition:
    """Return the sensor over the jobs that it launches."""

    @sensor(
        name="plan_sensor",
        jobs=jobs,
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=DefaultSensorStatus.RUNNING,
        description="Compares plan with landed: asks what is missing, one run per model, then refreshes, then draws.",
    )
    def compare(context: SensorEvaluationContext, house: ResourceParam[House]) -> SensorResult | SkipReason:
        try:
            return _evaluate(context, house)
        except WarehouseBusyError as busy:
            return SkipReason(str(busy))

    return compare
