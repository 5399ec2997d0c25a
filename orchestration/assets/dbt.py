"""Assets that dbt builds: staging and core before the fits, marts after them.

Keys, descriptions and columns come from dbt's manifest; dbt's tests become asset checks. Each step is one dbt process,
which gives the warehouse back when it ends.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dagster import AssetExecutionContext, AssetsDefinition, AssetSpec, ResourceParam
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliResource, DbtProject, dbt_assets

from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.assets.rooms import OWNERS
from orchestration.assets.table_metadata import with_table_metadata
from orchestration.dbt import target_path
from orchestration.house import House
from orchestration.refresh import record_layer

BUILD = [
    "build", "--indirect-selection", "buildable", "--exclude-resource-type", "unit_test",
    "--no-write-json", "--log-level-file", "warn",
]  # fmt: skip
"""Unit tests check code, not data; they are run by the test suite. Dagster reads what dbt prints, and needs no file."""

STEPS = {"core": "staging core source:raw", "marts": "marts source:psychometrics source:meta"}
"""What each dbt step builds and tests, by the layer that it completes."""


class RoomTranslator(DagsterDbtTranslator):
    """dbt's own descriptions, columns and groups, with the room that looks after them; SQL is on dbt's page."""

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: DbtProject | None) -> AssetSpec:
        """Return the asset of a dbt node."""
        spec = super().get_asset_spec(manifest, unique_id, project)
        return spec.replace_attributes(
            description=self.get_resource_props(manifest, unique_id)["description"],
            owners=OWNERS["dbt_project"],
            tags={**spec.tags, "room": "dbt_project"},
        )


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
        dagster_dbt_translator=RoomTranslator(settings),
        pool=POOL_WAREHOUSE,
    )
    def step(context: AssetExecutionContext, dbt: DbtCliResource, locked_house: ResourceParam[House]) -> Iterator[Any]:
        # one folder per step, not one per run: the lock keeps two refreshes apart
        building = dbt.cli(BUILD, context=context, target_path=target_path(locked_house.settings) / layer)
        yield from with_table_metadata(context, locked_house, building.stream())
        record_layer(locked_house, layer)

    return step
