"""Taking in a prediction file: a copy in the inbox and an entry in the installation's registry, or nothing at all.

Holds the order of the steps. Does not read predictions (:mod:`inference.sources`) and asks nothing.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference.identity import encode_file_name
from inference.registry import RegistryError
from inference.sources.predictions import describe_predictions
from orchestration.house import load_catalogue
from orchestration.locks import hold
from orchestration.settings import Settings


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import wrote, and what it will bring."""

    file: Path
    """Copy of the file in the inbox."""
    entry: Path
    """Registry entry that reads it."""
    n_raters: int
    """Raters that the plan has gained."""
    n_requests: int
    """Requests that the plan has gained."""


def import_responses(
    settings: Settings,
    file: Path,
    dataset: str,
    *,
    name: str | None = None,
    id_column: str | None = None,
    rater_columns: Sequence[str] = (),
    is_blank_empty: bool = False,
) -> Imported:
    """Check a prediction file and register it.

    Parameters
    ----------
    settings
        Installation.
    file
        One row per item, one column per rater.
    dataset
        Data set that the predictions belong to.
    name
        Name of the entry; the file's name unless given.
    id_column, rater_columns
        Which columns hold what; found by their contents unless given.
    is_blank_empty
        Whether a blank cell is an empty answer rather than one that was not recorded.

    Raises
    ------
    RegistryError, SourceError
        If name or data set are not free or not known, or the file does not fit; nothing has been written then.
    """
    if not file.is_file():
        raise RegistryError(f"{file}: no such file; check the path")
    name = name or file.stem
    entry = settings.own_registry / "recorded" / f"{encode_file_name(name)}.yml"
    stored = settings.inbox / f"{encode_file_name(name)}{file.suffix}"
    with hold(settings.locks, "import", wait_seconds=30):
        before = load_catalogue(settings)
        if name in before.registry.recorded:
            raise RegistryError(f"recorded responses {name!r} are registered already; give another --name")
        text = describe_predictions(
            file,
            dataset,
            before.registry,
            before.banks,
            name=name,
            stored_as=stored,
            yaml_file=entry,
            id_column=id_column,
            rater_columns=rater_columns,
            blank="empty" if is_blank_empty else "not_recorded",
        )
        _write(file, stored, entry, text)
        try:
            after = load_catalogue(settings)
        except ValueError:
            entry.unlink()
            stored.unlink()
            raise
    gained = after.raters.height - before.raters.height, after.plan.height - before.plan.height
    return Imported(stored, entry, *gained)


def _write(file: Path, stored: Path, entry: Path, text: str) -> None:
    """Write the copy first and the entry last, each under a temporary name, so that a kill leaves no half entry."""
    for folder in (stored.parent, entry.parent):
        folder.mkdir(parents=True, exist_ok=True)
    aside = stored.with_name(f".{stored.name}.{os.getpid()}")
    shutil.copyfile(file, aside)
    aside.replace(stored)
    aside = entry.with_name(f".{entry.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(entry)
