"""The sensor: what the plan lacks is asked, one run per model; one refresh publishes it; pictures follow."""

from dagster import (
    DagsterRunStatus,
    DefaultSensorStatus,
    JobDefinition,
    ResourceParam,
    RunsFilter,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from orchestration.house import House, load_catalogue
from orchestration.partitions import sync_partitions
from orchestration.requests import ASK_JOB, REFRESH_JOB, ask_runs, pictures_run, refresh_run
from orchestration.warehouse import WarehouseBusyError

UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
SECONDS_BETWEEN_TICKS = 30


def _is_running(context: SensorEvaluationContext, job: str) -> bool:
    return context.instance.get_runs_count(RunsFilter(job_name=job, statuses=UNFINISHED)) > 0


def _evaluate(context: SensorEvaluationContext, house: House) -> SensorResult | SkipReason:
    """Ask first, refresh once nothing is being asked, then draw; what failed for good holds nobody up."""
    sync_partitions(context.instance, load_catalogue(house.settings).raters["rater_id"])
    if _is_running(context, ASK_JOB):
        return SkipReason("models are being asked")
    new = [run for run in ask_runs(house) if not _was_launched(context, run.run_key)]
    if new:
        return SensorResult(run_requests=new)
    if _is_running(context, REFRESH_JOB):
        return SkipReason("a refresh is running")
    for due in (refresh_run(house), pictures_run(house)):
        if due is not None and not _was_launched(context, due.run_key):
            return SensorResult(run_requests=[due])
    return SkipReason("everything that has landed is published and drawn")


def _was_launched(context: SensorEvaluationContext, run_key: str | None) -> bool:
    return context.instance.get_runs_count(RunsFilter(tags={"dagster/run_key": str(run_key)})) > 0


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
