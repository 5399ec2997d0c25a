"""The shapes of registry entries: what a person may write in YAML.

Each class is one kind of entry; a field's description is the string below it. Holds declarations and checks that need
nothing but the entry itself: no reading of files, no look-ups across entries.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from inference.registry.generation import read_runtime, read_settings
from inference.rows import Paradigm, ResponseKind, Task

EngineKind = Literal["baseline", "recorded", "vllm", "openai", "batch"]
Root = Literal["registry", "data"]
Blank = Literal["not_recorded", "empty"]
TableFormat = Literal["csv", "semeval_answers", "semeval_references"]
Split = Literal["train", "validation", "test"]
TestPart = Literal["unseen_answers", "unseen_questions", "unseen_domains"]


def _as_tuple(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One text or a list of texts in YAML; always a tuple here."""


class Spec(BaseModel):
    """Part of an entry: unknown keys are errors, types are not guessed, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Entry(Spec):
    """An entry with a name; the reader fills in name, file and folder."""

    name: str
    """Key of the entry in its file."""
    yaml: Path
    """File that holds the entry."""


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
    where: dict[str, str] = {}
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
    splits: dict[str, Split] = {}
    """Value of the split column -> split; needed where the values differ from ours."""
    test_part: str | None = None
    """Column with the part of the test set."""
    test_parts: dict[str, TestPart] = {}
    """Value of that column -> part; values not named have none."""
    options: dict[str, str] = {}
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
    columns: dict[Literal["difficulty", "discrimination", "a", "b", "c", "facility", "n"], str]
    """Statistic -> column."""


class DatasetSpec(Spec):
    """One response scheme of a bank."""

    title: str
    """Human-readable name."""
    response_kind: ResponseKind
    """What one response is."""
    gold: str | None = None
    """Column of the item file with the gold; none where golds are not known."""
    gold_map: dict[str, str] = {}
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


class RaterFacts(Spec):
    """What is known about recorded raters beyond their names; stored, not part of their identity."""

    revision: str | None = None
    persona: str | None = None
    strategy: str | None = None
    n_shots: int | None = None
    exemplar_dataset: str | None = None
    exemplar_seed: int | None = None
    temperature: float | None = None
    option_rotation: int | None = None


class RecordedRatersSpec(Spec):
    """Which cells are whose."""

    layout: Literal["wide", "long"] = "wide"
    """`wide`: a column per rater; `long`: a row per rater and item."""
    columns: Texts = (r".+\|.+",)
    """Wide: column names, or regular expressions that match whole names."""
    rater_column: str | None = None
    """Long: column with the rater."""
    value_column: str | None = None
    """Long: column with the response."""
    split_name: str = r"(?P<model>[^|]+)\|(?P<condition>.+)"
    """Regular expression with the groups `model` and `condition` for a rater's name; no condition is `default`."""

    @field_validator("split_name")
    @classmethod
    def _has_both_groups(cls, value: str) -> str:
        if not {"model", "condition"} <= set(re.compile(value).groupindex):
            raise ValueError("split_name needs the groups (?P<model>...) and (?P<condition>...)")
        return value

    @model_validator(mode="after")
    def _long_names_its_columns(self) -> Self:
        is_named = self.rater_column is not None and self.value_column is not None
        if (self.layout == "long") != is_named:
            raise ValueError("rater_column and value_column go with layout long, and only with it")
        return self


class RecordedSpec(Entry):
    """A file of responses that somebody has already collected."""

    title: str
    """Human-readable name."""
    dataset: str
    """Data set that the responses belong to."""
    collection: str
    """Name of the collection; part of the raters' identity."""
    task: Task = "grade"
    """What the raters did."""
    root: Root = "registry"
    """Where the file lies."""
    table: TableSpec
    """The file."""
    item_id: Texts
    """Column with the item id; several columns make one composite id."""
    raters: RecordedRatersSpec = RecordedRatersSpec()
    """Which cells are whose."""
    blank: Blank
    """What a blank cell means: the run did not cover it, or the model answered nothing."""
    families: dict[str, str] = {}
    """Model -> family; a model that is not named is its own family."""
    facts: dict[str, RaterFacts] = {}
    """Pattern of rater ids (`*` stands for anything) -> facts; later patterns win."""
    studies: Texts = ()
    """Studies that it joins besides those that select it."""


class ConditionSpec(Spec):
    """How a model is asked."""

    persona: str | None = None
    """Persona shown in the system message."""
    strategy: str | None = None
    """Prompting strategy, or the method of a local grader."""
    template: str | None = None
    """Template as `name@version`; the model's where none is given."""
    n_shots: int = Field(default=0, ge=0)
    """Exemplars shown."""
    exemplar_dataset: str | None = None
    """Data set that exemplars come from; the item's own where none is given."""
    exemplar_seed: int | None = None
    """Seed of the exemplar draw."""
    temperature: float | None = None
    """Sampling temperature."""
    option_rotation: int = 0
    """By how many places options are rotated."""
    shows_stratum: bool = True
    """Whether the human population's label may be shown."""
    population: str | None = None
    """Description of the human population, for predictions about it."""
    settings: dict[str, Any] = {}
    """Further settings of the engine that can change what is written; hashed."""


class ModelSpec(Entry):
    """A model and the conditions under which it is asked: one rater per condition."""

    title: str
    """Human-readable name."""
    family: str
    """Family of the model."""
    engine: Literal["baseline", "vllm", "openai", "batch"]
    """What runs it."""
    task: Task
    """What it does."""
    revision: str
    """Resolved revision; `main` and `latest` are not revisions."""
    template: str
    """Template as `name@version`."""
    settings: dict[str, Any] = {}
    """Settings of the engine that can change what is written; hashed."""
    runtime: dict[str, Any] = {}
    """Settings that cannot (parallelism, memory, address); recorded, not hashed."""
    conditions: dict[str, ConditionSpec]
    """Condition -> how the model is asked."""
    studies: Texts = ()
    """Studies that it joins besides those that select it."""

    @field_validator("revision")
    @classmethod
    def _is_resolved(cls, value: str) -> str:
        if value in {"main", "master", "latest", "HEAD"}:
            raise ValueError(f"revision {value!r} moves; write the commit or version that it stands for now")
        return value

    @model_validator(mode="after")
    def _generates_as_declared(self) -> Self:
        if self.engine == "baseline":
            return self
        read_runtime(self.engine, self.runtime)
        for name, condition in self.conditions.items():
            read_settings(self.engine, self.settings, condition.settings)
            if condition.temperature is None:
                raise ValueError(f"conditions.{name}.temperature: this key is missing; add it (0 draws nothing)")
        return self


class StudySpec(Entry):
    """A named question: which raters are asked about which data sets."""

    title: str
    """Human-readable name."""
    task: Task
    """What the raters do."""
    datasets: Texts
    """Data sets."""
    raters: Texts = ("*",)
    """Patterns of rater ids; `*` stands for anything."""
    engines: Annotated[tuple[EngineKind, ...], BeforeValidator(_as_tuple)] = ("baseline", "recorded")
    """Kinds of engine whose raters are taken; a model may also join by naming the study itself."""
    replicates: int = Field(default=1, ge=1)
    """How often each request is asked on purpose."""
