"""Item banks: files described by a registry entry become the bank tables of ``raw``.

Knows what an item, a testlet, a reference and a gold are, and what makes two items the same for a prompt and for the
parser. Knows no format of files (``tables``, ``semeval``) and no rater.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from inference.identity import file_hash, hash_of
from inference.registry import BankSpec, Registry
from inference.registry.bank_specs import ItemTableSpec, ReferenceTableSpec, Split, TestletTableSpec
from inference.rows import DatasetRow, ItemOptionRow, ItemRow, LoadRow, ReferenceAnswerRow, frame_of
from inference.sources.described import composite_ids, number, optional, read_table, unique_ids
from inference.sources.human import read_human
from inference.sources.labels import known_spellings
from inference.sources.schemes import ItemBuilder, SourceItem, Testlet, dataset_row
from inference.sources.tables import SourceError, TextTable

_Reference = tuple[str, str, str, str | None]
"""testlet_id, reference_id, text, quality."""


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


def bank_fingerprint(bank: BankSpec, registry: Registry) -> str:
    """Return a hash of a bank's description, label sets and files; nothing is parsed."""
    files = {table.file: file_hash(registry.path_of(bank, table.file)) for table in bank.tables}
    schemes = {name: known_spellings(registry, ds.label_set)
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
    references = _references_in_use(bank, registry, items)
    rows: list[ItemRow] = []
    described: list[DatasetRow] = []
    options: list[ItemOptionRow] = []
    for name, dataset in bank.datasets.items():
        build = ItemBuilder(bank, name, registry, load_id, testlets, references)
        built = [build(item) for item in items]
        golds = sorted((row.item_id, row.gold_label, row.gold_score, row.answer_key) for row in built)
        described.append(dataset_row(bank, name, load_id, hash_of(golds)))
        rows.extend(built)
        if dataset.response_kind == "choice":
            options.extend(ItemOptionRow(load_id, name, item.item_id, *pair) for item in items for pair in item.options)
    return BankFrames(
        load=LoadRow(load_id, "bank", bank.name, fingerprint, len(rows), datetime.now(UTC), True),
        datasets=frame_of(DatasetRow, described),
        items=frame_of(ItemRow, rows),
        item_options=frame_of(ItemOptionRow, options),
        reference_answers=frame_of(
            ReferenceAnswerRow,
            (ReferenceAnswerRow(load_id, name, *reference) for name in bank.datasets for reference in references),
        ),
        human_item_statistics=read_human(bank, registry, load_id, {item.item_id for item in items}),
    )


def _read_testlets(spec: TestletTableSpec, path: Path) -> dict[str, Testlet]:
    table = read_table(spec, path)
    columns = (spec.stimulus, spec.rubric, spec.stratum, spec.min_score, spec.max_score)
    found: dict[str, Testlet] = {}
    ids = composite_ids(table, spec.testlet_id)
    cells = zip(*(optional(table, column) for column in columns), strict=True)
    for testlet_id, line, (stimulus, rubric, stratum, low, high) in zip(ids, table.lines, cells, strict=True):
        low_score = number(table, line, spec.min_score or "", low)
        high_score = number(table, line, spec.max_score or "", high)
        testlet = Testlet(stimulus, rubric, stratum, low_score, high_score)
        if found.setdefault(testlet_id, testlet) != testlet:
            raise SourceError(
                f"{path}, line {line}: testlet {testlet_id!r} was described otherwise further up; make its rows agree"
            )
    return found


def _references_in_use(bank: BankSpec, registry: Registry, items: list[SourceItem]) -> list[_Reference]:
    """Read the reference answers of the testlets that have items."""
    spec: ReferenceTableSpec | None = bank.references
    if spec is None:
        return []
    table = read_table(spec, registry.path_of(bank, spec.file))
    unique_ids(table, (*spec.testlet_id, spec.reference_id))
    used = {item.testlet_id for item in items}
    rows = zip(
        composite_ids(table, spec.testlet_id),
        table.column(spec.reference_id),
        table.column(spec.reference_text),
        optional(table, spec.quality),
        strict=True,
    )
    return [row for row in rows if row[0] in used]


def _read_items(bank: BankSpec, path: Path, testlets: Mapping[str, Testlet]) -> list[SourceItem]:
    spec = bank.items
    table = read_table(spec, path)
    for name, dataset in bank.datasets.items():
        gold = (dataset.gold,) if dataset.gold is not None else ()
        table.require(gold, f"correct the gold's name there, or {bank.name}.datasets.{name}.gold in {bank.yaml}")
    ids = unique_ids(table, spec.item_id)
    testlet_ids = composite_ids(table, spec.testlet_id) if spec.testlet_id else ids
    splits, parts = _splits(spec, table, ids)
    strata = optional(table, spec.stratum)
    texts = table.column(spec.item_text) if spec.item_text else (None,) * len(ids)
    options = {letter: table.column(column) for letter, column in spec.options.items()}
    extra = {column: table.column(column) for column in spec.extra}
    items = []
    for i, item_id in enumerate(ids):
        testlet = testlets.get(testlet_ids[i])
        if bank.testlets is not None and testlet is None:
            raise SourceError(
                f"{path}, line {table.lines[i]}, id {item_id!r}: testlet {testlet_ids[i]!r} is not in "
                f"{bank.testlets.file}; add it there"
            )
        items.append(
            SourceItem(
                item_id=item_id,
                testlet_id=testlet_ids[i],
                stratum=strata[i] or (testlet.stratum if testlet else None),
                split=splits[i],
                test_part=parts[i],
                text=texts[i],
                options=tuple((letter, column[i]) for letter, column in options.items() if column[i]),
                extra=tuple((name, column[i]) for name, column in extra.items()),
                cells=dict(zip(table.columns, table.rows[i], strict=True)),
                line=table.lines[i],
            )
        )
    return items


def _splits(spec: ItemTableSpec, table: TextTable, ids: tuple[str, ...]) -> tuple[list[str], list[str | None]]:
    """Return the split and the test part of each item."""
    allowed: dict[str, Split] = spec.splits or {"train": "train", "validation": "validation", "test": "test"}
    cells = table.column(spec.split) if spec.split else ("test",) * len(ids)
    for cell, item_id, line in zip(cells, ids, table.lines, strict=True):
        if cell not in allowed:
            raise SourceError(
                f"{table.path}, line {line}, id {item_id!r}: unknown split {cell!r}; expected one of {sorted(allowed)}"
            )
    parts = [spec.test_parts.get(cell or "") for cell in optional(table, spec.test_part)]
    return [allowed[cell] for cell in cells], [part if part is None else str(part) for part in parts]
