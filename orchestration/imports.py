"""Taking in a prediction file: a copy in the inbox and an entry in the installation's registry, or nothing at all.

Holds the order of the steps. Does not read predictions or logs (:mod:`inference.sources`) and asks nothing.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from inference.identity import encode_file_name
from inference.raters import RaterConflictError, check_newcomers
from inference.registry import Registry, RegistryError
from inference.sources.eval_logs import COLUMNS, LogFields, facts_of, is_eval_log, read_eval_log, write_long
from inference.sources.prediction_notes import notes_on
from inference.sources.predictions import Described, LongColumns, describe_predictions
from inference.sources.tables import SourceError
from orchestration.house import Catalogue, load_catalogue
from orchestration.locks import hold
from orchestration.output_folder import make_home
from orchestration.settings import Settings

LOG_NAMES = LogFields()
"""A log is taken by its own names."""


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
    notes: tuple[str, ...] = ()
    """What was left out or looks odd, in words."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A delimited file that is to be taken in, and what is known of it beforehand."""

    file: Path
    called: str
    id_columns: Sequence[str] = ()
    long: LongColumns | None = None
    is_blank_empty: bool = False
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def import_responses(
    settings: Settings,
    file: Path,
    dataset: str,
    *,
    name: str | None = None,
    id_columns: Sequence[str] = (),
    rater_columns: Sequence[str] = (),
    long: LongColumns | None = None,
    is_blank_empty: bool = False,
    log_fields: LogFields = LOG_NAMES,
) -> Imported:
    """Check a prediction file, or a log of inspect_ai or lm-evaluation-harness, and register it.

    Parameters
    ----------
    settings
        Installation.
    file
        One row per item and one column per rater; or one row per item and rater (`long`); or a log by its suffix:
        ``.eval``, ``.json`` (inspect_ai), ``.jsonl`` (lm-evaluation-harness).
    dataset
        Data set that the predictions belong to.
    name
        Name of the entry; the file's name unless given.
    id_columns, rater_columns
        Which columns hold what; found by their contents unless given.
    long
        Columns of a file with one row per item and rater.
    is_blank_empty
        Whether a blank cell is an empty answer rather than one that was not recorded.
    log_fields
        What to take from a log where its own names do not do.

    Raises
    ------
    RegistryError, SourceError
        If name or data set are not free or not known, or the file does not fit; nothing has been written then.
    RaterConflictError
        If one of its raters is described already; nothing has been written then either.
    """
    if not file.is_file():
        what = "a folder; name a file in it" if file.is_dir() else "no such file; check the path"
        raise RegistryError(f"{file}: {what}")
    make_home(settings.home)
    name = name or file.stem
    entry = settings.own_registry / "recorded" / f"{encode_file_name(name)}.yml"
    given = _Table(file, str(file), id_columns, long, is_blank_empty)
    with (
        hold(settings.locks, "import", wait_seconds=30),
        _as_table(given, log_fields) as table,
        _naming({table.file: table.called, entry: str(file)}),
    ):
        stored = settings.inbox / f"{encode_file_name(name)}{table.file.suffix}"
        before = load_catalogue(settings)
        before.registry.bank_of(dataset)  # an unknown data set comes first: no other --name would mend it
        if entry.exists() or name in _recorded_names(before.registry):
            raise RegistryError(f"{file}: recorded responses {name!r} are registered already; give another --name")
        described = describe_predictions(
            table.file,
            dataset,
            before.registry,
            before.banks,
            name=name,
            stored_as=stored,
            yaml_file=entry,
            id_columns=table.id_columns,
            rater_columns=rater_columns,
            long=table.long,
            blank="empty" if table.is_blank_empty else "not_recorded",
            facts=table.facts,
            title=f"Responses of {file.name}",
        )
        # here, as the registry reads entries by name, whichever of two came first
        check_newcomers(before.raters, described.spec, described.raters, str(file))
        _write(table.file, stored, entry, described.entry)
        try:
            after = load_catalogue(settings)
        except ValueError:
            entry.unlink()
            stored.unlink()
            raise
    gained = len(after.raters) - len(before.raters), after.plan.height - before.plan.height
    notes = (*table.notes, *_notes(described, dataset, after, is_log=is_eval_log(file)))
    return Imported(stored, entry, *gained, notes)


def _notes(described: Described, dataset: str, after: Catalogue, *, is_log: bool) -> Iterator[str]:
    """Yield what the file holds besides answers to what is asked, and whether it is asked at all."""
    theirs = pl.col("rater_id").is_in([rater.rater_id for rater in described.raters])
    asked = set(after.plan.filter(theirs, dataset=dataset)["item_id"])
    bank = after.banks[after.registry.bank_of(dataset).name]
    yield from notes_on(described, dataset, after.registry, bank, asked, is_log=is_log)
    if not asked:
        yield f"no study asks {dataset!r}; name it in one, with the engine recorded, to have it scored"


def _recorded_names(registry: Registry) -> set[str]:
    """Return the names that are taken, those included that cannot be used here and now."""
    return {*registry.recorded, *(entry.name for entry in registry.unavailable if entry.kind == "recorded")}


@contextmanager
def _naming(called: Mapping[Path, str]) -> Iterator[None]:
    """Have complaints name the file that was given, and not what was made of it and is taken back."""
    try:
        yield
    except (RegistryError, SourceError, RaterConflictError) as problem:
        message = str(problem)
        for path, name in called.items():
            message = message.replace(str(path), name)
        if message == str(problem):
            raise
        raise type(problem)(message) from problem


@contextmanager
def _as_table(given: _Table, log_fields: LogFields) -> Iterator[_Table]:
    """Yield what is given, a log turned into a long file first."""
    if not is_eval_log(given.file):
        yield given
        return
    log = read_eval_log(given.file, log_fields)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.csv"
        write_long(log, path)
        left_out = (
            (log.n_failed, "samples ended in an error or were never answered; they count as not recorded"),
            (log.n_repeated, "responses of later epochs or repeats were not taken"),
        )
        notes = tuple(f"{n:,} {what}" for n, what in left_out if n)
        yield _Table(
            path,
            f"{given.file}, written as a table",
            COLUMNS[:1],
            LongColumns(*COLUMNS[1:]),
            True,
            facts_of(log),
            notes,
        )


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
