"""Assets of the published layer: the two files that readers open."""

from collections.abc import Callable
from pathlib import Path

from dagster import (
    AssetKey,
    AssetsDefinition,
    MaterializeResult,
    MetadataValue,
    ResourceParam,
    TableColumn,
    TableRecord,
    TableSchema,
    asset,
)

from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.assets.rooms import OWNERS
from orchestration.house import House
from orchestration.publish import Published, publish_analyst, publish_public
from orchestration.refresh import tell
from orchestration.settings import Settings

GROUP = "published"


def _result(published: Published) -> MaterializeResult[None]:
    records = [TableRecord({"table": table, "rows": n}) for table, n in published.n_rows.items()]
    schema = TableSchema([TableColumn("table", "string"), TableColumn("rows", "int")])
    return MaterializeResult(
        metadata={
            "generation": published.generation,
            "tables": published.n_tables,
            "bytes": published.n_bytes,
            "rows": MetadataValue.table(records, schema),
        }
    )


def _published(
    name: str, deps: list[AssetKey], description: str, publish: Callable[[Settings], Published]
) -> AssetsDefinition:
    """Return the asset of one file."""

    @asset(
        key=[GROUP, name],
        deps=deps,
        description=description,
        group_name=GROUP,
        kinds={"python", "duckdb"},
        owners=OWNERS["orchestration"],
        tags={"room": "orchestration"},
        pool=POOL_WAREHOUSE,
    )
    def file(locked_house: ResourceParam[House]) -> MaterializeResult[None]:
        published = publish(locked_house.settings)
        tell(locked_house, GROUP)
        return _result(published)

    return file


def published_assets(sources: list[AssetKey], marts: list[AssetKey], manifest: Path) -> list[AssetsDefinition]:
    """Return the assets of both files.

    Parameters
    ----------
    sources
        Every table that the analysts' file copies.
    marts
        Every mart; the public file copies those on dbt's allow-list.
    manifest
        dbt's manifest, which holds that list.
    """
    # the analysts' file says which refresh stands: written first, it would hide that a kill left an old public file
    return [
        _published(
            "public",
            marts,
            "Marts that anybody may read: no hidden gold, no licensed text.",
            lambda settings: publish_public(settings.warehouse, settings.public, manifest),
        ),
        _published(
            "analyst",
            [*sources, AssetKey([GROUP, "public"])],
            "Everything an analyst may read, one refresh throughout. Written last of all: it closes the refresh.",
            lambda settings: publish_analyst(settings.warehouse, settings.analyst),
        ),
    ]
