"""Describing anybody's prediction file: from a file to the registry entry that reads it.

Looks for the column of ids and the columns of raters, says what it cannot find, and writes nothing itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from inference.registry import RecordedSpec, Registry
from inference.registry.recorded_specs import Blank
from inference.sources.banks import BankFrames
from inference.sources.recorded import check_items, read_recorded
from inference.sources.tables import SourceError, TextTable, read_text_table, some

_NAME_WITH_CONDITION = re.compile(r".+\|.+")
_SPLIT_NAME = r"(?P<model>[^|]+)(\|(?P<condition>.+))?"


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Columns of a file with one row per item and rater."""

    rater_column: str
    """Rater, as `model|condition`."""
    value_column: str
    """Response."""
    finish_column: str | None = None
    """Holds `length` where the response was cut off."""


def describe_predictions(
    file: Path,
    dataset: str,
    registry: Registry,
    banks: Mapping[str, BankFrames],
    *,
    name: str,
    stored_as: Path | None = None,
    yaml_file: Path | None = None,
    id_column: str | None = None,
    rater_columns: Sequence[str] = (),
    long: LongColumns | None = None,
    blank: Blank = "not_recorded",
    facts: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    title: str | None = None,
) -> str:
    """Return the YAML of the registry entry that reads a prediction file; the file has been read with it.

    Parameters
    ----------
    file
        Prediction file: one row per item and one column per rater, or one row per item and rater (`long`).
    dataset
        Data set that the predictions belong to.
    registry, banks
        Known data sets and their items.
    name
        Name of the entry, and of the collection.
    stored_as, yaml_file
        Where the file and the YAML will lie; the entry names the file relative to the YAML. Where they are now, unless
        given.
    id_column
        Column with the item ids; looked for unless given.
    rater_columns
        Columns that are raters; unless given, those named ``model|condition``, or the only other column.
    long
        Columns of a file with one row per item and rater.
    blank
        What a blank cell means.
    facts
        Pattern of rater ids -> what is known of those raters.
    title
        Human-readable name; the file's name unless given.

    Raises
    ------
    SourceError
        The file cannot be read, no column holds the data set's ids, or it is not clear which columns are raters.
    """
    bank = registry.bank_of(dataset)
    items = banks[bank.name].items
    known = set(items.filter(items["dataset"] == dataset)["item_id"])
    table = read_text_table(file)
    if not table.rows:
        raise SourceError(f"{file}: a header and no rows; a row per item is needed")
    ids = id_column or _id_column(table, dataset, known)
    raters = _layout(table, ids, rater_columns, long)
    entry = {
        "title": title or f"Predictions of {file.name}",
        "dataset": dataset,
        "collection": name,
        "task": "answer" if bank.datasets[dataset].response_kind == "choice" else "grade",
        "table": {"file": file.as_posix()},
        "item_id": ids,
        "raters": {**raters, "split_name": _SPLIT_NAME},
        "blank": blank,
        **({"facts": {pattern: dict(known_facts) for pattern, known_facts in facts.items()}} if facts else {}),
    }
    spec = RecordedSpec.model_validate({**entry, "name": name, "yaml": file.absolute().parent / f"{name}.yml"})
    spec = spec.model_copy(update={"table": spec.table.model_copy(update={"file": file.absolute().as_posix()})})
    check_items(spec, read_recorded(spec, registry), known)
    stored, described = (stored_as or file).absolute(), (yaml_file or file).absolute().parent
    entry["table"] = {"file": _relative(stored, described)}
    return yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True, width=120)


def _layout(
    table: TextTable, id_column: str, rater_columns: Sequence[str], long: LongColumns | None
) -> dict[str, Any]:
    """Describe which cells are whose; every column that is named must be there."""
    in_long = {} if long is None else {key: value for key, value in asdict(long).items() if value is not None}
    for column in (id_column, *rater_columns, *in_long.values()):
        table.column(column)
    if in_long:
        return {"layout": "long", **in_long}
    return {"layout": "wide", "columns": list(rater_columns) or _rater_columns(table, id_column)}


def _id_column(table: TextTable, dataset: str, known: set[str]) -> str:
    """Find the column whose cells are ids of the data set: all of them, or else most."""
    shares = {
        column: sum(cell in known for cell in table.column(column)) / max(len(table.rows), 1)
        for column in table.columns
    }
    best = max(shares, key=lambda column: shares[column])
    if shares[best] <= 0.5:
        seen = some(table.column(table.columns[0])[:3])
        raise SourceError(
            f"{table.path}: no column holds ids of data set {dataset}; ids there look like {some(sorted(known)[:3])}, "
            f"the file's first column {table.columns[0]!r} holds {seen}; "
            "name the id column (--id-column), or the right data set (--dataset)"
        )
    return best


def _rater_columns(table: TextTable, id_column: str) -> list[str]:
    others = [column for column in table.columns if column != id_column]
    named = [column for column in others if _NAME_WITH_CONDITION.fullmatch(column)]
    if named:
        return named
    if len(others) == 1:
        return others
    if not others:
        raise SourceError(f"{table.path}: only the id column {id_column!r}; a column per rater is needed beside it")
    raise SourceError(
        f"{table.path}: which columns are raters? None is named 'model|condition'; there are {some(others)}; "
        "name each of them (--rater-column)"
    )


def _relative(target: Path, folder: Path) -> str:
    """Return a path as seen from a folder, with ``..`` where needed."""
    shared = 0
    for left, right in zip(target.parts, folder.parts, strict=False):
        if left != right:
            break
        shared += 1
    return Path(*[".."] * (len(folder.parts) - shared), *target.parts[shared:]).as_posix()
