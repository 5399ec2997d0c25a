"""Assets that dbt builds: staging and core before the fits, marts after them.

Keys, descriptions and columns come from dbt's manifest; dbt's tests become asset checks. Each step is one dbt process,
which gives the warehouse back when it ends.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dagster import AssetExecutionContext, AssetsDefinition, ResourceParam
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliResource, dbt_assets

from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.house import House, record_layer

STEPS = {"core": "staging core source:raw", "marts": "marts source:psychometrics"}
"""What each dbt step builds and tests, by the layer that it completes."""


class LayerTranslator(DagsterDbtTranslator):
    """Names the group of a model after its layer."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        """Return the schema of the model."""
        return str(dbt_resource_props["schema"])


def dbt_step(manifest: Path, layer: str) -> AssetsDefinition:
    """Return the assets of one dbt step.

    Parameters
    ----------
    manifest
        dbt's manifest.
    layer
        Layer that the step completes: a key of `STEPS`.
    """
    settings = DagsterDbtTranslatorSettings(enable_source_tests_as_checks=True)

    @dbt_assets(
        manifest=manifest,
        select=STEPS[layer],
        name=f"dbt_{layer}",
        dagster_dbt_translator=LayerTranslator(settings),
        pool=POOL_WAREHOUSE,
    )
    def step(context: AssetExecutionContext, dbt: DbtCliResource, locked_house: ResourceParam[House]) -> Iterator[Any]:
        yield from dbt.cli(["build", "--indirect-selection", "buildable"], context=context).stream()
        record_layer(locked_house, layer)

    return step
