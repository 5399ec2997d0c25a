"""An OpenAI-compatible server: a bounded number of requests under way, patience with a busy server.

A request is sent again after 429, 5xx and time-outs, each time after a longer wait; only when it is given up is it an
attempt, with a retryable error. The key is read from the environment and goes into one header; it is taken out of
every text that leaves this module.
"""

import asyncio
import os
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from inference.engines import chat_api
from inference.engines.base import Completion, RenderedRequest, failed
from inference.engines.jobs import Job, JobMaker
from inference.registry import ModelSpec
from inference.registry.generation import OpenAIRuntime, read_runtime

LONGEST_WAIT_SECONDS = 60.0
"""Longest wait between two sendings of one request."""
MESSAGE_LENGTH = 500
"""Characters of a server's message that are kept."""


class ServerRefusesError(RuntimeError):
    """The server answers nothing of what is asked: wrong key, no permission, no such model or address."""


class OpenAIEngine:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    model
        Registry entry with engine ``openai``.

    Raises
    ------
    ValueError
        The environment variable with the key is not set.
    """

    kind = "openai"
    version = "1"

    def __init__(self, model: ModelSpec) -> None:
        runtime = read_runtime("openai", model.runtime)
        assert isinstance(runtime, OpenAIRuntime)
        self._runtime = runtime
        self._weights: str = model.settings["weights"]
        self._is_plain = model.settings["chat_template"] == "plain"
        self._jobs = JobMaker("openai")
        self._key = _key(model, runtime.api_key_env)

    @property
    def flags(self) -> Mapping[str, Any]:
        """Where requests are sent and how, without the key and without the name of the variable that holds it."""
        return {
            "server": urlsplit(self._runtime.base_url).netloc,
            "chat_template_policy": "plain" if self._is_plain else "model",
            **self._runtime.model_dump(include={"max_in_flight", "max_tries", "timeout_seconds"}),
        }

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Yield a completion for each request, as they come in.

        Raises
        ------
        ServerRefusesError
            The server refuses whatever is asked; what was under way stays unanswered.
        """
        answers: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        loop = asyncio.new_event_loop()
        work = loop.create_task(self._answer_all(requests, answers))
        thread = threading.Thread(target=_run, args=(loop, work, answers), daemon=True)
        thread.start()
        try:
            while (answer := answers.get()) is not None:
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            loop.call_soon_threadsafe(work.cancel)
            thread.join()
            loop.close()

    def close(self) -> None:
        """Hold nothing between runs, free nothing."""

    async def _answer_all(self, requests: Iterable[RenderedRequest], answers: queue.SimpleQueue[Any]) -> None:
        import httpx2 as httpx

        room = asyncio.Semaphore(self._runtime.max_in_flight)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=self._runtime.max_in_flight)
        timeout = httpx.Timeout(self._runtime.timeout_seconds)
        async with (
            httpx.AsyncClient(headers=headers, limits=limits, timeout=timeout) as client,
            asyncio.TaskGroup() as group,
        ):

            async def answer(job: Job) -> None:
                try:
                    answers.put(await self._answer(client, job))
                finally:
                    room.release()

            for request in requests:
                job = self._jobs.job(request)
                if isinstance(job, Completion):
                    answers.put(job)
                    continue
                await room.acquire()
                group.create_task(answer(job))

    async def _answer(self, client: Any, job: Job) -> Completion:
        """Send a job until it is answered, refused for good, or given up."""
        for n_tries in range(1, self._runtime.max_tries + 1):
            completion, wait = await self._send(client, job)
            if completion.error_kind != "retryable":
                return completion
            if n_tries < self._runtime.max_tries:
                doubled = self._runtime.first_wait_seconds * 2 ** (n_tries - 1)
                await asyncio.sleep(min(max(wait, doubled), LONGEST_WAIT_SECONDS))
        message = f"{completion.error_message} (sent {n_tries} times)"
        return failed(job.id, "retryable", completion.error_type or "unknown", message)

    async def _send(self, client: Any, job: Job) -> tuple[Completion, float]:
        """Send a job once; return its completion and how long the server asks to wait."""
        import httpx2 as httpx

        url = f"{self._runtime.base_url.rstrip('/')}/{chat_api.path_of(self._is_plain)}"
        started = time.monotonic()
        try:
            reply = await client.post(url, json=chat_api.body_of(job, self._weights, self._is_plain))
        except httpx.TimeoutException:
            seconds = self._runtime.timeout_seconds
            return failed(job.id, "retryable", "timeout", f"no answer within {seconds:g} seconds"), 0.0
        except httpx.TransportError as problem:
            return failed(
                job.id, "retryable", "connection", self._without_key(f"{type(problem).__name__}: {problem}")
            ), 0.0
        if reply.status_code == 200:
            return chat_api.completion_of(job, _json(reply), time.monotonic() - started), 0.0
        message = self._without_key(_message(reply))
        if reply.status_code in {401, 403, 404, 405}:
            raise ServerRefusesError(
                f"{urlsplit(url).netloc} answers {reply.status_code} ({message}); check address, model and key"
            )
        return chat_api.refusal_of(job, reply.status_code, message), _retry_after(reply.headers.get("retry-after"))

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _key(model: ModelSpec, variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise ValueError(
            f"{model.yaml}: {model.name}: the environment variable {variable} is not set; put the key there"
        )
    return key


def _run(loop: asyncio.AbstractEventLoop, work: "asyncio.Task[None]", answers: queue.SimpleQueue[Any]) -> None:
    """Do the work on this thread; its end, good or bad, is the last thing in the queue."""
    try:
        loop.run_until_complete(work)
        answers.put(None)
    except asyncio.CancelledError:
        answers.put(None)
    except BaseExceptionGroup as problems:
        answers.put(problems.exceptions[0])
    except BaseException as problem:
        answers.put(problem)


def _json(reply: Any) -> Mapping[str, Any]:
    try:
        content = reply.json()
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _message(reply: Any) -> str:
    """Return what the server says about an error, in one line."""
    content = _json(reply)
    error = content.get("error", content)
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(message or reply.text).split())[:MESSAGE_LENGTH]


def _retry_after(header: str | None) -> float:
    """Return the seconds that a Retry-After header asks for, given as seconds or as a date."""
    if header is None:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return 0.0
