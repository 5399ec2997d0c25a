"""Assets of the pictures: one per kind, with a picture per data set on its page.

They read the analysts' file only, so they wait for nobody and hold nobody up. The sensor has them drawn after each
refresh; ``thetahouse run`` leaves them out. Does not hold charts (:mod:`orchestration.plots`).
"""

from collections.abc import Iterator
from typing import Any

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    MaterializeResult,
    MetadataValue,
    ResourceParam,
    multi_asset,
)

from orchestration.assets.rooms import OWNERS
from orchestration.house import House
from orchestration.plots import PLOTS, NothingToDrawError, draw, png_markdown
from orchestration.reading import query_published
from orchestration.settings import Settings

PICTURES = "pictures"
DATASETS = "select distinct dataset from psychometrics.irt_fits order by dataset"


def picture_key(name: str) -> AssetKey:
    """Return the asset that shows a picture of :data:`orchestration.plots.PLOTS`."""
    return AssetKey([PICTURES, name.replace("-", "_")])


def drawn(settings: Settings, name: str) -> dict[str, Any]:
    """Return one picture per data set as Markdown, or the reason why there is none."""
    shown: dict[str, Any] = {}
    for dataset in query_published(settings, DATASETS)["dataset"]:
        try:
            chart = draw(settings, name, dataset=dataset)
        except NothingToDrawError as reason:
            shown[dataset] = MetadataValue.text(str(reason))
        else:
            shown[dataset] = MetadataValue.md(png_markdown(chart, f"{name} of {dataset}"))
    return shown


def picture_assets() -> AssetsDefinition:
    """Return the assets of all pictures; each can be drawn alone."""
    specs = [
        AssetSpec(
            picture_key(name),
            deps=[AssetKey(["published", "analyst"])],
            group_name=PICTURES,
            kinds={"altair"},
            owners=OWNERS["orchestration"],
            tags={"room": "orchestration"},
            description=f"{plot.description}; a picture per data set.",
        )
        for name, plot in PLOTS.items()
    ]

    @multi_asset(name=PICTURES, specs=specs, can_subset=True)
    def pictures(context: AssetExecutionContext, house: ResourceParam[House]) -> Iterator[MaterializeResult[None]]:
        for name in PLOTS:
            if picture_key(name) in context.selected_asset_keys:
                yield MaterializeResult(asset_key=picture_key(name), metadata=drawn(house.settings, name))

    return pictures
