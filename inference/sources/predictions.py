"""Describing anybody's prediction file: from a file to the registry entry that reads it.

Looks for the columns of ids and of raters, says what it cannot find, and writes nothing itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from inference.registry import RecordedSpec, Registry
from inference.registry.bank_specs import Encoding
from inference.registry.recorded_specs import Blank
from inference.registry.yaml_files import closest
from inference.sources.banks import BankFrames
from inference.sources.described import joined_ids
from inference.sources.recorded import RecordedRater, check_items, read_recorded
from inference.sources.tables import SourceError, TextTable, encoding_of, first_repeated, read_text_table, some

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


@dataclass(frozen=True, slots=True)
class Described:
    """A prediction file that fits its data set."""

    entry: str
    """YAML of the registry entry that reads it."""
    raters: tuple[RecordedRater, ...]
    """Whose responses it holds."""
    encoding: Encoding
    """How its text is written."""
    spec: RecordedSpec
    """The entry as it was read with the file where it is now."""


def describe_predictions(
    file: Path,
    dataset: str,
    registry: Registry,
    banks: Mapping[str, BankFrames],
    *,
    name: str,
    stored_as: Path | None = None,
    yaml_file: Path | None = None,
    id_columns: Sequence[str] = (),
    rater_columns: Sequence[str] = (),
    long: LongColumns | None = None,
    blank: Blank = "not_recorded",
    facts: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    title: str | None = None,
) -> Described:
    """Return the registry entry that reads a prediction file; the file has been read with it.

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
    id_columns
        Columns that name an item together, in the order of the bank's; looked for unless given.
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
        The file cannot be read, no column holds the data set's ids, an id is unknown or stands twice, or it is not
        clear which columns are raters.
    """
    bank = registry.bank_of(dataset)
    items = banks[bank.name].items
    known = set(items.filter(items["dataset"] == dataset)["item_id"])
    encoding = encoding_of(file)
    table = read_text_table(file, encoding=encoding)
    if not table.rows:
        raise SourceError(f"{file}: a header and no rows; a row per item is needed")
    ids = _id_columns(table, dataset, bank.items.item_id, known, tuple(id_columns))
    raters = _layout(table, ids, rater_columns, long)
    stated = {} if encoding == "utf-8" else {"encoding": encoding}
    entry = {
        "title": title or f"Predictions of {file.name}",
        "dataset": dataset,
        "collection": name,
        "task": "answer" if bank.datasets[dataset].response_kind == "choice" else "grade",
        "table": {"file": file.as_posix(), **stated},
        "item_id": ids[0] if len(ids) == 1 else list(ids),
        "raters": {**raters, "split_name": _SPLIT_NAME},
        "blank": blank,
        **({"facts": {pattern: dict(known_facts) for pattern, known_facts in facts.items()}} if facts else {}),
    }
    spec = RecordedSpec.model_validate({**entry, "name": name, "yaml": file.absolute().parent / f"{name}.yml"})
    spec = spec.model_copy(update={"table": spec.table.model_copy(update={"file": file.absolute().as_posix()})})
    responses = read_recorded(spec, registry)
    check_items(spec, responses, known)
    stored, described = (stored_as or file).absolute(), (yaml_file or file).absolute().parent
    entry["table"] = {"file": _relative(stored, described), **stated}
    text = yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True, width=120)
    return Described(text, responses, encoding, spec)


def _layout(
    table: TextTable, id_columns: tuple[str, ...], rater_columns: Sequence[str], long: LongColumns | None
) -> dict[str, Any]:
    """Describe which cells are whose; every column that is named must be there."""
    in_long = {} if long is None else {key: value for key, value in asdict(long).items() if value is not None}
    for column in (*rater_columns, *in_long.values()):
        table.column(column)
    if in_long:
        return {"layout": "long", **in_long}
    _refuse_long(table, id_columns, rater_columns)
    return {"layout": "wide", "columns": list(rater_columns) or _rater_columns(table, id_columns)}


def _refuse_long(table: TextTable, id_columns: tuple[str, ...], rater_columns: Sequence[str]) -> None:
    """Refuse a file that looks as if it had a row per item and rater, with what is to be named for one."""
    others = [column for column in table.columns if column not in (*id_columns, *rater_columns)]
    sign = _sign_of_long(table, id_columns, rater_columns)
    if not sign or not others or len(rater_columns) > 1 or any(map(_NAME_WITH_CONDITION.fullmatch, others)):
        return
    if rater_columns:
        lacking = f"--response-column is missing, the column with the responses: one of {some(others)}"
    elif len(others) > 1:
        lacking = (
            "--rater-column and --response-column are missing, the columns with the raters and the responses: two of "
            f"{some(others)}"
        )
    else:
        return
    raise SourceError(
        f"{table.path}: {sign}; for a file with a row per item and rater {lacking}; otherwise, keep one row per item"
    )


def _sign_of_long(table: TextTable, id_columns: tuple[str, ...], rater_columns: Sequence[str]) -> str:
    """Say what a table shows that one with a row per item would not; nothing where there is no such sign."""
    if repeated := first_repeated(joined_ids(table, id_columns), table.lines):
        item, lines = repeated
        return f"{', '.join(id_columns)} {item!r} stands on lines {lines[0]}, {lines[1]}"
    for column in rater_columns:
        names = set(table.column(column))
        if len(names) == 1 and _NAME_WITH_CONDITION.fullmatch(name := names.pop()):
            return f"column {column!r} holds {name!r} on every line"
    return ""


def _id_columns(
    table: TextTable, dataset: str, own: tuple[str, ...], known: set[str], given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns given, or those that hold most ids of the data set; the bank's own come first."""
    table.require(given, "correct --id-column")
    whole = [own] if set(own) <= set(table.columns) else []
    single = [(column,) for column in sorted(table.columns, key=lambda name: name not in own)]
    candidates = [given] if given else [*whole, *single]
    n_known = {columns: sum(item in known for item in joined_ids(table, columns)) for columns in candidates}
    best = max(candidates, key=lambda columns: n_known[columns])
    if n_known[best]:
        return best
    ids, named = joined_ids(table, best), " and ".join(map(repr, best))
    remedy = "name the id column (--id-column; --item-field for a log), or the right data set (--dataset)"
    if len(own) > 1 and best != own:
        remedy = _remedy_for_half(table, own, given)
        if repeated := first_repeated(ids, table.lines):
            named += f", where {repeated[0]!r} stands on lines {', '.join(map(str, repeated[1]))},"
    raise SourceError(
        f"{table.path}: no column holds ids of data set {dataset}; ids there look like {some(sorted(known)[:3])}, "
        f"in the file {named} holds {some(ids[:3])}; {remedy}"
    )


def _remedy_for_half(table: TextTable, own: tuple[str, ...], given: tuple[str, ...]) -> str:
    """Say which columns name an item together, which of them the file lacks, and what to type."""
    # who has given a column for each calls them otherwise, and lacks none
    lacking = "" if len(given) == len(own) else table.lacking(own)
    options = " ".join(f"--id-column {closest(column, table.columns) or f'COLUMN_OF_{column}'}" for column in own)
    return (
        f"an item there is named by {' and '.join(own)} together{f', and the file has {lacking}' if lacking else ''}; "
        f"{'add what is lacking, or ' if lacking else ''}name the column of each in order ({options})"
    )


def _rater_columns(table: TextTable, id_columns: tuple[str, ...]) -> list[str]:
    others = [column for column in table.columns if column not in id_columns]
    named = [column for column in others if _NAME_WITH_CONDITION.fullmatch(column)]
    if named:
        return named
    if len(others) == 1:
        return others
    if not others:
        raise SourceError(f"{table.path}: nothing but {some(id_columns)}; a column per rater is needed beside the ids")
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
