"""Where things are: the one place that reads the environment.

A leaf that every room may import; it imports nothing of the project. Holds paths and switches, no behaviour.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent
DBT_PROJECT_DIR = PROJECT_ROOT / "dbt_project"
SHIPPED_REGISTRY = PROJECT_ROOT / "inference" / "registry"


@dataclass(frozen=True, slots=True)
class Settings:
    """Folders and files of one installation."""

    home: Path
    """State of the installation (``THETAHOUSE_HOME``, default ``./var``)."""
    data: Path | None
    """Outside data (``THETAHOUSE_DATA``); null where there is none."""
    shipped_registry: Path = SHIPPED_REGISTRY
    """Registry that comes first (``THETAHOUSE_REGISTRY``); the one shipped with the project unless named."""

    @property
    def warehouse(self) -> Path:
        """Working database; only the house itself opens it."""
        return self.home / "warehouse.duckdb"

    @property
    def landing(self) -> Path:
        """Journal of raw responses, one folder per rater."""
        return self.home / "landing"

    @property
    def published(self) -> Path:
        """Folder of the files that readers query."""
        return self.home / "published"

    @property
    def analyst(self) -> Path:
        """Everything an analyst may read."""
        return self.published / "analyst.duckdb"

    @property
    def public(self) -> Path:
        """What anybody may read."""
        return self.published / "public.duckdb"

    @property
    def inbox(self) -> Path:
        """Files handed in by users."""
        return self.home / "inbox"

    @property
    def own_registry(self) -> Path:
        """Registry entries of this installation, beside the shipped ones."""
        return self.home / "registry"

    @property
    def registries(self) -> tuple[Path, ...]:
        """Registry folders, shipped first."""
        return (self.shipped_registry, self.own_registry)

    @property
    def cache(self) -> Path:
        """What can be thrown away and made again: fitted baselines, embeddings."""
        return self.home / "cache"

    @property
    def locks(self) -> Path:
        """Lock files."""
        return self.home / "locks"

    @property
    def dagster_home(self) -> Path:
        """Runs, events and schedules of Dagster."""
        return self.home / "dagster"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment (or from a mapping given in its place).

    Raises
    ------
    NotADirectoryError
        ``THETAHOUSE_DATA`` or ``THETAHOUSE_REGISTRY`` names no folder, or ``THETAHOUSE_HOME`` none that could be.
    """
    values = os.environ if environment is None else environment
    home = Path(values.get("THETAHOUSE_HOME") or "var").resolve()
    try:
        there = next(folder for folder in (home, *home.parents) if folder.exists())
    except OSError as problem:  # a name that is too long, a folder that may not be looked into
        why = (problem.strerror or str(problem)).lower()
        raise NotADirectoryError(f"THETAHOUSE_HOME={home}: {why}; name a folder") from problem
    if not there.is_dir():
        raise NotADirectoryError(f"THETAHOUSE_HOME={home}: {there} is not a folder; name a folder")
    return Settings(
        home=home,
        data=_folder(values, "THETAHOUSE_DATA"),
        shipped_registry=_folder(values, "THETAHOUSE_REGISTRY") or SHIPPED_REGISTRY,
    )


def _folder(values: Mapping[str, str], variable: str) -> Path | None:
    """Return the folder that a variable names; None where it is not set."""
    if not values.get(variable):
        return None
    folder = Path(values[variable]).resolve()
    if not folder.is_dir():
        raise NotADirectoryError(f"{variable}={folder}: no such folder; unset it, or name one that exists")
    return folder
