"""What a person may write about models, the conditions under which they are asked, and studies.

A field's description is the string below it. Holds declarations and checks that need nothing but the entry itself.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from inference.baselines.methods import read_method
from inference.registry.base import EngineKind, Entry, Spec, Texts, as_tuple
from inference.registry.generation import read_runtime, read_settings
from inference.rows import Task


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
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Sampling temperature."""
    option_rotation: int = 0
    """By how many places options are rotated."""
    shows_stratum: bool = True
    """Whether the human population's label may be shown."""
    population: str | None = None
    """Description of the human population, for predictions about it."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Further settings of the engine that can change what is written; hashed."""


class ConditionSetSpec(Entry):
    """Conditions that several models share."""

    title: str
    """Human-readable name."""
    task: Task
    """What a model does under them."""
    conditions: dict[str, ConditionSpec]
    """Condition -> how the model is asked."""


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
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the engine that can change what is written; hashed."""
    runtime: dict[str, Any] = Field(default_factory=dict)
    """Settings that cannot (parallelism, memory, address); recorded, not hashed."""
    conditions: dict[str, ConditionSpec] = Field(default_factory=dict)
    """Condition -> how the model is asked."""
    condition_sets: Texts = ()
    """Sets whose conditions it has besides its own."""
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
            for name, condition in self.conditions.items():
                try:
                    read_method(self.task, {**self.settings, **condition.settings})
                except ValueError as problem:
                    raise ValueError(f"conditions.{name}, with the settings of the model: {problem}") from None
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
    engines: Annotated[tuple[EngineKind, ...], BeforeValidator(as_tuple)] = ("baseline", "recorded")
    """Kinds of engine whose raters are taken; a model may also join by naming the study itself."""
    replicates: int = Field(default=1, ge=1)
    """How often each request is asked on purpose."""
