"""The command ``add-model``: a registry entry from a few facts, checked before it is kept."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer


class Engine(StrEnum):
    """What runs a model."""

    baseline = "baseline"
    vllm = "vllm"
    openai = "openai"


class Task(StrEnum):
    """What a model does."""

    grade = "grade"
    answer = "answer"
    predict_discrimination = "predict_discrimination"
    predict_difficulty = "predict_difficulty"


Pairs = list[str] | None


def add_model(
    name: Annotated[str, typer.Argument(help="Name of the entry, first part of the raters' ids.")],
    engine: Annotated[Engine, typer.Option(help="What runs the model.")],
    revision: Annotated[str, typer.Option(help="Commit or version of the weights; never main or latest.")],
    family: Annotated[str, typer.Option(help="Family, e.g. llama.")],
    task: Annotated[Task, typer.Option(help="What it does.")],
    template: Annotated[
        str | None, typer.Option(help="Prompt template as name@version; the task's own unless given.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Hugging Face name or folder (vllm), or the server's name for it (openai).")
    ] = None,
    condition: Annotated[str, typer.Option(help="Name of its condition, second part of the rater's id.")] = "default",
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 0.0,
    study: Annotated[list[str] | None, typer.Option(help="Study that it joins (repeatable).")] = None,
    setting: Annotated[Pairs, typer.Option(help="key=value that can change a response (repeatable).")] = None,
    runtime: Annotated[Pairs, typer.Option(help="key=value that cannot, e.g. base_url=… (repeatable).")] = None,
) -> None:
    """Add a model to the installation's registry and show what would be asked of it."""
    from orchestration import new_models
    from orchestration.cli import show
    from orchestration.settings import load_settings

    if (model is None) != (engine is Engine.baseline):
        raise typer.BadParameter("--model goes with engine vllm or openai, and only with them")
    facts = new_models.NewModel(
        name, engine.value, model, revision, family, task.value, template, condition, temperature,
        _pairs("--setting", setting or ()), _pairs("--runtime", runtime or ()), study or (),
    )  # fmt: skip
    with show.waiting("reading registry and banks"):
        added = new_models.add_model(load_settings(), facts)
    show.say(f"wrote {added.file}\n\n{added.text}")
    if added.to_ask.is_empty():
        show.say(f"no study asks it yet: add studies to the file, e.g. {list(added.studies)}")
        return
    show.table(added.to_ask, title="a run would ask")
    show.say("next: thetahouse run")


def _pairs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read key=value pairs; values are YAML, so that 4096 is a number and [a, b] a list."""
    import yaml

    pairs = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise typer.BadParameter(f"{option} {text!r}: expected key=value")
        pairs[key] = yaml.safe_load(value)
    return pairs
