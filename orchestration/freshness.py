"""Whether anything has changed since the published file was made.

Compares one fingerprint (registry, banks, code and landed chunks), and both files with each other. Imports neither
Dagster nor dbt nor torch, so that an unchanged run ends at once.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from inference.identity import hash_of
from inference.landing import chunk_files
from inference.registry import Registry
from inference.sources import bank_fingerprint
from orchestration.settings import PROJECT_ROOT, Settings
from orchestration.warehouse import connect

CODE_FOLDERS = ("analytics", "inference", "orchestration", "dbt_project")
CODE_SUFFIXES = (".py", ".sql", ".yml", ".yaml", ".j2", ".jinja")
NOT_CODE = {"target", "logs", "__pycache__"}


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """The refresh that readers see."""

    generation: int
    """Its number."""
    fingerprint: str
    """What it was computed from."""
    n_to_ask: int
    """Requests that were still to be asked."""
    published_at: str
    """When it was published, UTC."""


def folder_hash(folder: str, root: Path = PROJECT_ROOT) -> str:
    """Return the hash of all code in a room."""
    digest = hashlib.sha256()
    for file in sorted((root / folder).rglob("*")):
        if file.suffix in CODE_SUFFIXES and not NOT_CODE & set(file.relative_to(root).parts[:-1]):
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def plan_fingerprint(registry: Registry) -> str:
    """Return the hash of what the plan is made from: the registry and its banks."""
    banks = {name: bank_fingerprint(bank, registry) for name, bank in registry.banks.items()}
    return hash_of([registry.fingerprint, banks])


def input_fingerprint(registry: Registry, chunk_ids: Iterable[str]) -> str:
    """Return the hash of everything that a refresh is computed from."""
    code = [folder_hash(folder) for folder in CODE_FOLDERS]
    return hash_of([plan_fingerprint(registry), code, sorted(chunk_ids)])


def journal_fingerprint(registry: Registry, settings: Settings) -> str:
    """Return the fingerprint as it is if every chunk of the journal has landed."""
    return input_fingerprint(registry, (file.stem for file in chunk_files(settings.landing)))


def last_refresh(settings: Settings) -> LastRefresh | None:
    """Return the refresh that the analysts' file holds; None where there is none."""
    return refresh_of(settings.analyst)


def refresh_of(published: Path) -> LastRefresh | None:
    """Return the refresh that a published file holds; None where there is none."""
    if not published.exists():
        return None
    with connect(published, read_only=True) as connection:
        row = connection.execute(
            "select generation, fingerprint, n_to_ask, strftime(published_at, '%Y-%m-%d %H:%M UTC') "
            "from meta.refreshes order by generation desc limit 1"
        ).fetchone()
    return LastRefresh(*row) if row else None


def is_current(settings: Settings, registry: Registry) -> bool:
    """Tell whether the published files already hold what a run would compute, with nothing left to ask."""
    try:
        last, public = last_refresh(settings), refresh_of(settings.public)
    except duckdb.Error:
        return False  # a file that cannot be read is replaced by the next refresh
    return (
        last is not None
        and public is not None
        and public.generation == last.generation
        and settings.warehouse.exists()
        and last.n_to_ask == 0
        and last.fingerprint == journal_fingerprint(registry, settings)
    )
