"""Puts the assets, jobs and resources of an installation together.

Holds the list of what there is. Does not hold what any of it does.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from dagster import (
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    Definitions,
    define_asset_job,
    in_process_executor,
)
from dagster_dbt import DbtCliResource
from packaging.version import Version

from orchestration.assets.dbt import dbt_step
from orchestration.assets.pictures import PICTURES, picture_assets
from orchestration.assets.previous import previous_leaderboard
from orchestration.assets.psychometrics import TABLE_KEYS, psychometrics
from orchestration.assets.published import published_assets
from orchestration.assets.raw import ask_model_job, raw_mirror, raw_responses
from orchestration.checks import statistical_checks
from orchestration.dbt import dbt_executable, environment, prepared_manifest
from orchestration.house import House
from orchestration.requests import PICTURES_JOB, REFRESH_JOB
from orchestration.resources import house_resource, locked_house
from orchestration.schedules import nightly
from orchestration.sensors import plan_sensor
from orchestration.settings import DBT_PROJECT_DIR


class DbtProcess(DbtCliResource):
    """dbt as a process of its own: run inside this one it would keep the warehouse until the end.

    Dagster would also ask that process for its version and load an adapter here, seconds each time; the version is
    that of the package beside us, and an adapter must not open the warehouse in this process at all.
    """

    @cached_property
    def _cli_version(self) -> Version:
        return Version(version("dbt-core"))

    def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> None:  # type: ignore[override]
        """Load none."""


def dbt_resource(house: House) -> DbtProcess:
    """Return dbt; what it has to know of the installation it reads from the environment, which its process inherits."""
    os.environ.update(environment(house.settings))
    return DbtProcess(
        project_dir=str(DBT_PROJECT_DIR),
        profiles_dir=str(DBT_PROJECT_DIR),
        dbt_executable=dbt_executable(),
    )


def _keys(assets: AssetsDefinition, schemas: tuple[str, ...]) -> list[AssetKey]:
    return sorted(key for key in assets.keys if key.path[0] in schemas)


def ask_definitions(house: House) -> Definitions:
    """Return the one job that asks: what needs no dbt and so need not wait for it."""
    return Definitions(
        jobs=[ask_model_job],
        resources={"house": house_resource(house)},
        executor=in_process_executor,
    )


def build_definitions(house: House, manifest: Path | None = None) -> Definitions:
    """Return all assets, jobs and resources of an installation.

    Parameters
    ----------
    house
        Installation, and how its work is reported.
    manifest
        dbt's manifest; prepared where it is not given.
    """
    manifest = manifest or prepared_manifest(house.settings)
    core, marts = dbt_step(manifest, "core"), dbt_step(manifest, "marts")
    mart_keys = _keys(marts, ("marts",))
    sources = [*_keys(core, ("core",)), *TABLE_KEYS, *mart_keys]
    published = published_assets(sources, mart_keys, manifest)
    assets = [raw_mirror, raw_responses, previous_leaderboard, core, psychometrics, marts, *published, picture_assets()]
    drawn = AssetSelection.groups(PICTURES)
    refresh = define_asset_job(
        REFRESH_JOB,
        selection=AssetSelection.all() - AssetSelection.assets(raw_responses).without_checks() - drawn,
        description="Mirror the registry, rebuild core, fits and marts, publish: one generation, one lock.",
        executor_def=in_process_executor,
    )
    pictures = define_asset_job(
        PICTURES_JOB,
        selection=drawn,
        description="Draw what is published; nothing waits for it.",
        executor_def=in_process_executor,
    )
    return Definitions(
        assets=assets,
        asset_checks=[statistical_checks()],
        jobs=[refresh, ask_model_job, pictures],
        sensors=[plan_sensor([refresh, ask_model_job, pictures])],
        schedules=[nightly(ask_model_job)],
        resources={
            "house": house_resource(house),
            "locked_house": locked_house,
            "dbt": dbt_resource(house),
        },
        executor=in_process_executor,
    )
