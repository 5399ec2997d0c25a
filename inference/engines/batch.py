"""Batch files: requests as JSONL for ``vllm run-batch`` and its kin, results read back by ``custom_id``.

For clusters and schedulers. Requests are written to a file; a command runs it at once, or somebody else does, and a
later run finds the results. Until then nothing has been asked. Files are kept; ``custom_id`` is the attempt's id.
"""

import json
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inference.engines import chat_api
from inference.engines.base import Completion, Deferred, RenderedRequest
from inference.engines.jobs import Job, JobMaker
from inference.identity import attempt_id_of, encode_file_name, hash_of
from inference.registry import ModelSpec
from inference.registry.generation import read_runtime

INPUT, OUTPUT = ".requests.jsonl", ".results.jsonl"


class BatchCommandError(RuntimeError):
    """The command that should run a batch file failed."""


class BatchEngine:
    """A model asked through files.

    Parameters
    ----------
    model
        Registry entry with engine ``batch``.
    folder
        Where the files of all models lie; each has a folder of its own.
    """

    kind = "batch"
    version = "1"

    def __init__(self, model: ModelSpec, folder: Path) -> None:
        self._weights: str = model.settings["weights"]
        self._is_plain = model.settings["chat_template"] == "plain"
        self._jobs = JobMaker("batch")
        self._command: tuple[str, ...] = read_runtime("batch", model.runtime).command
        self.folder = folder / encode_file_name(model.name)
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def flags(self) -> Mapping[str, Any]:
        """The command that runs the files."""
        return {
            "command": shlex.join(self._command) or None,
            "chat_template_policy": "plain" if self._is_plain else "model",
        }

    def complete(self, requests: Iterable[RenderedRequest]) -> Iterator[Completion]:
        """Yield what results hold; write what has not been written yet, and run it where there is a command.

        Raises
        ------
        Deferred
            Some results are not there yet.
        BatchCommandError
            The command failed.
        """
        open_jobs: dict[str, Job] = {}
        for request in requests:
            job = self._jobs.job(request)
            if isinstance(job, Completion):
                yield job
            else:
                open_jobs[attempt_id_of(request.request_id, request.attempt)] = job
        yield from self._answered(open_jobs)
        self._write(open_jobs)
        if self._command and open_jobs:
            self._run_waiting()
            yield from self._answered(open_jobs)
        if open_jobs:
            raise Deferred(f"{len(open_jobs)} requests wait in {self.folder} for their {OUTPUT} files")

    def close(self) -> None:
        """Hold nothing between runs, free nothing."""

    def _answered(self, open_jobs: dict[str, Job]) -> Iterator[Completion]:
        """Yield the completions of jobs that some result file answers; they are open no more."""
        for path in sorted(self.folder.glob(f"*{OUTPUT}")):
            for line in _lines(path):
                job = open_jobs.pop(line["custom_id"], None)
                if job is not None:
                    yield _completion(job, line)

    def _write(self, open_jobs: Mapping[str, Job]) -> None:
        """Write the jobs that no file holds yet into a new one."""
        waiting = {line["custom_id"] for path in self._waiting() for line in _lines(path)}
        lines = [
            json.dumps({
                "custom_id": attempt_id,
                "method": "POST",
                "url": f"/v1/{chat_api.path_of(self._is_plain)}",
                "body": chat_api.body_of(job, self._weights, self._is_plain),
            })
            for attempt_id, job in open_jobs.items()
            if attempt_id not in waiting
        ]  # fmt: skip
        if lines:
            name = hash_of(lines)[:16]
            aside = self.folder / f"{name}.part"
            aside.write_text("\n".join(lines) + "\n", encoding="utf-8")
            aside.replace(self.folder / f"{name}{INPUT}")

    def _waiting(self) -> list[Path]:
        """Return the request files without results."""
        return [path for path in sorted(self.folder.glob(f"*{INPUT}")) if not _results_of(path).exists()]

    def _run_waiting(self) -> None:
        for path in self._waiting():
            aside = path.with_name(path.name.removesuffix(INPUT) + ".part")
            places = {"{input}": str(path), "{output}": str(aside)}
            command = [_filled(part, places) for part in self._command]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not aside.exists():
                tail = " | ".join(done.stderr.strip().splitlines()[-3:])
                raise BatchCommandError(f"{command[0]} ended with {done.returncode} on {path.name}: {tail}")
            aside.replace(_results_of(path))


def _results_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(INPUT) + OUTPUT)


def _filled(part: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        part = part.replace(place, value)
    return part


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def _completion(job: Job, line: Mapping[str, Any]) -> Completion:
    response = line.get("response") or {}
    status, body = response.get("status_code", 500), response.get("body") or {}
    if status == 200 and not line.get("error"):
        return chat_api.completion_of(job, body, None)
    said = line.get("error") or body.get("error") or body
    message = said.get("message") if isinstance(said, dict) else said
    return chat_api.refusal_of(job, status, str(message or "no message"))
