"""Assets that Python fits: one step writes every psychometrics table in one transaction."""

from collections.abc import Iterator

from dagster import AssetKey, AssetSpec, MaterializeResult, ResourceParam, TableColumn, TableSchema, multi_asset

from analytics.schemas import PSYCHOMETRICS
from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.assets.rooms import OWNERS
from orchestration.assets.table_metadata import table_metadata
from orchestration.fits import SQL_TYPES, refit
from orchestration.house import House, read_registry
from orchestration.refresh import tell

TABLE_KEYS = [AssetKey(["psychometrics", name]) for name in PSYCHOMETRICS]
SOURCES = [AssetKey(["core", name]) for name in ("response_matrix", "raters", "items", "responses")]


@multi_asset(
    name="psychometrics",
    specs=[
        AssetSpec(
            AssetKey(["psychometrics", table.name]),
            deps=SOURCES,
            group_name="psychometrics",
            kinds={"python", "duckdb"},
            owners=OWNERS["analytics"],
            tags={"room": "analytics"},
            description=table.description,
            metadata={
                "dagster/column_schema": TableSchema(
                    [TableColumn(c.name, SQL_TYPES[c.dtype], c.description) for c in table.columns]
                )
            },
        )
        for table in PSYCHOMETRICS.values()
    ],
    pool=POOL_WAREHOUSE,
)
def psychometrics(locked_house: ResourceParam[House]) -> Iterator[MaterializeResult[None]]:
    """Fit the data sets whose responses have changed and write their rows in one transaction."""
    frames = refit(locked_house, read_registry(locked_house.settings))
    tell(locked_house, "psychometrics")
    shown = table_metadata(locked_house, TABLE_KEYS)
    for key in TABLE_KEYS:
        yield MaterializeResult(asset_key=key, metadata={"rows written": frames[key.path[1]].height, **shown[key]})
