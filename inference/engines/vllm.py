"""vLLM offline: one model in a process of its own, its raters together, memory free again when it ends.

Starts the worker, feeds it with as many requests as it can work on, and hands on its completions. What happens inside
the process is in ``vllm_worker``.
"""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inference.engines.base import Completion, RenderedRequest
from inference.engines.jobs import JobMaker, completion_of
from inference.identity import encode_file_name
from inference.registry import ModelSpec
from inference.registry.generation import read_runtime, read_settings

_ROOT = Path(__file__).resolve().parents[2]
_LOG = logging.getLogger(__name__)
SECONDS_TO_CLOSE = 15.0
"""How long the process gets to end by itself."""


class EngineStoppedError(RuntimeError):
    """The process with the model has ended before its work was done."""


class VllmEngine:
    """A model in vLLM, in a process of its own.

    Parameters
    ----------
    model
        Registry entry with engine ``vllm``.
    cache
        Folder for converted models and for the log of the process (``vllm/<model>.log``).

    Raises
    ------
    EngineStoppedError
        The model could not be loaded; the message holds the end of the log.
    """

    kind = "vllm"

    def __init__(self, model: ModelSpec, cache: Path) -> None:
        runtime = read_runtime("vllm", model.runtime)
        self._max_in_flight = 2 * runtime.max_num_seqs
        self._jobs = JobMaker("vllm")
        self._name = model.name
        self._log = cache / "vllm" / f"{encode_file_name(model.name)}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._process = _start(order_of(model, cache), self._log)
        ready = self._receive()["ready"]
        self.version: str = ready["version"]
        self.flags: Mapping[str, Any] = ready["flags"]

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Yield a completion for each request, as they are finished.

        Raises
        ------
        EngineStoppedError
            The process ended; the message holds the end of its log.
        """
        feeder = _Feeder(self._process, self._jobs, requests, self._max_in_flight)
        is_done = False
        try:
            while not is_done:
                message = self._receive()
                yield from feeder.take_refused()
                is_done = "done" in message
                if is_done:
                    _LOG.info("vLLM process %s: %s", self.pid, message["done"])
                else:
                    feeder.make_room()
                    yield completion_of(message["completion"])
        finally:
            if not is_done:
                self._kill()  # cancelled or broken: what it still writes belongs to nobody
            feeder.stop()
        feeder.check()

    def close(self) -> None:
        """End the process, and with it everything that it holds."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self._process.stdin.close()
                self._process.wait(SECONDS_TO_CLOSE)
        self._kill()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SECONDS_TO_CLOSE)
            self._kill()
            tail = " | ".join(line.strip() for line in self._log.read_text(errors="replace").splitlines()[-3:])
            raise EngineStoppedError(
                f"the vLLM process of {self._name} ended ({self._process.returncode}); see {self._log}: {tail}"
            )
        received: dict[str, Any] = json.loads(line)
        return received

    def _kill(self) -> None:
        """Kill whatever of the process group is left and take in its exit."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class _Feeder:
    """Draws requests on a thread of its own and writes their jobs, never more ahead than the engine can hold."""

    def __init__(
        self, process: subprocess.Popen[bytes], jobs: JobMaker, requests: Iterable[RenderedRequest], max_in_flight: int
    ) -> None:
        assert process.stdin is not None
        self._pipe, self._jobs, self._requests = process.stdin, jobs, requests
        self._room = threading.Semaphore(max_in_flight)
        self._refused: deque[Completion] = deque()
        self._is_stopped = False
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def make_room(self) -> None:
        """Let one more request in."""
        self._room.release()

    def take_refused(self) -> Iterator[Completion]:
        """Yield the errors of requests that cannot be sent."""
        while self._refused:
            yield self._refused.popleft()

    def stop(self) -> None:
        """Draw no more requests, and wait for the one that is being drawn."""
        self._is_stopped = True
        self._room.release()
        self._thread.join()

    def check(self) -> None:
        """Raise what went wrong while requests were drawn."""
        if self._problem is not None:
            raise self._problem

    def _feed(self) -> None:
        try:
            for request in self._requests:
                job = self._jobs.job(request)
                if isinstance(job, Completion):
                    self._refused.append(job)
                    continue
                self._room.acquire()
                if self._is_stopped:
                    return
                self._write(json.dumps(asdict(job)))
        except BrokenPipeError:
            return  # the process is gone; the reading side says so
        except BaseException as problem:
            self._problem = problem
        with contextlib.suppress(BrokenPipeError):
            self._write("")

    def _write(self, line: str) -> None:
        self._pipe.write(line.encode() + b"\n")
        self._pipe.flush()


def order_of(model: ModelSpec, cache: Path) -> dict[str, Any]:
    """Describe the model to the worker; conditions differ only in what each job carries."""
    first = next(iter(model.conditions.values()))
    settings = read_settings("vllm", model.settings, first.settings)
    return {
        "settings": {**settings.model_dump(mode="json"), "revision": model.revision},
        "runtime": read_runtime("vllm", model.runtime).model_dump(mode="json"),
        "cache": str(cache),
    }


def _start(order: Mapping[str, Any], log: Path) -> subprocess.Popen[bytes]:
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with log.open("ab") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "inference.engines.vllm_worker", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )
