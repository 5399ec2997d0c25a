"""What a template may see of an item: texts, never the gold or the score of the item that is asked about.

Golds are shown for exemplars, which are other items; a key only where the task is a prediction about the item. Holds no
wording.
"""

from dataclasses import dataclass, replace

import polars as pl

from inference.sources import BankFrames


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A reference answer."""

    text: str
    """Text."""
    quality: str | None
    """Quality as the bank states it."""


@dataclass(frozen=True, slots=True)
class OptionView:
    """An option of a multiple-choice item."""

    letter: str
    """Letter under which it is shown."""
    text: str
    """Text."""


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
    """Another item, with what humans said about it."""

    item: ItemView
    """The item."""
    answer: str
    """Gold, as a rater would write it."""
    key: str | None
    """Key, where the task is a prediction about items."""


@dataclass(frozen=True, slots=True)
class PromptView:
    """Everything that a template gets."""

    item: ItemView
    """Item that is asked about."""
    labels: tuple[str, ...] = ()
    """Labels to choose from, in order; empty unless labels are asked for."""
    exemplars: tuple[ExemplarView, ...] = ()
    """Other items with their golds."""
    persona: str | None = None
    """Persona of the rater."""
    strategy: str | None = None
    """Prompting strategy."""
    population: str | None = None
    """Description of the human population."""
    key: str | None = None
    """Key of the item; null unless the task is a prediction about the item."""


class BankViews:
    """Views of the items of one bank."""

    def __init__(self, frames: BankFrames) -> None:
        self._references: dict[tuple[str, str], list[ReferenceView]] = {}
        for row in frames.reference_answers.iter_rows(named=True):
            view = ReferenceView(row["reference_text"], row["quality"])
            self._references.setdefault((row["dataset"], row["testlet_id"]), []).append(view)
        self._options: dict[tuple[str, str], list[OptionView]] = {}
        for row in frames.item_options.iter_rows(named=True):
            option = OptionView(row["option"], row["option_text"])
            self._options.setdefault((row["dataset"], row["item_id"]), []).append(option)
        self._rows = {(row["dataset"], row["item_id"]): row for row in _shown(frames.items).iter_rows(named=True)}

    def item(self, dataset: str, item_id: str, *, rotation: int = 0, shows_stratum: bool = True) -> ItemView:
        """Return the view of an item, its option texts moved on by ``rotation`` letters."""
        row = self._rows[dataset, item_id]
        return ItemView(
            stimulus=row["testlet_stimulus"],
            rubric=row["testlet_rubric"],
            text=row["item_text"],
            stratum=row["stratum"] if shows_stratum else None,
            options=_rotated(self._options.get((dataset, item_id), []), rotation),
            references=tuple(self._references.get((dataset, row["testlet_id"]), [])),
            min_score=row["min_score"],
            max_score=row["max_score"],
        )

    def place(self, dataset: str, item_id: str) -> tuple[str, str | None]:
        """Return testlet and human population of an item."""
        row = self._rows[dataset, item_id]
        return row["testlet_id"], row["stratum"]


def _shown(items: pl.DataFrame) -> pl.DataFrame:
    """Drop golds and keys before anything else can reach them."""
    return items.drop("gold_label", "gold_score", "answer_key", "extra")


def _rotated(options: list[OptionView], rotation: int) -> tuple[OptionView, ...]:
    """Move the texts on by ``rotation`` places; the letters stay in order."""
    n = len(options)
    return tuple(replace(options[i], text=options[(i - rotation) % n].text) for i in range(n))
