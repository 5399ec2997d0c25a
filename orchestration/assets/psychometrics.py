"""Assets that Python fits: one step writes every psychometrics table in one transaction."""

from collections.abc import Iterator

from dagster import AssetKey, AssetSpec, MaterializeResult, ResourceParam, multi_asset

from analytics.schemas import PSYCHOMETRICS
from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.fits import fit_all, read_cells, write_fits
from orchestration.house import House, load_catalogue

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
            description=table.description,
        )
        for table in PSYCHOMETRICS.values()
    ],
    pool=POOL_WAREHOUSE,
)
def psychometrics(locked_house: ResourceParam[House]) -> Iterator[MaterializeResult]:
    """Read the response matrix, fit every data set, write all tables in one transaction."""
    frames = fit_all(read_cells(locked_house), load_catalogue(locked_house.settings).registry)
    write_fits(locked_house, frames)
    for name, frame in frames.items():
        yield MaterializeResult(asset_key=["psychometrics", name], metadata={"dagster/row_count": frame.height})
