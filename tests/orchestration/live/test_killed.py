"""What is killed in a running control room begins again by itself: the daemon, a run, dbt, and everything at once.

Whoever asks for nothing but ``thetahouse ui`` ends with the tables of an undisturbed run, and no answer that had
landed is asked for again.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestration.settings import Settings
from tests.orchestration.house.tiny import edit, raw
from tests.orchestration.live.commands import contents, has_open, undisturbed
from tests.orchestration.live.control import (
    ControlRoom,
    ModelServer,
    model_server,
    open_control_room,
    published,
    wait_for,
    write_model,
)

pytestmark = pytest.mark.slow

OK = "select 1 from core.response_matrix where rater_id = '{}' and status = 'ok' having count(*) = 8"
CONDITIONS = ("a", "b", "c")
N_REQUESTS = len(CONDITIONS) * 8


def is_answered(settings: Settings, model: str) -> bool:
    return all(published(settings, OK.format(f"{model}|{condition}")) for condition in CONDITIONS)


def add_model(settings: Settings, server: ModelServer, model: str) -> int:
    """Add a slow model; return how many requests had been asked before."""
    before, server.seconds = server.n_asked, 0.5
    write_model(settings.shipped_registry, model, server.url, CONDITIONS)
    return before


def process_of(room: ControlRoom, job: str) -> int | None:
    """Return the process of the newest run of a job, once it is known."""
    runs: list[dict[str, Any]] = room.runs(job)
    owner = runs[0]["tags"].get("thetahouse/process") if runs and runs[0]["status"] == "STARTED" else None
    return int(owner.split(":")[0]) if owner else None


def statuses(room: ControlRoom, job: str, model: str | None = None) -> list[str]:
    return [run["status"] for run in room.runs(job, model)]


def dbt_at_work(room: ControlRoom, warehouse: Path) -> psutil.Process | None:
    for process in room.processes("dbt", "build"):
        with suppress(psutil.Error):
            if has_open(process, warehouse):
                return process
    return None


def test_what_is_killed_begins_again_by_itself_and_loses_nothing(settings: Settings, tmp_path: Path) -> None:
    answers = settings.shipped_registry / "banks/answers.csv"
    with model_server() as server:
        with open_control_room(settings) as room:
            wait_for("the first refresh", lambda: published(settings, "from marts.leaderboard"))

            # the daemon, and then a model that appears
            [daemon] = room.processes("dagster._daemon")
            daemon.kill()
            room.wait_until_open(2)
            told("the daemon was killed: Dagster serves again")

            # the process of a run, while its model answers
            before = add_model(settings, server, "first")
            wait_for("some answers", lambda: server.n_asked >= before + N_REQUESTS // 2)
            os.kill(wait_for("the run's process", lambda: process_of(room, "ask_model")), signal.SIGKILL)
            wait_for("the first model", lambda: is_answered(settings, "first"))
            assert statuses(room, "ask_model", "first") == ["SUCCESS", "FAILURE"]
            told("a run's process was killed: its model is asked, and published")

            # dbt, in mid-build
            n_refreshes = len(wait_for("the refresh to end", lambda: room.ended("refresh")))
            edit(answers, "answer 0,right", "answer 0,wrong")
            wait_for("dbt to build", lambda: dbt_at_work(room, settings.warehouse)).kill()
            gold = "from core.items where gold_label = 'wrong' and item_text = 'answer 0'"
            wait_for("the corrected gold", lambda: published(settings, gold))
            wait_for("the refresh to end", lambda: room.ended("refresh"))
            assert statuses(room, "refresh")[:-n_refreshes] == ["SUCCESS", "FAILURE"]
            told("dbt was killed: the refresh has been repeated")

            # everything at once, while a model answers
            before = add_model(settings, server, "second")
            wait_for("some answers", lambda: server.n_asked >= before + N_REQUESTS // 2)
            room.kill_all()
        with open_control_room(settings):
            wait_for("the second model", lambda: is_answered(settings, "second"))
            told("everything was killed: opened again, it asks what is missing, and publishes")

        server.seconds = 0.0
        assert contents(settings) == undisturbed(settings, tmp_path)
    twice = "select request_id from raw.responses group by 1 having count(*) > 1"
    assert raw(settings, twice).is_empty()


def told(what: str) -> None:
    """Print what has been seen, with the time."""
    print(f"\n{time.strftime('%H:%M:%S')} {what}")  # noqa: T201
