"""What a person may write about label sets and item banks.

A field's description is the string below it. Holds declarations and checks that need nothing but the entry itself.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from inference.registry.base import Entry, Root, Spec, Texts
from inference.rows import Paradigm, ResponseKind

TableFormat = Literal["csv", "semeval_answers", "semeval_references"]
Encoding = Literal["utf-8", "cp1252"]
Split = Literal["train", "validation", "test"]
TestPart = Literal["unseen_answers", "unseen_questions", "unseen_domains"]
HumanStatistic = Literal["difficulty", "discrimination", "a", "b", "c", "facility", "n"]


class LabelSetSpec(Entry):
    """Labels that answers are drawn from, in order."""

    title: str
    """Human-readable name."""
    labels: dict[str, Texts]
    """Label -> further spellings that the parser accepts; the label itself is always one."""


class TableSpec(Spec):
    """A file read as text columns."""

    file: str
    """Path below the root."""
    format: TableFormat = "csv"
    """`csv` for any delimited file; the others read the SemEval archive into the columns of its CSV form."""
    encoding: Encoding = "utf-8"
    """How a delimited file is written; one that is not UTF-8 is read as cp1252 and said so, unless that stands here."""
    where: dict[str, str] = Field(default_factory=dict)
    """Keep rows whose cells equal these (column -> value)."""


class ItemTableSpec(TableSpec):
    """The file with one row per item."""

    item_id: Texts
    """Column with the id; several columns make one composite id."""
    testlet_id: Texts = ()
    """Column with the testlet; none makes each item its own testlet."""
    item_text: str | None = None
    """Column with the student answer or question stem."""
    stratum: str | None = None
    """Column with the human population."""
    split: str | None = None
    """Column with the split; none makes every item a test item."""
    splits: dict[str, Split] = Field(default_factory=dict)
    """Value of the split column -> split; needed where the values differ from ours."""
    test_part: str | None = None
    """Column with the part of the test set."""
    test_parts: dict[str, TestPart] = Field(default_factory=dict)
    """Value of that column -> part; values not named have none."""
    options: dict[str, str] = Field(default_factory=dict)
    """Option letter -> column, for multiple choice."""
    extra: Texts = ()
    """Further columns to keep beside the item, verbatim; never one that gives the gold away."""


class TestletTableSpec(TableSpec):
    """The file with the stimulus of each testlet; repeated rows must agree."""

    testlet_id: Texts
    """Column with the testlet."""
    stimulus: str
    """Column with the question or passage."""
    rubric: str | None = None
    """Column with the scoring rubric."""
    stratum: str | None = None
    """Column with the human population of the whole testlet."""
    min_score: str | None = None
    """Column with the lowest score."""
    max_score: str | None = None
    """Column with the highest score."""


class ReferenceTableSpec(TableSpec):
    """The file with one row per reference answer."""

    testlet_id: Texts
    """Column with the testlet."""
    reference_id: str
    """Column with the id of the reference, unique in its testlet."""
    reference_text: str
    """Column with the text."""
    quality: str | None = None
    """Column with the quality."""


class HumanStatisticsSpec(TableSpec):
    """The file with human statistics, one row per item and stratum."""

    item_id: Texts
    """Column with the item."""
    stratum: str | None = None
    """Column with the population; none means one population, `all`."""
    source: str
    """Where the statistics were published, in words."""
    columns: dict[HumanStatistic, str]
    """Statistic -> column."""


class DatasetSpec(Spec):
    """One response scheme of a bank."""

    title: str
    """Human-readable name."""
    response_kind: ResponseKind
    """What one response is."""
    gold: str | None = None
    """Column of the item file with the gold; none where golds are not known."""
    gold_map: dict[str, str] = Field(default_factory=dict)
    """Gold in the file -> label of the label set, for coarser schemes."""
    label_set: str | None = None
    """Label set; for labels only."""
    min_score: float | None = None
    """Lowest score, where it is one for all items."""
    max_score: float | None = None
    """Highest score, where it is one for all items."""
    benchmark: str | None = None
    """Larger set that it is rolled up into."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.response_kind == "label") != (self.label_set is not None):
            raise ValueError("label_set goes with response_kind label, and only with it; add or remove it")
        return self


class BankSpec(Entry):
    """Texts, golds and human statistics from one source."""

    title: str
    """Human-readable name."""
    source: str
    """Where it comes from, in words."""
    licence: str
    """Licence of the texts."""
    paradigm: Paradigm
    """Kind of assessment."""
    is_text_public: bool = False
    """Whether texts may appear in the public file."""
    is_gold_public: bool = False
    """Whether golds may appear in the public file."""
    root: Root = "registry"
    """Where its files lie: beside the YAML, or below `THETAHOUSE_DATA`."""
    items: ItemTableSpec
    """Items."""
    testlets: TestletTableSpec | None = None
    """Stimuli."""
    references: ReferenceTableSpec | None = None
    """Reference answers."""
    human_statistics: HumanStatisticsSpec | None = None
    """Human statistics."""
    datasets: dict[str, DatasetSpec]
    """Data sets made from the bank."""

    @property
    def tables(self) -> tuple[TableSpec, ...]:
        """Every table that it names."""
        named = (self.items, self.testlets, self.references, self.human_statistics)
        return tuple(table for table in named if table is not None)
