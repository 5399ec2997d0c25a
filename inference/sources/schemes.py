"""An item under a response scheme: its range, its gold, and what makes it the same for a prompt and for the parser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.identity import canonical_json, hash_of
from inference.registry import BankSpec, Registry
from inference.rows import DatasetRow, ItemRow
from inference.sources.described import parse_number
from inference.sources.labels import known_spellings
from inference.sources.tables import SourceError


@dataclass(frozen=True, slots=True)
class Testlet:
    """What the items of a testlet share."""

    stimulus: str | None
    """Question or passage."""
    rubric: str | None
    """Scoring rubric."""
    stratum: str | None
    """Human population."""
    min_score: float | None
    """Lowest score."""
    max_score: float | None
    """Highest score."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """An item as its file has it, before it is put under a response scheme."""

    item_id: str
    """Id."""
    testlet_id: str
    """Testlet."""
    stratum: str | None
    """Human population."""
    split: str
    """Split."""
    test_part: str | None
    """Part of the test set."""
    text: str | None
    """Student answer or stem."""
    options: tuple[tuple[str, str], ...]
    """Letter and text of each option."""
    extra: tuple[tuple[str, str], ...]
    """Further columns to keep."""
    cells: Mapping[str, str]
    """The whole row, by column."""
    line: int
    """Line of the file."""


def dataset_row(bank: BankSpec, name: str, load_id: str, gold_version: str) -> DatasetRow:
    """Return the row of a data set in ``raw.datasets``."""
    dataset = bank.datasets[name]
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


class ItemBuilder:
    """Puts the items of a bank under one response scheme."""

    def __init__(
        self,
        bank: BankSpec,
        name: str,
        registry: Registry,
        load_id: str,
        testlets: Mapping[str, Testlet],
        references: Sequence[tuple[str, str, str, str | None]],
    ) -> None:
        self._bank, self._name, self._dataset, self._load_id = bank, name, bank.datasets[name], load_id
        self._testlets = testlets
        self._references: dict[str, list[list[str | None]]] = {}
        for testlet_id, _, text, quality in references:
            self._references.setdefault(testlet_id, []).append([text, quality])
        self._file = registry.path_of(bank, bank.items.file)
        label_set = registry.label_sets[self._dataset.label_set] if self._dataset.label_set else None
        self._labels = list(label_set.labels) if label_set else []
        self._spellings = known_spellings(registry, label_set.name) if label_set else None

    def __call__(self, item: SourceItem) -> ItemRow:
        """Return the row of an item in ``raw.items``.

        Raises
        ------
        SourceError
            The gold is not allowed, or the item has no score range where one is needed.
        """
        testlet = self._testlets.get(item.testlet_id, Testlet(None, None, None, None, None))
        low, high = self._range(item, testlet)
        gold = self._gold(item, low, high)
        kind = self._dataset.response_kind
        references = self._references.get(item.testlet_id, [])
        shown = [testlet.stimulus, testlet.rubric, item.stratum, item.text, item.options, references, low, high]
        letters = [letter for letter, _ in item.options] if kind == "choice" else None
        return ItemRow(
            load_id=self._load_id,
            dataset=self._name,
            item_id=item.item_id,
            testlet_id=item.testlet_id,
            testlet_stimulus=testlet.stimulus,
            testlet_rubric=testlet.rubric,
            stratum=item.stratum,
            split=item.split,
            test_part=item.test_part,
            item_text=item.text,
            gold_label=gold if kind == "label" else None,
            gold_score=float(gold) if kind == "score" and gold is not None else None,
            answer_key=gold if kind == "choice" else None,
            min_score=low,
            max_score=high,
            item_hash=hash_of(shown),
            scheme_hash=hash_of([kind, self._spellings, letters, low, high]),
            extra=canonical_json(dict(item.extra)) if item.extra else None,
        )

    def _range(self, item: SourceItem, testlet: Testlet) -> tuple[float | None, float | None]:
        if self._dataset.response_kind != "score":
            return None, None
        low = testlet.min_score if self._dataset.min_score is None else self._dataset.min_score
        high = testlet.max_score if self._dataset.max_score is None else self._dataset.max_score
        if low is None or high is None or low >= high:
            raise SourceError(
                f"{self._bank.yaml}: {self._name}: item {item.item_id!r} has the score range {low} to {high}; "
                "give min_score and max_score for the data set or as columns of the testlets"
            )
        return low, high

    def _gold(self, item: SourceItem, low: float | None, high: float | None) -> str | None:
        """Return the gold as text, checked against the scheme."""
        column, kind = self._dataset.gold, self._dataset.response_kind
        if column is None:
            return None
        place = f"{self._file}, line {item.line}, id {item.item_id!r}"
        cell = item.cells[column].strip()
        if kind == "score":
            if low is None or high is None or not low <= parse_number(cell) <= high:
                raise SourceError(f"{place}: gold {cell!r} is not a score from {low:g} to {high:g}; correct it")
            return cell
        allowed = self._labels if kind == "label" else [letter for letter, _ in item.options]
        gold = self._dataset.gold_map.get(cell) if self._dataset.gold_map else cell
        if gold not in allowed:
            expected = list(self._dataset.gold_map) or allowed
            raise SourceError(f"{place}: unknown gold {cell!r} in column {column}; expected one of {expected}")
        return gold
