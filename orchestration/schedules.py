"""The nightly schedule: what has failed is asked once more; the sensor then refreshes."""

from collections.abc import Iterator

from dagster import (
    DefaultScheduleStatus,
    JobDefinition,
    ResourceParam,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
    schedule,
)

from orchestration.house import House
from orchestration.requests import ask_runs

NIGHTLY = "0 3 * * *"


def nightly(job: JobDefinition) -> ScheduleDefinition:
    """Return the schedule over the asking job."""

    @schedule(
        name="nightly",
        cron_schedule=NIGHTLY,
        job=job,
        default_status=DefaultScheduleStatus.RUNNING,
        description="Asks once more what has failed; one run per model.",
    )
    def every_night(
        context: ScheduleEvaluationContext, house: ResourceParam[House]
    ) -> Iterator[RunRequest | SkipReason]:
        runs = list(ask_runs(house, key=f"{context.scheduled_execution_time:%Y-%m-%d}"))
        if not runs:
            yield SkipReason("every request of the plan has landed")
        yield from runs

    return every_night
