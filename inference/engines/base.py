"""The one protocol between asking and whatever answers: requests in, completions out.

An engine gets rendered requests and yields one completion for each, matched by id, in any order. What it cannot answer
comes back as a completion with an error; only a failure of the engine itself is raised.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from inference.prompts import Message
from inference.raters import Rater
from inference.rows import ErrorKind

FinishReason = Literal["stop", "length", "error", "not_recorded"]


@dataclass(frozen=True, slots=True)
class RenderedRequest:
    """One asking, ready for an engine."""

    request_id: str
    """Identity of the request; the completion carries it back."""
    rater: Rater
    """Who is asked, under which settings."""
    dataset: str
    """Data set of the item."""
    item_id: str
    """Item asked about."""
    replicate: int
    """Replicate; engines that sample mix it into their seed."""
    attempt: int
    """Number of the attempt, from 1."""
    messages: tuple[Message, ...]
    """Rendered messages; empty for recorded responses."""
    choices: tuple[str, ...]
    """Labels, option letters or whole scores that may be answered; empty where the scheme is not a finite set."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came of one request."""

    request_id: str
    """Request that it answers."""
    text: str | None
    """Response, verbatim; null after an error or where nothing was recorded."""
    finish_reason: FinishReason
    """Why the response ended."""
    error_kind: ErrorKind | None = None
    """Null, `retryable` or `permanent`."""
    error_type: str | None = None
    """Short name of the error."""
    error_message: str | None = None
    """Message of the error."""
    prompt_tokens: int | None = None
    """Tokens of the prompt."""
    completion_tokens: int | None = None
    """Tokens of the completion."""
    latency_seconds: float | None = None
    """Seconds from asking to answer, where the engine tells."""
    option_logprobs: Mapping[str, float] | None = None
    """Log-probability per option, where asked for."""


class Deferred(Exception):  # noqa: N818 - nothing has failed
    """Raised by an engine that has handed its requests over and will have the answers at a later run."""


class Engine(Protocol):
    """Whatever answers requests; one model, any number of its raters."""

    @property
    def kind(self) -> str:
        """Engine kind, as in the registry."""

    @property
    def version(self) -> str:
        """Version of the engine."""

    @property
    def flags(self) -> Mapping[str, Any]:
        """What is recorded, not hashed: parallelism, memory, place."""

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Answer each request once; draws from ``requests`` as fast as it can work."""

    def close(self) -> None:
        """Free what the engine holds."""


def failed(request_id: str, kind: ErrorKind, error_type: str, message: str) -> Completion:
    """Return the completion of a request that could not be answered."""
    return Completion(request_id, None, "error", error_kind=kind, error_type=error_type, error_message=message)
