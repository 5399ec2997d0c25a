"""Asking: rendered requests go to an engine, completions come back as attempts in the journal.

Renders only what is asked. Knows neither what a response means nor where the journal is taken in.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from inference.engines import Completion, Deferred, Engine, RenderedRequest, failed, open_engine
from inference.identity import attempt_id_of, canonical_json, hash_of
from inference.landing import Journal
from inference.prompts import TemplateError, messages_json
from inference.raters import Rater
from inference.registry import ModelSpec, RecordedSpec, Registry
from inference.rendering import Renderer
from inference.rows import ResponseRow
from inference.sources import BankFrames


@dataclass(frozen=True, slots=True)
class AskSummary:
    """What came of one asking of a model."""

    n_asked: int
    """Requests that the engine answered or failed."""
    n_ok: int
    """Attempts without an error."""
    n_errors: int
    """Attempts with an error, retryable or permanent."""
    n_deferred: int
    """Requests handed over whose answers come at a later run; they stay unasked until then."""
    seconds: float
    """Seconds from opening the engine to the last chunk."""
    crash: str | None
    """Why the engine stopped before its end; null where it did not."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request in the hands of the engine."""

    plan: Mapping[str, Any]
    rater: Rater
    messages: str | None
    exemplar_ids: tuple[str, ...]


def models_to_ask(
    requests: pl.DataFrame, raters: Mapping[str, Rater]
) -> list[tuple[ModelSpec | RecordedSpec, pl.DataFrame]]:
    """Group requests by the model, or recorded file, that answers them; in order of name."""
    groups: dict[str, tuple[ModelSpec | RecordedSpec, list[pl.DataFrame]]] = {}
    for (rater_id, dataset), part in requests.partition_by("rater_id", "dataset", as_dict=True).items():
        source = _source(raters[rater_id], dataset)
        groups.setdefault(source.name, (source, []))[1].append(part)
    return [(source, pl.concat(parts)) for _, (source, parts) in sorted(groups.items())]


def ask(
    model: ModelSpec | RecordedSpec,
    requests: pl.DataFrame,
    registry: Registry,
    raters: Mapping[str, Rater],
    banks: Mapping[str, BankFrames],
    journal: Journal,
    *,
    progress: Callable[[int], None],
    cache: Path,
    engine: Engine | None = None,
) -> AskSummary:
    """Ask a model all of its requests and write what comes back to the journal.

    A request that fails becomes an attempt with an error and harms no other. Where the engine itself stops, the
    requests that it had taken become retryable attempts, the others stay unasked, and the summary says why.

    Parameters
    ----------
    model
        Model, or recorded responses.
    requests
        RequestRow and ``attempt``, of this model's raters only.
    registry, raters, banks
        As planned from.
    journal
        Where attempts go; flushed at the end.
    progress
        Called with the number of requests just finished.
    cache
        Folder for fitted models and embeddings.
    engine
        Engine to use in place of the one that the entry names.
    """
    started = time.monotonic()
    engine = engine or open_engine(model, registry, banks, cache)
    asking = _Asking(engine, raters, Renderer(registry, banks), journal, progress)
    crash, is_deferred = None, False
    try:
        for completion in engine.complete(asking.rendered(_in_prefix_order(requests, banks))):
            asking.settle(completion)
    except Deferred:
        is_deferred = True
    except Exception as problem:
        crash = f"{type(problem).__name__}: {problem}"
    finally:
        engine.close()
        # also where a person stops the run: what was answered is kept
        journal.flush()
    n_deferred = len(asking.pending) if is_deferred else 0
    for request_id in [] if is_deferred else list(asking.pending):
        reason = crash or "the engine ended without an answer"
        asking.settle(failed(request_id, "retryable", "engine_stopped", reason))
    journal.flush()
    return AskSummary(
        n_asked=asking.n_ok + asking.n_errors,
        n_ok=asking.n_ok,
        n_errors=asking.n_errors,
        n_deferred=n_deferred,
        seconds=time.monotonic() - started,
        crash=crash,
    )


class _Asking:
    """Requests on their way to an engine and back."""

    def __init__(
        self,
        engine: Engine,
        raters: Mapping[str, Rater],
        renderer: Renderer,
        journal: Journal,
        progress: Callable[[int], None],
    ) -> None:
        self.engine, self.journal, self.progress = engine, journal, progress
        self.flags = canonical_json(dict(engine.flags)) if engine.flags else None
        self.raters, self.renderer = raters, renderer
        self.pending: dict[str, _Asked] = {}
        self.n_ok = self.n_errors = 0

    def rendered(self, requests: pl.DataFrame) -> Iterator[RenderedRequest]:
        """Render requests one by one, as the engine draws them; one that has no prompt never reaches the engine."""
        for plan in requests.iter_rows(named=True):
            rater = self.raters[plan["rater_id"]]
            try:
                shown = self.renderer.render(rater, plan["dataset"], plan["item_id"])
            except TemplateError as problem:
                self.pending[plan["request_id"]] = _Asked(plan, rater, None, ())
                self.settle(failed(plan["request_id"], "permanent", "no_prompt", str(problem)))
                continue
            stored = messages_json(shown.messages) if shown.messages else None
            self.pending[plan["request_id"]] = _Asked(plan, rater, stored, shown.exemplar_ids)
            yield RenderedRequest(
                request_id=plan["request_id"],
                rater=rater,
                dataset=plan["dataset"],
                item_id=plan["item_id"],
                replicate=plan["replicate"],
                attempt=plan["attempt"],
                messages=shown.messages,
                choices=shown.choices,
            )

    def settle(self, completion: Completion) -> None:
        """Write a completion as an attempt; each request that was taken is settled once."""
        asked = self.pending.pop(completion.request_id, None)
        if asked is None:
            raise ValueError(f"engine {self.engine.kind} answered request {completion.request_id!r}, which is not open")
        self.journal.append([(self._row(asked, completion), asked.messages)])
        self.n_errors += completion.error_kind is not None
        self.n_ok += completion.error_kind is None
        self.progress(1)

    def _row(self, asked: _Asked, completion: Completion) -> ResponseRow:
        plan, options = asked.plan, completion.option_logprobs
        return ResponseRow(
            attempt_id=attempt_id_of(plan["request_id"], plan["attempt"]),
            request_id=plan["request_id"],
            attempt=plan["attempt"],
            rater_id=plan["rater_id"],
            dataset=plan["dataset"],
            item_id=plan["item_id"],
            replicate=plan["replicate"],
            settings_hash=asked.rater.row.settings_hash,
            content_hash=plan["content_hash"],
            prompt_hash=None if asked.messages is None else hash_of(asked.messages),
            text=completion.text,
            finish_reason=completion.finish_reason,
            error_kind=completion.error_kind,
            error_type=completion.error_type,
            error_message=completion.error_message,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            latency_seconds=completion.latency_seconds,
            option_logprobs=None if options is None else canonical_json(dict(options)),
            exemplar_ids=canonical_json(list(asked.exemplar_ids)) if asked.exemplar_ids else None,
            engine=self.engine.kind,
            engine_version=self.engine.version,
            engine_flags=self.flags,
            finished_at=datetime.now(UTC),
            chunk_id="",
        )


def _in_prefix_order(requests: pl.DataFrame, banks: Mapping[str, BankFrames]) -> pl.DataFrame:
    """Put requests of one rater and testlet next to each other: their prompts begin alike."""
    testlets = pl.concat([bank.items.select("dataset", "item_id", "testlet_id") for bank in banks.values()])
    return requests.join(testlets, on=["dataset", "item_id"], how="left").sort(
        "rater_id", "dataset", "testlet_id", "item_id", "replicate"
    )


def _source(rater: Rater, dataset: str) -> ModelSpec | RecordedSpec:
    if rater.model is not None:
        return rater.model
    return next(spec for spec, _ in rater.recorded if spec.dataset == dataset)
