"""What the control room adds around the steps: retries, pools, pictures."""

import socket

import pytest
from dagster import DagsterInstance, JobDefinition, MarkdownMetadataValue, TextMetadataValue

from inference.registry import RegistryError
from orchestration.assets import raw
from orchestration.assets.pictures import drawn, picture_assets, picture_key
from orchestration.assets.table_metadata import markdown_table
from orchestration.cli import show
from orchestration.control_room import PortTakenError, check_port, check_ports, keep_open
from orchestration.house import Asked, Completeness, House
from orchestration.local import prepare_dagster_home
from orchestration.locks import LockHeldError, hold
from orchestration.plots import PLOTS
from orchestration.requests import ask_configuration, pictures_run
from orchestration.settings import Settings
from orchestration.warehouse import WarehouseBusyError
from tests.orchestration.house.tiny import Refused


def run_asking(house: House, answers: list[Asked | Exception], monkeypatch: pytest.MonkeyPatch) -> tuple[bool, int]:
    """Run ``ask_model`` against prepared outcomes; return whether it succeeded and how often it asked."""
    job: JobDefinition = raw.ask_model_job
    left = iter(answers)

    def ask_raters(*_: object) -> Asked:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(raw, "ask_raters", ask_raters)
    monkeypatch.setattr(raw, "SECONDS_PER_WAIT", 0.0)
    with DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(
            run_config=ask_configuration(["m|a"]), resources={"house": house}, instance=instance, raise_on_error=False
        )
    return done.success, len(answers) - len(list(left))


def outcome(n_missing: int) -> Asked:
    return Asked((Completeness("m|a", 8, n_missing),), ())


def test_what_is_still_missing_is_asked_twice_more(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_asking(house, [outcome(3), outcome(2), outcome(0), outcome(0)], monkeypatch) == (True, 3)
    assert run_asking(house, [outcome(3)] * 5, monkeypatch) == (False, 3)


def test_only_what_passes_is_tried_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [WarehouseBusyError("held"), LockHeldError("locked"), OSError("No space left on device")]
    assert run_asking(house, [*held, *held, outcome(0)], monkeypatch) == (True, 7)
    assert run_asking(house, [RegistryError("old.yml: unknown key"), outcome(0)], monkeypatch) == (False, 1)


@pytest.mark.parametrize("pool", [raw.POOL_WAREHOUSE, raw.POOL_GPU])
def test_a_pool_lets_one_step_in_at_a_time(settings: Settings, monkeypatch: pytest.MonkeyPatch, pool: str) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    prepare_dagster_home(settings)
    with DagsterInstance.get() as instance:
        storage = instance.event_log_storage
        storage.initialize_concurrency_limit_to_default(pool)
        assert storage.claim_concurrency_slot(pool, "first run", "step").is_claimed
        assert not storage.claim_concurrency_slot(pool, "second run", "step").is_claimed
        storage.free_concurrency_slots_for_run("first run")
        assert storage.claim_concurrency_slot(pool, "second run", "step").is_claimed


def test_first_rows_are_shown_as_a_table_in_which_null_is_a_dash() -> None:
    shown = markdown_table(["rater_id", "theta"], [("m|a", 0.12345), ("x" * 60, None)])
    assert shown.splitlines() == [
        "| rater_id | theta |",
        "| --- | --- |",
        "| m\\|a | 0.123 |",
        f"| {'x' * 39}… | – |",
    ]


def test_every_picture_is_an_asset_with_a_picture_per_data_set(published: Settings) -> None:
    assert set(picture_assets().keys) == {picture_key(name) for name in PLOTS}
    shown = drawn(published, "leaderboard")
    assert list(shown) == ["labels", "scores"]
    for value in shown.values():
        assert isinstance(value, MarkdownMetadataValue)
        assert str(value.value).startswith("![leaderboard of ")
        assert "data:image/png;base64," in str(value.value)


def test_what_cannot_be_drawn_says_why(published: Settings) -> None:
    shown = drawn(published, "confusion-by-bin")
    assert isinstance(shown["labels"], MarkdownMetadataValue)
    assert isinstance(shown["scores"], TextMetadataValue)
    assert "nothing to draw for data set 'scores'" in str(shown["scores"].value)


def test_pictures_are_due_once_something_is_published(house: House) -> None:
    assert pictures_run(house) is None


@pytest.mark.parametrize("port", [0, -1, 99_999])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(PortTakenError, match=f"--docs-port {port}: no such port; name one from 1 to 65535"):
        check_port(port, "--docs-port")


def test_two_pages_do_not_share_a_port() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with pytest.raises(PortTakenError, match=f"--port and --docs-port are both {free}"):
        check_ports(free, free)


def test_a_port_that_is_taken_is_said_before_anything_starts(
    refused: Refused, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(show, "say", said.append)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused("ui", "--port", str(port), "--docs-port", str(port % 60_000 + 1_024))
    assert line.startswith(f"error: port {port} is taken by PID ")
    assert said == []
    assert not settings.home.exists()


def test_a_control_room_that_is_open_already_is_said_before_anything_starts(settings: Settings) -> None:
    said: list[str] = []
    with hold(settings.locks, "control room"), pytest.raises(LockHeldError, match="control room: locked by PID"):
        keep_open(settings, 3000, 3001, said.append)
    assert said == []
