"""The control room: Dagster's server and daemon, and dbt's page, side by side on this machine only.

Holds starting, watching and stopping them. Does not hold what Dagster shows (:mod:`orchestration.build`) or the text of
dbt's page (:mod:`orchestration.dbt_pages`).
"""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from orchestration.dbt_pages import prepared_pages
from orchestration.locks import hold
from orchestration.settings import Settings
from orchestration.warehouse import command_of

HOST = "127.0.0.1"
PORTS = range(1, 65_536)
START_SECONDS = 180.0
STOP_SECONDS = 90.0
LOG_LINES = 15


class PortTakenError(RuntimeError):
    """Another program listens on a port that is needed."""


class ControlRoomError(RuntimeError):
    """Dagster did not come up."""


def check_port(port: int, option: str) -> None:
    """Check that nobody listens on a port.

    Raises
    ------
    PortTakenError
        If somebody does, or there is no such port; the message names the process where the system tells it, and the
        option to use.
    """
    if port not in PORTS:
        raise PortTakenError(f"{option} {port}: no such port; name one from {PORTS[0]} to {PORTS[-1]}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise PortTakenError(
                f"port {port} is taken by {_listener(port)}; end it, or name another port with {option}"
            ) from None


def check_ports(port: int, docs_port: int) -> None:
    """Check that both pages have a port of their own, on which nobody listens.

    Raises
    ------
    PortTakenError
        As of :func:`check_port`, or if both are the same.
    """
    check_port(port, "--port")
    check_port(docs_port, "--docs-port")
    if port == docs_port:
        raise PortTakenError(f"--port and --docs-port are both {port}: two pages need two ports; name another one")


def _listener(port: int) -> str:
    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
                return f"PID {connection.pid} ({command_of(connection.pid)})" if connection.pid else "another program"
    return "another program"


@contextlib.contextmanager
def serve_page(page: Path, port: int) -> Iterator[None]:
    """Show one file at every address of a port for the length of the block."""

    class OnePage(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = page.read_bytes()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((HOST, port), OnePage)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def start_dagster(port: int, log: Path) -> "subprocess.Popen[bytes]":
    """Start server and daemon; both end when the process returned is told to (:func:`stop_dagster`)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    dagster = str(Path(sys.executable).with_name("dagster"))
    command = [dagster, "dev", "-m", "orchestration.definitions", "-h", HOST, "-p", str(port), "--log-format", "json"]
    with log.open("ab") as stream:
        # a group of its own: Ctrl-C reaches this process alone, which then stops the others in order
        return subprocess.Popen(command, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, start_new_session=True)


def is_serving(port: int) -> bool:
    """Tell whether Dagster answers."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5.0)
    try:
        connection.request("GET", "/server_info")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def wait_until_serving(dagster: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until Dagster answers.

    Raises
    ------
    ControlRoomError
        If it ended instead, or did not answer in time; the message holds the end of its log.
    """
    deadline = time.monotonic() + START_SECONDS
    while not is_serving(port):
        if dagster.poll() is not None or time.monotonic() > deadline:
            last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])
            raise ControlRoomError(f"Dagster did not start; the end of {log}:\n{last}")
        time.sleep(0.5)


def stop_dagster(dagster: "subprocess.Popen[bytes]") -> None:
    """Stop server, daemon and the runs under way; what does not end in time, or has lost its parent, is killed."""
    dagster.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        dagster.wait(timeout=STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(dagster.pid, signal.SIGKILL)
    dagster.wait()


def keep_open(settings: Settings, port: int, docs_port: int, say: Callable[[str], None]) -> None:
    """Serve both until interrupted; a Dagster that ends by itself (a daemon that was killed) is started again.

    Raises
    ------
    LockHeldError
        If the control room of this installation is open already.
    ControlRoomError
        If Dagster does not come up.
    DbtError
        If dbt cannot make its page.
    """
    log = settings.home / "logs" / "dagster.log"
    with hold(settings.locks, "control room"), ThreadPoolExecutor(1) as beside:
        say("starting Dagster and dbt's page: half a minute")
        page = beside.submit(prepared_pages, settings)
        while True:
            dagster = start_dagster(port, log)
            try:
                wait_until_serving(dagster, port, log)
                with serve_page(page.result(), docs_port):
                    say(f"Dagster:  http://{HOST}:{port}")
                    say(f"dbt docs: http://{HOST}:{docs_port}")
                    say(f"log: {log}; end with Ctrl-C")
                    dagster.wait()
            finally:
                stop_dagster(dagster)
            say(f"Dagster ended by itself (exit code {dagster.returncode}); starting it again")
