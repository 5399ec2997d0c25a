"""Requests in the form that engines of language models share: messages, sampling, constraint.

Turns a rendered request and its rater's settings into a job; knows neither vLLM nor HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference.engines.base import Completion, RenderedRequest, failed
from inference.identity import hash_of
from inference.registry.generation import (
    GeneratingEngine,
    JsonConstraint,
    LocalSettings,
    RegexConstraint,
    ServedSettings,
)
from inference.registry.generation import read_settings as read


@dataclass(frozen=True, slots=True)
class Job:
    """One asking, ready to be sent."""

    id: str
    """Request that it belongs to."""
    messages: list[dict[str, str]]
    """Messages as {role, content}."""
    sampling: dict[str, Any]
    """temperature, top_p, top_k, min_p, repetition_penalty, max_tokens, stop, seed (null at temperature 0)."""
    constraint: dict[str, Any] | None
    """``{"choice": [...]}``, ``{"regex": ...}``, ``{"json": ...}`` or null."""
    options: list[str]
    """Choices whose log-probabilities are wanted; empty where none are."""


class JobMaker:
    """Makes jobs of one model's requests."""

    def __init__(self, engine: GeneratingEngine) -> None:
        self._engine: GeneratingEngine = engine
        self._settings: dict[str, LocalSettings | ServedSettings] = {}

    def settings_of(self, request: RenderedRequest) -> LocalSettings | ServedSettings:
        """Return the settings of a request's rater."""
        rater = request.rater
        known = self._settings.get(rater.row.rater_id)
        if known is None:
            assert rater.model is not None, "recorded raters are not asked"
            assert rater.condition is not None
            known = read(self._engine, rater.model.settings, rater.condition.settings)
            self._settings[rater.row.rater_id] = known
        return known

    def job(self, request: RenderedRequest) -> Job | Completion:
        """Return the job of a request, or the error of one that cannot be asked like this."""
        settings = self.settings_of(request)
        constraint = _constraint(settings, request.choices)
        if constraint == {"choice": []}:
            return failed(
                request.request_id,
                "permanent",
                "no_choices",
                "structured_outputs is choice, but the item has no choices",
            )
        return Job(
            id=request.request_id,
            messages=[{"role": message.role, "content": message.content} for message in request.messages],
            sampling=_sampling(settings, request),
            constraint=constraint,
            options=list(request.choices) if settings.option_logprobs else [],
        )


def plain_prompt(messages: list[dict[str, str]]) -> str:
    """Return the texts of messages, a blank line between them: the prompt of a model without a chat template."""
    return "\n\n".join(message["content"] for message in messages)


def seed_of(seed: int, dataset: str, item_id: str, replicate: int) -> int:
    """Mix a rater's seed with what is asked, so that every item and replicate draws its own numbers; 31 bits."""
    return int(hash_of([seed, dataset, item_id, replicate])[:8], 16) & 0x7FFFFFFF


def _sampling(settings: LocalSettings | ServedSettings, request: RenderedRequest) -> dict[str, Any]:
    assert request.rater.condition is not None
    temperature = request.rater.condition.temperature
    seed = seed_of(settings.seed, request.dataset, request.item_id, request.replicate)
    return {
        "temperature": temperature,
        "top_p": settings.top_p,
        "top_k": settings.top_k,
        "min_p": settings.min_p,
        "repetition_penalty": settings.repetition_penalty,
        "max_tokens": settings.max_tokens,
        "stop": list(settings.stop),
        "seed": seed if temperature else None,
    }


def _constraint(settings: LocalSettings | ServedSettings, choices: tuple[str, ...]) -> dict[str, Any] | None:
    match settings.structured_outputs:
        case "off":
            return None
        case "choice":
            return {"choice": list(choices)}
        case RegexConstraint(regex=regex):
            return {"regex": regex}
        case JsonConstraint(json_schema=schema):
            return {"json": schema}


def completion_of(answer: Mapping[str, Any]) -> Completion:
    """Return the completion that a worker wrote as a JSON object."""
    return Completion(**answer)
