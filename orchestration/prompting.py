"""What a rater would be sent about one item, rendered as asking renders it and asked of nobody.

Reads registry and banks; opens neither the warehouse nor an engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from inference.engines import Completion, RenderedRequest
from inference.engines.jobs import JobMaker, plain_prompt
from inference.identity import hash_of
from inference.prompts import Message, asks_for, messages_json
from inference.raters import Rater, resolve_raters
from inference.registry import Registry
from inference.registry.generation import GeneratingEngine
from inference.rendering import Rendered, Renderer
from inference.sources import read_bank
from orchestration.house import UnknownNameError, check_known, read_registry, unknown
from orchestration.settings import Settings


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """One request, as it would be sent."""

    rater_id: str
    """Who would be asked."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item."""
    messages: tuple[Message, ...]
    """Messages in order."""
    prompt_hash: str
    """Hash of the messages; the key of ``raw.prompts`` once they have been sent."""
    plain_prompt: str | None
    """What is sent of them to a model without a chat template; null where messages are sent."""
    choices: tuple[str, ...]
    """What may be answered; empty where that is no finite set."""
    exemplar_ids: tuple[str, ...]
    """Items shown with their golds."""
    sampling: Mapping[str, Any]
    """How the response is drawn; empty for raters that generate nothing."""
    constraint: Mapping[str, Any] | None
    """What the response is held to; null for nothing."""


def shown_prompt(settings: Settings, rater_id: str, item_id: str, dataset: str | None = None) -> ShownPrompt:
    """Render what a rater would be sent about an item.

    Parameters
    ----------
    settings
        Installation.
    rater_id
        Rater.
    item_id
        Item, of any split.
    dataset
        Data set; needed where the rater can be asked about the item in several.

    Raises
    ------
    UnknownNameError
        The registry has no such rater, the rater's responses are recorded, or the item is in no data set, or in
        several, that the rater can be asked about.
    """
    registry = read_registry(settings)
    raters = resolve_raters(registry)
    check_known("rater", [rater_id], raters)
    rater = raters[rater_id]
    if rater.model is None:
        raise UnknownNameError(f"rater {rater_id!r} is recorded: its responses come from a file, and nothing is sent")
    banks = {name: read_bank(bank, registry) for name, bank in registry.banks.items()}
    items = {name: frozenset(bank.items["item_id"]) for name, bank in banks.items()}
    dataset = _dataset_of(registry, rater, items, item_id, dataset)
    shown = Renderer(registry, banks).render(rater, dataset, item_id)
    sampling, constraint = _job_settings(rater, dataset, item_id, shown)
    is_plain = rater.model.settings.get("chat_template") == "plain"
    return ShownPrompt(
        rater_id=rater_id,
        dataset=dataset,
        item_id=item_id,
        messages=shown.messages,
        prompt_hash=hash_of(messages_json(shown.messages)),
        plain_prompt=plain_prompt([{"content": m.content} for m in shown.messages]) if is_plain else None,
        choices=shown.choices,
        exemplar_ids=shown.exemplar_ids,
        sampling=sampling,
        constraint=constraint,
    )


def _dataset_of(
    registry: Registry, rater: Rater, items: Mapping[str, frozenset[str]], item_id: str, dataset: str | None
) -> str:
    """Return the one data set that is meant."""
    template = cast(str, rater.row.template_version)
    datasets = {name: (bank.name, spec) for bank in registry.banks.values() for name, spec in bank.datasets.items()}
    asked = [name for name, (_, spec) in datasets.items() if asks_for(template, spec.response_kind)]
    if dataset is not None and dataset not in asked:
        raise UnknownNameError(f"rater {rater.row.rater_id!r} cannot be asked about {dataset!r}, only about {asked}")
    having = [name for name in asked if item_id in items[datasets[name][0]] and dataset in (None, name)]
    if not having:
        known = sorted({item for name in asked if dataset in (None, name) for item in items[datasets[name][0]]})
        raise UnknownNameError(unknown("item", item_id, known, f" in {' or '.join([dataset] if dataset else asked)}"))
    if len(having) > 1:
        raise UnknownNameError(f"item {item_id!r} is in {having}; name one with --dataset")
    return having[0]


def _job_settings(
    rater: Rater, dataset: str, item_id: str, shown: Rendered
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Return sampling and constraint of a rater that generates text; nothing for the others."""
    assert rater.model is not None
    if rater.model.engine not in get_args(GeneratingEngine):
        return {}, None
    request = RenderedRequest("", rater, dataset, item_id, 0, 1, shown.messages, shown.choices)
    job = JobMaker(cast(GeneratingEngine, rater.model.engine)).job(request)
    if isinstance(job, Completion):
        raise UnknownNameError(f"rater {rater.row.rater_id!r}, item {item_id!r}: {job.error_message}")
    return job.sampling, job.constraint
