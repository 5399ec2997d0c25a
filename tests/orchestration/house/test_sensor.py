"""The sensor: one run per model that lacks something, then one refresh, and nobody is held up."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from dagster import DagsterInstance, RunRequest, RunsFilter, SensorResult, SkipReason, build_sensor_context
from dagster._core.events import JobFailureData, RunFailureReason
from dagster._core.test_utils import create_run_for_test

from orchestration import sensors
from orchestration.house import House, load_catalogue
from orchestration.partitions import RATERS, partition_of, rater_of, sync_partitions
from orchestration.requests import MODEL_TAG, ask_runs, refresh_run
from orchestration.runs import UNFINISHED
from orchestration.sensors import LONGEST_WAIT_SECONDS, _evaluate
from tests.orchestration.house.tiny import ask_all, edit


def tick(house: House, instance: DagsterInstance) -> list[RunRequest] | str:
    """Evaluate the sensor once; remember what it launched, as the daemon does."""
    with build_sensor_context(instance=instance) as context:
        result = _evaluate(context, house)
    if isinstance(result, SkipReason):
        return str(result.skip_message)
    assert isinstance(result, SensorResult)
    requests = list(result.run_requests or [])
    for request in requests:
        tags = {**request.tags, "dagster/run_key": str(request.run_key)}
        create_run_for_test(instance, job_name=str(request.job_name), tags=tags)
    return requests


def finish_runs(instance: DagsterInstance, reason: RunFailureReason = RunFailureReason.STEP_FAILURE) -> None:
    """Let every run that is under way fail."""
    for run in instance.get_runs(RunsFilter(statuses=UNFINISHED)):
        instance.report_run_failed(run, "failed", JobFailureData(error=None, failure_reason=reason))


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Move the sensor's clock on."""
    now = time.time()
    monkeypatch.setattr(sensors, "time", SimpleNamespace(time=lambda: now + seconds))


def test_one_run_per_model_covers_its_raters_then_one_refresh(house: House) -> None:
    with DagsterInstance.ephemeral() as instance:
        first = tick(house, instance)
        assert [(r.job_name, r.run_config["ops"]["ask"]["config"]["rater_ids"]) for r in first] == [
            ("ask_model", ["m|a", "m|b"]),
            ("ask_model", ["n|a", "n|b"]),
        ]
        assert tick(house, instance) == "models are being asked"
        ask_all(house)
        finish_runs(instance)
        assert [r.job_name for r in tick(house, instance)] == ["refresh"]
        assert tick(house, instance) == "a refresh is running"


def test_what_failed_for_good_is_not_launched_again_and_holds_no_refresh_up(house: House) -> None:
    with DagsterInstance.ephemeral() as instance:
        tick(house, instance)
        finish_runs(instance)  # both runs have failed: nothing has landed
        assert [r.job_name for r in tick(house, instance)] == ["refresh"]


def test_a_model_that_is_being_asked_keeps_no_other_from_being_asked(house: House, registry: Path) -> None:
    with DagsterInstance.ephemeral() as instance:
        tick(house, instance)
        edit(registry / "recorded/grades.csv", "n|a,n|b", "z|a,n|b")
        edit(registry / "recorded/grades.csv", '"007",right', '"007",wrong')
        assert [r.tags[MODEL_TAG] for r in tick(house, instance)] == ["z"]
        assert tick(house, instance) == "models are being asked"


def test_what_was_cut_off_is_launched_again_after_a_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with DagsterInstance.ephemeral() as instance:
        keys = [r.run_key for r in tick(house, instance)]
        finish_runs(instance, RunFailureReason.UNEXPECTED_TERMINATION)
        assert [r.job_name for r in tick(house, instance)] == ["refresh"], "not yet"
        later(monkeypatch, 31)
        again = tick(house, instance)
        assert [r.job_name for r in again] == ["ask_model", "ask_model"]
        assert not {r.run_key for r in again} & set(keys), "Dagster refuses a key that it knows"
        finish_runs(instance)
        later(monkeypatch, 3600)
        assert "ask_model" not in {r.job_name for r in tick(house, instance)}, "failed in a step this time"


def test_a_refresh_that_failed_is_tried_after_longer_and_longer_waits(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_all(house)
    with DagsterInstance.ephemeral() as instance:
        for n_failed, wait in enumerate((0, 30, 60, 120)):
            later(monkeypatch, wait - 5)
            if n_failed:
                assert tick(house, instance) == "everything that has landed is published and drawn"
            later(monkeypatch, wait + 5)
            assert [r.job_name for r in tick(house, instance)] == ["refresh"]
            finish_runs(instance)
        later(monkeypatch, LONGEST_WAIT_SECONDS)
        assert [r.job_name for r in tick(house, instance)] == ["refresh"]


def test_a_changed_entry_is_asked_again(house: House, registry: Path) -> None:
    with DagsterInstance.ephemeral() as instance:
        tick(house, instance)
        finish_runs(instance)
        edit(registry / "recorded/grades.csv", '"007",right', '"007",wrong')
        assert [r.job_name for r in tick(house, instance)] == ["ask_model"]


def test_every_night_has_run_keys_of_its_own(house: House) -> None:
    tonight, tomorrow = ({run.run_key for run in ask_runs(house, key=night)} for night in ("1", "2"))
    assert len(tonight) == len(tomorrow) == 2
    assert not tonight & tomorrow


def test_a_refresh_is_due_until_it_is_published(house: House) -> None:
    due = refresh_run(house)
    assert due is not None
    assert refresh_run(house).run_key == due.run_key
    ask_all(house)
    assert refresh_run(house).run_key != due.run_key


@pytest.mark.parametrize("rater_id", ["org/model-a|zero", "model, v2 (4-bit)|x", "m%7Ca|b", "m…\u00e9|~"])
def test_partition_keys_lead_back_to_their_raters(rater_id: str) -> None:
    key = partition_of(rater_id)
    assert rater_of(key) == rater_id
    with DagsterInstance.ephemeral() as instance:
        sync_partitions(instance, [rater_id])
        assert instance.get_dynamic_partitions(str(RATERS.name)) == [key]


def test_partitions_follow_the_registry(house: House, registry: Path) -> None:
    with DagsterInstance.ephemeral() as instance:
        sync_partitions(instance, load_catalogue(house.settings).raters)
        edit(registry / "recorded/grades.csv", "n|b", "n b")
        sync_partitions(instance, load_catalogue(house.settings).raters)
        keys = instance.get_dynamic_partitions(str(RATERS.name))
        assert sorted(rater_of(key) for key in keys) == ["m|a", "m|b", "n|a"]
