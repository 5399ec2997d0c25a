"""A control room that runs: what appears in the registry is asked, refreshed and published without a hand on it."""

import subprocess
import sys
import time
import urllib.request

import psutil
import pytest

from orchestration.settings import PROJECT_ROOT, Settings
from tests.orchestration.live.control import (
    ControlRoom,
    free_port,
    model_server,
    open_control_room,
    published,
    wait_for,
    write_model,
)

pytestmark = pytest.mark.slow

STATUSES = "select status, count(*) from core.response_matrix where rater_id = '{}' group by 1"
PARTITIONS = """
{ assetNodeOrError(assetKey: {path: ["raw", "responses"]}) { ... on AssetNode { assetPartitionStatuses {
  ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } } } } }
"""


def partitions(room: ControlRoom, kind: str) -> set[str]:
    return set(room.graphql(PARTITIONS)["assetNodeOrError"]["assetPartitionStatuses"][kind])


def test_a_new_rater_is_published_beside_one_that_fails_and_the_failing_one_after_its_repair(
    settings: Settings,
) -> None:
    registry = settings.shipped_registry
    with model_server() as server, open_control_room(settings) as room:
        wait_for("the first refresh", lambda: published(settings, "from marts.leaderboard"))
        assert [run["status"] for run in room.runs("ask_model")] == ["SUCCESS"] * 2, "one run per model"

        started = time.monotonic()
        broken = write_model(registry, "broken", "http://127.0.0.1:9/v1", ("only",))
        write_model(registry, "served", server.url, ("a", "b", "c"))
        wait_for("the new raters", lambda: published(settings, "from marts.leaderboard where rater_id = 'served|a'"))
        seconds = time.monotonic() - started

        [run] = room.runs("ask_model", "served")
        assert run["status"] == "SUCCESS"
        assert server.n_asked == 3 * 8, "each request of the three raters once, by one engine"
        assert {"served%7Ca", "served%7Cb", "served%7Cc"} <= partitions(room, "materializedPartitions")
        asked = run["endTime"] - run["startTime"]
        print(f"\nregistry to published: {seconds:.0f} s, of which the model was asked for {asked:.0f} s")  # noqa: T201

        [failed] = wait_for("the failing model to end", lambda: room.ended("ask_model", "broken"))
        assert failed["status"] == "FAILURE"
        assert partitions(room, "failedPartitions") == {"broken%7Conly"}
        wait_for("its errors", lambda: published(settings, STATUSES.format("broken|only")) == [("error", 8)])
        assert published(settings, STATUSES.format("served|b")) == [("ok", 8)]

        broken.write_text(broken.read_text().replace("http://127.0.0.1:9/v1", server.url))
        wait_for("the repaired model", lambda: published(settings, STATUSES.format("broken|only")) == [("ok", 8)])
        assert [run["status"] for run in room.runs("ask_model", "broken")] == ["SUCCESS", "FAILURE"]
        assert partitions(room, "failedPartitions") == set()
        assert server.n_asked == 4 * 8


def test_the_control_room_opens_twice_says_where_and_gives_everything_back(settings: Settings) -> None:
    for _ in range(2):
        with open_control_room(settings) as room:
            assert f"Dagster:  {room.url}" in room.lines
            with urllib.request.urlopen(f"http://127.0.0.1:{room.docs_port}", timeout=10) as page:
                assert "response_matrix" in page.read().decode()
            again = refused(settings, room.port)
            assert again.startswith(f"error: port {room.port} is taken by PID ")
            assert "name another port with --port" in again
            other = refused(settings, free_port())
            assert "control room: locked by PID" in other
            family = room.processes()
            assert room.interrupt() == 0
            assert room.lines[-1] == "stopped"
            assert not [process for process in family if runs_on(process)]


def runs_on(process: psutil.Process) -> bool:
    """Tell whether a process still runs; one that waits only for its parent to notice its end does not."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def refused(settings: Settings, port: int) -> str:
    """Open a second control room, which must be refused; return what it says."""
    command = [sys.executable, "-c", "from orchestration.cli import main; main()", "ui"]
    done = subprocess.run(
        [*command, "--port", str(port), "--docs-port", str(free_port())],
        cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin", "THETAHOUSE_HOME": str(settings.home)},
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr
