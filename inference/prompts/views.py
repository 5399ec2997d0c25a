"""What a template may see of an item: texts, never the gold, the key or the score of the item that is asked about.

Golds are shown only for exemplars, which are other items. Holds no wording.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from inference.sources import BankFrames


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A reference answer."""

    text: str
    quality: str | None


@dataclass(frozen=True, slots=True)
class OptionView:
    """An option of a multiple-choice item."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class ItemView:
    """All that may be shown of an item."""

    stimulus: str | None
    """Question being graded, or passage."""
    rubric: str | None
    """Scoring rubric."""
    text: str | None
    """Student answer, or question stem."""
    stratum: str | None
    """Human population."""
    options: tuple[OptionView, ...]
    """Options in the order in which they are shown."""
    references: tuple[ReferenceView, ...]
    """Reference answers of the testlet."""
    min_score: float | None
    """Lowest score."""
    max_score: float | None
    """Highest score."""


@dataclass(frozen=True, slots=True)
class ExemplarView:
    """Another item, with the answer that humans gave it."""

    item: ItemView
    answer: str


@dataclass(frozen=True, slots=True)
class PromptView:
    """Everything that a template gets."""

    item: ItemView
    labels: tuple[str, ...]
    """Labels to choose from, in order; empty unless labels are asked for."""
    exemplars: tuple[ExemplarView, ...]
    persona: str | None
    strategy: str | None


class BankViews:
    """Views of the items of one bank."""

    def __init__(self, frames: BankFrames) -> None:
        self._references: dict[tuple[str, str], list[ReferenceView]] = {}
        for row in frames.reference_answers.iter_rows(named=True):
            view = ReferenceView(row["reference_text"], row["quality"])
            self._references.setdefault((row["dataset"], row["testlet_id"]), []).append(view)
        self._options: dict[tuple[str, str], list[OptionView]] = {}
        for row in frames.item_options.iter_rows(named=True):
            view_of_option = OptionView(row["option"], row["option_text"])
            self._options.setdefault((row["dataset"], row["item_id"]), []).append(view_of_option)
        self._rows = {(row["dataset"], row["item_id"]): row for row in _shown(frames.items).iter_rows(named=True)}

    def item(self, dataset: str, item_id: str, rotation: int = 0) -> ItemView:
        """Return the view of an item, its option texts moved on by ``rotation`` letters."""
        row = self._rows[dataset, item_id]
        return ItemView(
            stimulus=row["testlet_stimulus"],
            rubric=row["testlet_rubric"],
            text=row["item_text"],
            stratum=row["stratum"],
            options=_rotated(self._options.get((dataset, item_id), []), rotation),
            references=tuple(self._references.get((dataset, row["testlet_id"]), [])),
            min_score=row["min_score"],
            max_score=row["max_score"],
        )


def _shown(items: pl.DataFrame) -> pl.DataFrame:
    """Drop golds and keys before anything else can reach them."""
    return items.drop("gold_label", "gold_score", "answer_key", "extra")


def _rotated(options: list[OptionView], rotation: int) -> tuple[OptionView, ...]:
    n = len(options)
    return tuple(OptionView(options[i].letter, options[(i - rotation) % n].text) for i in range(n))


def view_as_json(view: PromptView) -> Mapping[str, object]:
    """Return a view as plain lists and objects, everything that it holds."""
    from dataclasses import asdict

    return asdict(view)
