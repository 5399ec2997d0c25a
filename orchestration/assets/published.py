"""Assets of the published layer: the two files that readers open."""

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

GROUP = "published"
OWNED = OWNERS["orchestration"]
KINDS = {"python", "duckdb"}
TAGS = {"room": "orchestration"}


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

    @asset(
        key=["published", "analyst"],
        deps=[*sources, AssetKey(["published", "public"])],  # last: what it holds says that the refresh is complete
        group_name=GROUP,
        kinds=KINDS,
        owners=OWNED,
        tags=TAGS,
        pool=POOL_WAREHOUSE,
    )
    def analyst(locked_house: ResourceParam[House]) -> MaterializeResult[None]:
        """Everything an analyst may read, one refresh throughout. Written last of all: it closes the refresh."""
        settings = locked_house.settings
        published = publish_analyst(settings.warehouse, settings.analyst)
        tell(locked_house, "published")
        return _result(published)

    @asset(
        key=["published", "public"],
        deps=marts,
        group_name=GROUP,
        kinds=KINDS,
        owners=OWNED,
        tags=TAGS,
        pool=POOL_WAREHOUSE,
    )
    def public(locked_house: ResourceParam[House]) -> MaterializeResult[None]:
        """Marts that anybody may read: no hidden gold, no licensed text."""
        settings = locked_house.settings
        return _result(publish_public(settings.warehouse, settings.public, manifest))

    return [public, analyst]
