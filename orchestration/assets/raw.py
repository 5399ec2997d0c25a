"""Assets of the raw layer: the mirror of registry and banks, and what raters answered.

``raw/responses`` has one partition per rater. A run of the job ``ask_model`` covers all raters of one model that lack
something; each rater succeeds or fails by its own completeness.
"""

from collections.abc import Iterator, Sequence

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetSpec,
    Backoff,
    Config,
    Failure,
    JobDefinition,
    MaterializeResult,
    OpExecutionContext,
    ResourceParam,
    RetryPolicy,
    RetryRequested,
    TableColumn,
    TableSchema,
    job,
    multi_asset,
    op,
)
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent

from inference.rows import RAW_TABLES, columns
from orchestration.assets.rooms import OWNERS
from orchestration.house import Asked, House, ask_raters
from orchestration.locks import LockHeldError
from orchestration.partitions import RATERS, partition_of, rater_of
from orchestration.refresh import open_refresh
from orchestration.warehouse import SQL_TYPES, WarehouseBusyError

ASKED_TABLES = ("responses", "prompts", "chunks")
MIRRORED_TABLES = tuple(table for table in RAW_TABLES if table not in ASKED_TABLES)
RESPONSES = AssetKey(["raw", "responses"])
POOL_WAREHOUSE = "warehouse"
POOL_GPU = "gpu"
ASK_AGAIN = RetryPolicy(max_retries=2, delay=2.0, backoff=Backoff.EXPONENTIAL)
"""What is still missing after a try failed for a passing reason; what can never succeed is not missing."""
PASSING = (WarehouseBusyError, LockHeldError, OSError)
"""Faults of the surroundings: another process, a full disk. They are waited out."""
WAITS, SECONDS_PER_WAIT = 30, 20.0


def _spec(table: str, deps: Sequence[AssetKey] = ()) -> AssetSpec:
    description = (RAW_TABLES[table].__doc__ or "").strip()
    return AssetSpec(
        AssetKey(["raw", table]),
        deps=deps,
        group_name="raw",
        kinds={"python", "duckdb"},
        owners=OWNERS["inference"],
        tags={"room": "inference"},
        description=description,
        metadata={
            "dagster/column_schema": TableSchema(
                [TableColumn(c.name, SQL_TYPES[c.type], c.description) for c in columns(RAW_TABLES[table])]
            )
        },
    )


@multi_asset(
    name="raw_mirror",
    specs=[_spec(table) for table in MIRRORED_TABLES],
    pool=POOL_WAREHOUSE,
)
def raw_mirror(locked_house: ResourceParam[House]) -> Iterator[MaterializeResult[None]]:
    """Make raw say what registry and banks say now, and open a refresh."""
    n_rows = open_refresh(locked_house)
    for table in MIRRORED_TABLES:
        yield MaterializeResult(asset_key=["raw", table], metadata={"dagster/row_count": n_rows[table]})


def _ask(house: House, rater_ids: Sequence[str]) -> Asked:
    """Ask; what only a person can mend is not tried again."""
    try:
        return ask_raters(house, rater_ids)
    except PASSING as fault:
        raise RetryRequested(max_retries=WAITS, seconds_to_wait=SECONDS_PER_WAIT) from fault
    except Exception as fault:
        raise Failure(str(fault), allow_retries=False) from fault


@multi_asset(
    name="raw_responses",
    specs=[_spec(table, deps=[AssetKey(["raw", "requests"])]) for table in ASKED_TABLES],
    partitions_def=RATERS,
    pool=POOL_GPU,
    retry_policy=ASK_AGAIN,
)
def raw_responses(context: AssetExecutionContext, house: ResourceParam[House]) -> Iterator[MaterializeResult[None]]:
    """Ask one rater what it still lacks; what has landed is never asked again."""
    asked = _ask(house, [rater_of(context.partition_key)])
    if asked.lacking:
        raise Failure(asked.complaint)
    for table in ASKED_TABLES:
        yield MaterializeResult(asset_key=["raw", table])


class AskModel(Config):
    """Which raters a run of ``ask_model`` covers."""

    rater_ids: list[str]
    """Raters of one model."""


def _announce(context: OpExecutionContext, rater_ids: Sequence[str]) -> None:
    """Tell Dagster that the run means to fill these partitions, so that one left open shows as failed."""
    for rater_id in rater_ids:
        planned = AssetMaterializationPlannedData(RESPONSES, partition=partition_of(rater_id))
        event = DagsterEvent.build_asset_materialization_planned_event(context.job_name, context.op.name, planned)
        context.instance.report_dagster_event(event, run_id=context.run_id)


@op(
    name="ask",
    pool=POOL_GPU,
    retry_policy=ASK_AGAIN,
    description="Ask all raters of one model what they lack, with one engine.",
)
def ask(context: OpExecutionContext, config: AskModel, house: ResourceParam[House]) -> None:
    """Ask, then report every rater by its own completeness."""
    _announce(context, config.rater_ids)
    asked = _ask(house, config.rater_ids)
    for rater in asked.complete:
        context.log_event(AssetMaterialization(RESPONSES, partition=partition_of(rater.rater_id)))
    if asked.lacking:
        raise Failure(asked.complaint)


@job(name="ask_model", description="One run per model: its raters that lack something, one engine process.")
def _ask_model() -> None:
    ask()


ask_model_job: JobDefinition = _ask_model
