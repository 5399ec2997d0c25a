"""What a person may write about responses that somebody has already collected.

A field's description is the string below it. Holds declarations and checks that need nothing but the entry itself.
"""

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from inference.registry.bank_specs import TableSpec
from inference.registry.base import Entry, Root, Spec, Texts
from inference.rows import Task

Blank = Literal["not_recorded", "empty"]


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
    finish_column: str | None = None
    """Long: column that holds `length` where a response was cut off; none where the file does not say."""
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
        if self.finish_column is not None and self.layout != "long":
            raise ValueError("finish_column goes with layout long, and only with it")
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
    families: dict[str, str] = Field(default_factory=dict)
    """Model -> family; a model that is not named is its own family."""
    facts: dict[str, RaterFacts] = Field(default_factory=dict)
    """Pattern of rater ids (`*` stands for anything) -> facts; later patterns win."""
    studies: Texts = ()
    """Studies that it joins besides those that select it."""
