"""The asset that keeps what readers saw before the refresh under way."""

from dagster import MaterializeResult, ResourceParam, TableColumn, TableSchema, asset

from inference.rows import columns
from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.assets.rooms import OWNERS
from orchestration.house import House
from orchestration.previous import PreviousRow, keep_previous
from orchestration.warehouse import SQL_TYPES


@asset(
    key=["meta", "previous_leaderboard"],
    group_name="meta",
    kinds={"python", "duckdb"},
    owners=OWNERS["orchestration"],
    tags={"room": "orchestration"},
    metadata={
        "dagster/column_schema": TableSchema(
            [TableColumn(c.name, SQL_TYPES[c.type], c.description) for c in columns(PreviousRow)]
        )
    },
    pool=POOL_WAREHOUSE,
)
def previous_leaderboard(locked_house: ResourceParam[House]) -> MaterializeResult[None]:
    """Copy the leaderboard that is published when the refresh begins, for marts.refresh_diff."""
    return MaterializeResult(metadata={"dagster/row_count": keep_previous(locked_house.settings)})
