"""Item banks: files described by a registry entry become the bank tables of ``raw``.

Knows what an item, a testlet, a reference and a gold are, and what makes two items the same for a prompt and for the
parser. Knows no format of files (``tables``, ``semeval``) and no rater.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from inference.identity import canonical_json, encode_id, file_hash, hash_of
from inference.registry import BankSpec, DatasetSpec, LabelSetSpec, Registry
from inference.registry.specs import HumanStatisticsSpec, ReferenceTableSpec, TableSpec, TestletTableSpec
from inference.rows import (
    DatasetRow,
    HumanItemStatisticsRow,
    ItemOptionRow,
    ItemRow,
    LabelRow,
    LoadRow,
    ReferenceAnswerRow,
    frame_of,
)
from inference.sources.semeval import read_answers, read_references
from inference.sources.tables import SourceError, TextTable, first_repeated, read_text_table

_READERS: dict[str, Callable[[Path], TextTable]] = {
    "csv": read_text_table,
    "semeval_answers": read_answers,
    "semeval_references": read_references,
}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class BankFrames:
    """One reading of a bank: the rows that it brings to ``raw``."""

    load: LoadRow
    """The reading itself."""
    datasets: pl.DataFrame
    """DatasetRow."""
    items: pl.DataFrame
    """ItemRow, every split."""
    item_options: pl.DataFrame
    """ItemOptionRow."""
    reference_answers: pl.DataFrame
    """ReferenceAnswerRow."""
    human_item_statistics: pl.DataFrame
    """HumanItemStatisticsRow."""


@dataclass(frozen=True, slots=True)
class _Testlet:
    """What the items of a testlet share."""

    stimulus: str | None
    rubric: str | None
    stratum: str | None
    min_score: float | None
    max_score: float | None


@dataclass(frozen=True, slots=True)
class _Item:
    """An item before it is put under a response scheme."""

    item_id: str
    testlet_id: str
    stratum: str | None
    split: str
    test_part: str | None
    text: str | None
    options: tuple[tuple[str, str], ...]
    extra: tuple[tuple[str, str], ...]
    cells: Mapping[str, str]
    line: int


def read_table(spec: TableSpec, path: Path) -> TextTable:
    """Read the rows that a table description asks for."""
    return _READERS[spec.format](path).where(spec.where)


def composite_ids(table: TextTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return one id per row from one or several columns.

    Raises
    ------
    SourceError
        An id is blank.
    """
    parts = list(zip(*(table.column(name) for name in columns), strict=True))
    for cells, line in zip(parts, table.lines, strict=True):
        if not all(cells):
            raise SourceError(f"{table.path}, line {line}: {' or '.join(columns)} is blank; every row needs an id")
    return tuple(cells[0] if len(columns) == 1 else encode_id(cells) for cells in parts)


def unique_ids(table: TextTable, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return ids as :func:`composite_ids` does, and stop where one stands twice.

    Raises
    ------
    SourceError
        An id is blank or stands twice; the message gives its lines.
    """
    ids = composite_ids(table, columns)
    repeated = first_repeated(ids, table.lines)
    if repeated is not None:
        raise SourceError(
            f"{table.path}: {', '.join(columns)} {repeated[0]!r} stands on lines "
            f"{', '.join(map(str, repeated[1]))}; make ids unique, or name the further columns that belong to the key"
        )
    return ids


def bank_fingerprint(bank: BankSpec, registry: Registry) -> str:
    """Return a hash of a bank's description, label sets and files; nothing is parsed."""
    files = {table.file: file_hash(registry.path_of(bank, table.file)) for table in bank.tables}
    schemes = {name: _scheme_of_labels(registry.label_sets[ds.label_set])
               for name, ds in bank.datasets.items() if ds.label_set is not None}  # fmt: skip
    return hash_of([bank.model_dump(mode="json", exclude={"yaml"}), schemes, files])


def read_bank(bank: BankSpec, registry: Registry) -> BankFrames:
    """Read a bank under all of its response schemes.

    Raises
    ------
    SourceError
        A column is missing, an id stands twice, a gold or split is not allowed, or tables do not fit together; the
        message names file, line, id and remedy.
    """
    fingerprint = bank_fingerprint(bank, registry)
    load_id = f"bank:{bank.name}:{fingerprint[:16]}"
    testlets = _read_testlets(bank.testlets, registry.path_of(bank, bank.testlets.file)) if bank.testlets else {}
    items = _read_items(bank, registry.path_of(bank, bank.items.file), testlets)
    used = {item.testlet_id for item in items}
    references = (
        _read_references(bank.references, registry.path_of(bank, bank.references.file), used) if bank.references else []
    )
    shown_references: dict[str, list[str]] = {}
    for testlet_id, _, text, quality in references:
        shown_references.setdefault(testlet_id, []).append(f"{quality or ''}|{text}")
    rows: list[ItemRow] = []
    described: list[DatasetRow] = []
    for name, dataset in bank.datasets.items():
        build = _ItemBuilder(bank, name, dataset, registry, load_id, testlets, shown_references)
        built = [build(item) for item in items]
        golds = [(row.item_id, row.gold_label, row.gold_score, row.answer_key) for row in built]
        described.append(_dataset_row(bank, name, dataset, load_id, hash_of(golds)))
        rows.extend(built)
    choices = [name for name, dataset in bank.datasets.items() if dataset.response_kind == "choice"]
    return BankFrames(
        load=LoadRow(load_id, "bank", bank.name, fingerprint, len(rows), datetime.now(UTC), True),
        datasets=frame_of(DatasetRow, described),
        items=frame_of(ItemRow, rows),
        item_options=frame_of(
            ItemOptionRow,
            (ItemOptionRow(load_id, name, item.item_id, *option) for name in choices for item in items
             for option in item.options),
        ),
        reference_answers=frame_of(
            ReferenceAnswerRow,
            (ReferenceAnswerRow(load_id, name, *reference) for name in bank.datasets for reference in references),
        ),
        human_item_statistics=_read_human(bank, registry, load_id, {item.item_id for item in items}),
    )  # fmt: skip


def canonical_spelling(text: str) -> str:
    """Return the form in which labels are compared: lower case, words joined by one blank."""
    return " ".join(re.sub(r"[\s_\-]+", " ", text).split()).lower()


def label_rows(registry: Registry) -> pl.DataFrame:
    """Return every accepted spelling of every label (LabelRow).

    Raises
    ------
    SourceError
        One spelling belongs to two labels of a set.
    """
    return frame_of(LabelRow, [row for spec in registry.label_sets.values() for row in _labels_of(spec)])


def _labels_of(spec: LabelSetSpec) -> list[LabelRow]:
    owner: dict[str, str] = {}
    rows = []
    for position, (label, synonyms) in enumerate(spec.labels.items()):
        for spelling in dict.fromkeys(canonical_spelling(text) for text in (label, *synonyms)):
            if spelling in owner:
                raise SourceError(
                    f"{spec.yaml}: {spec.name}: spelling {spelling!r} belongs to {owner[spelling]!r} and to {label!r}; "
                    "remove it from one"
                )
            owner[spelling] = label
            rows.append(LabelRow(spec.name, label, position, spelling))
    return rows


def _scheme_of_labels(spec: LabelSetSpec) -> list[tuple[str, str]]:
    return sorted((row.label, row.synonym) for row in _labels_of(spec))


def _dataset_row(bank: BankSpec, name: str, dataset: DatasetSpec, load_id: str, gold_version: str) -> DatasetRow:
    return DatasetRow(
        load_id=load_id,
        dataset=name,
        bank=bank.name,
        benchmark=dataset.benchmark or name,
        title=dataset.title,
        paradigm=bank.paradigm,
        response_kind=dataset.response_kind,
        label_set=dataset.label_set,
        licence=bank.licence,
        is_text_public=bank.is_text_public,
        is_gold_public=bank.is_gold_public,
        gold_version=gold_version[:16],
        source=bank.source,
    )


def _optional(table: TextTable, column: str | None) -> tuple[str | None, ...]:
    """Return a column with blanks as null; all null where the description names no column."""
    if column is None:
        return (None,) * len(table.rows)
    return tuple(cell or None for cell in table.column(column))


def _number(table: TextTable, line: int, column: str, cell: str | None) -> float | None:
    if cell is None or not cell.strip():
        return None
    value = float(cell) if _NUMBER.fullmatch(cell.strip()) else math.nan
    if not math.isfinite(value):
        raise SourceError(f"{table.path}, line {line}: {column} is {cell!r}; expected a number such as 3 or 0.5")
    return value


def _read_testlets(spec: TestletTableSpec, path: Path) -> dict[str, _Testlet]:
    table = read_table(spec, path)
    columns = (spec.stimulus, spec.rubric, spec.stratum, spec.min_score, spec.max_score)
    found: dict[str, _Testlet] = {}
    ids = composite_ids(table, spec.testlet_id)
    cells = zip(*(_optional(table, column) for column in columns), strict=True)
    for testlet_id, line, (stimulus, rubric, stratum, low, high) in zip(ids, table.lines, cells, strict=True):
        low_score = _number(table, line, spec.min_score or "", low)
        high_score = _number(table, line, spec.max_score or "", high)
        testlet = _Testlet(stimulus, rubric, stratum, low_score, high_score)
        if found.setdefault(testlet_id, testlet) != testlet:
            raise SourceError(
                f"{path}, line {line}: testlet {testlet_id!r} was described otherwise further up; make its rows agree"
            )
    return found


def _read_references(spec: ReferenceTableSpec, path: Path, used: set[str]) -> list[tuple[str, str, str, str | None]]:
    """Read (testlet_id, reference_id, text, quality) of the testlets that have items."""
    table = read_table(spec, path)
    unique_ids(table, (*spec.testlet_id, spec.reference_id))
    rows = zip(
        composite_ids(table, spec.testlet_id),
        table.column(spec.reference_id),
        table.column(spec.reference_text),
        _optional(table, spec.quality),
        strict=True,
    )
    return [row for row in rows if row[0] in used]


def _read_items(bank: BankSpec, path: Path, testlets: Mapping[str, _Testlet]) -> list[_Item]:
    spec = bank.items
    table = read_table(spec, path)
    ids = unique_ids(table, spec.item_id)
    testlet_ids = composite_ids(table, spec.testlet_id) if spec.testlet_id else ids
    strata, parts = _optional(table, spec.stratum), _optional(table, spec.test_part)
    splits = table.column(spec.split) if spec.split else ("test",) * len(ids)
    allowed = spec.splits or {name: name for name in ("train", "validation", "test")}
    texts = table.column(spec.item_text) if spec.item_text else (None,) * len(ids)
    options = {letter: table.column(column) for letter, column in spec.options.items()}
    extra = {column: table.column(column) for column in spec.extra}
    items = []
    for i, item_id in enumerate(ids):
        place = f"{table.path}, line {table.lines[i]}, id {item_id!r}"
        if splits[i] not in allowed:
            raise SourceError(f"{place}: unknown split {splits[i]!r}; expected one of {sorted(allowed)}")
        if bank.testlets is not None and testlet_ids[i] not in testlets:
            raise SourceError(f"{place}: testlet {testlet_ids[i]!r} is not in {bank.testlets.file}; add it there")
        testlet = testlets.get(testlet_ids[i])
        items.append(
            _Item(
                item_id=item_id,
                testlet_id=testlet_ids[i],
                stratum=strata[i] or (testlet.stratum if testlet else None),
                split=allowed[splits[i]],
                test_part=_test_part(spec.test_parts, parts[i]),
                text=texts[i],
                options=tuple((letter, column[i]) for letter, column in options.items() if column[i]),
                extra=tuple((name, column[i]) for name, column in extra.items()),
                cells=dict(zip(table.columns, table.rows[i], strict=True)),
                line=table.lines[i],
            )
        )
    return items


def _test_part(names: Mapping[str, str], cell: str | None) -> str | None:
    return None if cell is None else names.get(cell)


class _ItemBuilder:
    """Puts items of a bank under one response scheme."""

    def __init__(
        self,
        bank: BankSpec,
        name: str,
        dataset: DatasetSpec,
        registry: Registry,
        load_id: str,
        testlets: Mapping[str, _Testlet],
        references: Mapping[str, list[str]],
    ) -> None:
        self.bank, self.name, self.dataset, self.load_id = bank, name, dataset, load_id
        self.testlets, self.references = testlets, references
        self.file = registry.path_of(bank, bank.items.file)
        spec = registry.label_sets[dataset.label_set] if dataset.label_set else None
        self.labels = tuple(spec.labels) if spec else ()
        self.scheme = _scheme_of_labels(spec) if spec else None

    def __call__(self, item: _Item) -> ItemRow:
        testlet = self.testlets.get(item.testlet_id, _Testlet(None, None, None, None, None))
        low, high = self._range(item, testlet)
        label, score, key = self._gold(item, low, high)
        references = self.references.get(item.testlet_id, [])
        shown = [testlet.stimulus, testlet.rubric, item.stratum, item.text, item.options, references, low, high]
        letters = [letter for letter, _ in item.options] if self.dataset.response_kind == "choice" else None
        return ItemRow(
            load_id=self.load_id,
            dataset=self.name,
            item_id=item.item_id,
            testlet_id=item.testlet_id,
            testlet_stimulus=testlet.stimulus,
            testlet_rubric=testlet.rubric,
            stratum=item.stratum,
            split=item.split,
            test_part=item.test_part,
            item_text=item.text,
            gold_label=label,
            gold_score=score,
            answer_key=key,
            min_score=low,
            max_score=high,
            item_hash=hash_of(shown),
            scheme_hash=hash_of([self.dataset.response_kind, self.scheme, letters, low, high]),
            extra=canonical_json(dict(item.extra)) if item.extra else None,
        )

    def _range(self, item: _Item, testlet: _Testlet) -> tuple[float | None, float | None]:
        if self.dataset.response_kind != "score":
            return None, None
        low = testlet.min_score if self.dataset.min_score is None else self.dataset.min_score
        high = testlet.max_score if self.dataset.max_score is None else self.dataset.max_score
        if low is None or high is None or low >= high:
            raise SourceError(
                f"{self.bank.yaml}: {self.name}: item {item.item_id!r} has the score range {low} to {high}; "
                "give min_score and max_score for the data set or as columns of the testlets"
            )
        return low, high

    def _gold(self, item: _Item, low: float | None, high: float | None) -> tuple[str | None, float | None, str | None]:
        """Return (label, score, key), of which at most one is given."""
        if self.dataset.gold is None:
            return None, None, None
        place = f"{self.file}, line {item.line}, id {item.item_id!r}"
        if self.dataset.gold not in item.cells:
            raise SourceError(
                f"{self.file}: no column {self.dataset.gold!r} (gold of {self.name}); it has {list(item.cells)}"
            )
        cell = item.cells[self.dataset.gold].strip()
        kind = self.dataset.response_kind
        if kind == "score":
            value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
            if low is None or high is None or not low <= value <= high:
                raise SourceError(f"{place}: gold {cell!r} is not a score from {low:g} to {high:g}; correct it")
            return None, value, None
        allowed = list(self.labels) if kind == "label" else [letter for letter, _ in item.options]
        gold = self.dataset.gold_map.get(cell) if self.dataset.gold_map else cell
        if gold not in allowed:
            raise SourceError(
                f"{place}: unknown gold {cell!r} in column {self.dataset.gold}; "
                f"expected one of {list(self.dataset.gold_map) or allowed}"
            )
        return (gold, None, None) if kind == "label" else (None, None, gold)


def _read_human(bank: BankSpec, registry: Registry, load_id: str, known: set[str]) -> pl.DataFrame:
    spec = bank.human_statistics
    if spec is None:
        return frame_of(HumanItemStatisticsRow, [])
    table = read_table(spec, registry.path_of(bank, spec.file))
    rows = [row for name in bank.datasets for row in _human_rows(table, spec, load_id, name, known)]
    return frame_of(HumanItemStatisticsRow, rows)


def _human_rows(
    table: TextTable, spec: HumanStatisticsSpec, load_id: str, dataset: str, known: set[str]
) -> list[HumanItemStatisticsRow]:
    key = (*spec.item_id, *((spec.stratum,) if spec.stratum else ()))
    unique_ids(table, key)
    strata = table.column(spec.stratum) if spec.stratum else ("all",) * len(table.rows)
    rows = []
    for i, item_id in enumerate(composite_ids(table, spec.item_id)):
        line = table.lines[i]
        if item_id not in known:
            raise SourceError(f"{table.path}, line {line}: item {item_id!r} is not in the bank; correct the id")
        cells = dict(zip(table.columns, table.rows[i], strict=True))
        values = {stat: _number(table, line, column, cells.get(column)) for stat, column in spec.columns.items()}
        n = values.get("n")
        rows.append(
            HumanItemStatisticsRow(
                load_id, dataset, item_id, strata[i], spec.source,
                *(values.get(stat) for stat in ("difficulty", "discrimination", "a", "b", "c", "facility")),
                None if n is None else int(n),
            )
        )  # fmt: skip
    return rows
