"""Adding a model: one validated entry in the installation's registry, or nothing at all.

Holds how an entry is made of a few facts, and the order of the steps. Does not ask the model.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
import yaml

from inference.identity import encode_file_name
from inference.registry import RegistryError
from inference.rows import Task
from orchestration.house import Catalogue, load_catalogue
from orchestration.locks import hold
from orchestration.output_folder import make_home
from orchestration.settings import Settings

Engine = Literal["baseline", "vllm", "openai"]

WRITTEN_SETTINGS: dict[Engine, dict[str, Any]] = {
    "baseline": {},
    "vllm": {"chat_template": "model", "max_model_len": 4096, "dtype": "bfloat16", "max_tokens": 256},
    "openai": {"chat_template": "model", "max_tokens": 256},
}
"""Settings that are written into the entry unless others are given: what can change a response is never left unsaid."""
WRITTEN_RUNTIME: dict[Engine, dict[str, Any]] = {
    "baseline": {},
    "vllm": {},
    "openai": {"base_url": "http://127.0.0.1:8000/v1"},
}


TEMPLATES: dict[Task, str] = {
    "grade": "grade@1",
    "answer": "answer@1",
    "predict_discrimination": "discrimination@1",
}
"""Prompt that goes with a task unless another is named; baselines read fields."""


@dataclass(frozen=True, slots=True)
class NewModel:
    """Facts about a model."""

    name: str
    """Name of the entry, first part of the raters' ids."""
    engine: Engine
    """What runs it."""
    weights: str | None
    """Hugging Face name, folder, or name that a server knows; null for baselines."""
    revision: str
    """Commit or version of the weights."""
    family: str
    """Family of the model."""
    task: Task
    """What it does."""
    template: str | None = None
    """Template as `name@version`; the one that goes with the task if None."""
    condition: str = "default"
    """Name of its one condition; more can be written into the file."""
    temperature: float = 0.0
    """Sampling temperature."""
    settings: Mapping[str, Any] | None = None
    """Settings that can change what is written."""
    runtime: Mapping[str, Any] | None = None
    """Settings that cannot."""
    studies: Sequence[str] = ()
    """Studies that it joins besides those that select it."""


@dataclass(frozen=True, slots=True)
class Added:
    """What one addition wrote, and what it will bring."""

    file: Path
    """Registry entry."""
    text: str
    """Its YAML."""
    to_ask: pl.DataFrame
    """Requests that the plan has gained: rater_id, dataset, n."""
    studies: tuple[str, ...]
    """Studies of its task, which it could join."""


def entry_of(model: NewModel) -> dict[str, Any]:
    """Return the registry entry of a model.

    Raises
    ------
    RegistryError
        If no template is named and none goes with the task.
    """
    template = model.template or ("fields@1" if model.engine == "baseline" else TEMPLATES.get(model.task))
    if template is None:
        raise RegistryError(
            f"model {model.name!r}: no template goes with task {model.task!r}; name one with --template"
        )
    settings = {**WRITTEN_SETTINGS[model.engine], **(model.settings or {})}
    if model.weights is not None:
        settings = {"weights": model.weights, **settings}
    condition = {} if model.engine == "baseline" else {"temperature": model.temperature}
    entry: dict[str, Any] = {
        "title": model.weights or model.name,
        "family": model.family,
        "engine": model.engine,
        "task": model.task,
        "revision": model.revision,
        "template": template,
        "settings": settings,
        "runtime": {**WRITTEN_RUNTIME[model.engine], **(model.runtime or {})},
        "conditions": {model.condition: condition},
        "studies": list(model.studies),
    }
    return {key: value for key, value in entry.items() if value not in ({}, [])}


def add_model(settings: Settings, model: NewModel) -> Added:
    """Write a model's entry and return what a run would ask of it.

    Raises
    ------
    RegistryError, SourceError, TemplateError, RaterConflictError
        If name or raters are taken, or the entry is not a valid one; nothing has been written then.
    """
    make_home(settings.home)
    file = settings.own_registry / "models" / f"{encode_file_name(model.name)}.yml"
    with hold(settings.locks, "import", wait_seconds=30):
        before = load_catalogue(settings)
        if model.name in before.registry.models:
            taken = before.registry.models[model.name].yaml
            raise RegistryError(
                f"model {model.name!r} is in {taken} already; give another name, or add a condition there"
            )
        unknown = sorted(set(model.studies) - set(before.registry.studies))
        if unknown:
            raise RegistryError(f"unknown study {unknown[0]!r}; expected one of {sorted(before.registry.studies)}")
        text = yaml.safe_dump({model.name: entry_of(model)}, sort_keys=False, allow_unicode=True, width=120)
        _write(file, text)
        try:
            after = load_catalogue(settings)
        except ValueError:
            file.unlink()
            raise
    studies = sorted(name for name, study in after.registry.studies.items() if study.task == model.task)
    return Added(file, text, _gained(before, after), tuple(studies))


def _gained(before: Catalogue, after: Catalogue) -> pl.DataFrame:
    new = after.plan.join(before.plan, on="request_id", how="anti")
    return new.group_by("rater_id", "dataset").agg(pl.len().alias("n")).sort("rater_id", "dataset")


def _write(file: Path, text: str) -> None:
    """Write under a temporary name first, so that a kill leaves no half entry."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    aside.replace(file)
