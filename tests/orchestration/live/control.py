"""A control room as a person opens it, in a process of its own, and a server that plays a model.

Holds starting, looking and killing; every wait has an end. Holds no claims.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import psutil

from orchestration.settings import PROJECT_ROOT, Settings

T = TypeVar("T")
START_SECONDS, STOP_SECONDS, RUN_SECONDS = 240.0, 120.0, 900.0
"""Longest waits, for machines that are busy with other things; an idle one needs a tenth."""
RUNS = """
{ runsOrError(limit: 60) { __typename ... on Runs { results {
  id status jobName startTime endTime creationTime tags { key value } } } } }
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: str, look: Callable[[], T | None], seconds: float = RUN_SECONDS) -> T:
    """Look again and again until there is something to see."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, duckdb.Error, psutil.Error):
            found = look()
            if found:
                return found
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


class ControlRoom:
    """``thetahouse ui`` of an installation."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.port, self.docs_port = settings, free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("THETAHOUSE_", "DAGSTER_", "DBT_"))}
        ours["PYTHONPATH"] = str(PROJECT_ROOT)  # run workers begin elsewhere
        ours |= {"THETAHOUSE_HOME": str(settings.home), "THETAHOUSE_REGISTRY": str(settings.shipped_registry)}
        command = [sys.executable, "-c", "from orchestration.cli import main; main()", "ui"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--docs-port", str(self.docs_port)],
            env=ours | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}, cwd=PROJECT_ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def says(self, text: str, n: int = 1) -> bool:
        """Tell whether a text has been printed so many times; fails where it never will be."""
        assert self.process.poll() is None, "\n".join(self.lines)
        return sum(text in line for line in self.lines) >= n

    def wait_until_open(self, n: int = 1) -> None:
        """Wait until it says for the n-th time that it is open."""
        wait_for("the control room to open", lambda: self.says("end with Ctrl-C", n), START_SECONDS)

    def graphql(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            answer = json.loads(reply.read())
        assert "errors" not in answer, answer
        return dict(answer["data"])

    def runs(self, job: str, model: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of a job, newest first, with their tags as a mapping."""
        found = [
            {**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}}
            for run in self.graphql(RUNS)["runsOrError"]["results"]
            if run["jobName"] == job
        ]
        return [run for run in found if model is None or run["tags"].get("thetahouse/model") == model]

    def ended(self, job: str, model: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of a job where all of them have ended; none otherwise."""
        runs = self.runs(job, model)
        return runs if all(run["status"] in {"SUCCESS", "FAILURE", "CANCELED"} for run in runs) else []

    def processes(self, *words: str) -> list[psutil.Process]:
        """Return the processes of this control room whose command line holds all these words."""
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.Error):
                if all(word in " ".join(process.cmdline()) for word in words):
                    found.append(process)
        return found

    def interrupt(self) -> int:
        """End it as Ctrl-C does; return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOP_SECONDS)

    def kill_all(self) -> None:
        """Kill every process of it at once, as a power cut does."""
        family = []
        with suppress(psutil.Error):
            parent = psutil.Process(self.process.pid)
            family = [parent, *parent.children(recursive=True)]
        for process in family:
            with suppress(psutil.Error):
                process.kill()
        self.process.wait(10)


@contextmanager
def open_control_room(settings: Settings) -> Iterator[ControlRoom]:
    """Open a control room for the length of the block, and leave no process of it behind."""
    room = ControlRoom(settings)
    try:
        room.wait_until_open()
        yield room
    finally:
        room.kill_all()


def published(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    """Query the published file; nothing where there is none yet."""
    if not settings.analyst.exists():
        return []
    with duckdb.connect(str(settings.analyst), read_only=True) as connection:
        return connection.execute(query).fetchall()


class ModelServer(ThreadingHTTPServer):
    """Answers every chat completion with one text, after so many seconds."""

    daemon_threads = True

    def __init__(self, text: str) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.text, self.n_asked, self.seconds = text, 0, 0.0

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that were killed."""


class _Completions(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.n_asked += 1
        time.sleep(self.server.seconds)
        message = {"role": "assistant", "content": self.server.text}
        usage = {"prompt_tokens": 5, "completion_tokens": 2}
        content = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(content)


@contextmanager
def model_server(text: str = "Label: right") -> Iterator[ModelServer]:
    """Serve a model for the length of the block."""
    server = ModelServer(text)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def write_model(registry: Path, name: str, url: str, conditions: tuple[str, ...], study: str = "grading") -> Path:
    """Write a served model that joins a study into a registry."""
    file = registry / "models" / f"{name}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"{name}:\n  title: {name}\n  family: served\n  engine: openai\n  task: grade\n  revision: '1'\n"
        f"  template: grade@1\n  studies: [{study}]\n"
        "  settings: {weights: any, chat_template: model, max_tokens: 9}\n"
        f"  runtime: {{base_url: '{url}', max_tries: 1, max_in_flight: 2}}\n  conditions:\n"
        + "".join(
            f"    {condition}: {{temperature: 0, settings: {{seed: {i}}}}}\n" for i, condition in enumerate(conditions)
        )
    )
    return file
