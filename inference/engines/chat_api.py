"""The wire format that OpenAI-compatible servers and batch files share: job in, body out; reply in, completion out.

Structured outputs are sent as vLLM reads them (``structured_outputs`` beside the standard keys; ``guided_choice`` would
be ignored without an error). Holds no network and no files.
"""

import re
from collections.abc import Mapping
from typing import Any

from inference.engines.base import Completion, failed
from inference.engines.jobs import Job, plain_prompt
from inference.engines.option_logprobs import option_logprobs

N_TOP_LOGPROBS = 20
"""Tokens per place whose log-probability is asked for; the most that servers allow by default."""

_TOO_LONG = re.compile(r"context length|max_model_len|too long|input_tokens", re.IGNORECASE)
_TOKENS = re.compile(r"(?:contains|requested|has|with)(?: at least)? (\d+)(?: input| prompt)? tokens", re.IGNORECASE)
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 that say nothing about the request itself."""


def path_of(is_plain: bool) -> str:
    """Return the path below the base address."""
    return "completions" if is_plain else "chat/completions"


def body_of(job: Job, weights: str, is_plain: bool) -> dict[str, Any]:
    """Return what is sent for a job.

    Parameters
    ----------
    job
        What is asked.
    weights
        Model as the server knows it.
    is_plain
        Whether the texts go as they are, with no chat template.
    """
    body: dict[str, Any] = {"model": weights, **job.sampling}
    if is_plain:
        body["prompt"] = plain_prompt(job.messages)
    else:
        body["messages"] = job.messages
    if job.constraint is not None:
        body["structured_outputs"] = {**job.constraint, "disable_any_whitespace": True}
    if job.options and is_plain:
        body["logprobs"] = N_TOP_LOGPROBS
    elif job.options:
        body |= {"logprobs": True, "top_logprobs": N_TOP_LOGPROBS}
    return body


def completion_of(job: Job, reply: Mapping[str, Any], latency_seconds: float | None) -> Completion:
    """Return the completion that a successful reply holds; a reply without one is a retryable error."""
    try:
        choice = reply["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        finish_reason = choice["finish_reason"]
    except (KeyError, IndexError, TypeError):
        return failed(job.id, "retryable", "bad_reply", "the reply holds no choice")
    if finish_reason not in {"stop", "length"}:
        return failed(job.id, "retryable", "aborted", f"the server ended the request with {finish_reason!r}")
    usage = reply.get("usage") or {}
    return Completion(
        request_id=job.id,
        text=text or "",
        finish_reason=finish_reason,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        latency_seconds=latency_seconds,
        option_logprobs=_option_logprobs(job, choice.get("logprobs")) if job.options else None,
    )


def refusal_of(job: Job, status: int, message: str) -> Completion:
    """Return the error that a status other than 200 means for one request."""
    if status >= 500 or status in RETRYABLE_STATUSES:
        kind = "rate_limited" if status == 429 else f"http_{status}"
        return failed(job.id, "retryable", kind, message)
    if _TOO_LONG.search(message):
        found = _TOKENS.search(message)
        return Completion(
            job.id,
            None,
            "error",
            error_kind="permanent",
            error_type="too_long",
            error_message=message,
            prompt_tokens=int(found.group(1)) if found else None,
        )
    kind = "no_template" if "chat template" in message else "bad_request"
    return failed(job.id, "permanent", kind, message)


def _option_logprobs(job: Job, logprobs: Mapping[str, Any] | None) -> dict[str, float] | None:
    if not logprobs:
        return None
    if "content" in logprobs:
        places = logprobs["content"] or []
        steps = [{entry["token"]: entry["logprob"] for entry in place["top_logprobs"]} for place in places]
        written = [place["token"] for place in places]
    else:
        steps, written = logprobs["top_logprobs"] or [], logprobs["tokens"] or []
    return option_logprobs(job.options, [_likely(step) for step in steps], written)


def _likely(step: Mapping[str, float]) -> dict[str, float]:
    """Leave out what the constraint had masked."""
    return {token: logprob for token, logprob in step.items() if logprob > -1e3}
