"""What follows from a change of the registry: what is asked, and what is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from inference.raters import RaterConflictError
from orchestration.house import House, UnknownNameError, check_names, read_registry, requests_to_ask
from orchestration.local import _Counted
from orchestration.locks import REFRESH, LockHeldError, hold_raters
from orchestration.refresh import open_refresh
from orchestration.settings import Settings, load_settings
from tests.orchestration.house.tiny import ITEMS, ask_all, edit, raw


def test_everything_is_asked_once(house: House) -> None:
    assert requests_to_ask(house).height == 4 * len(ITEMS)
    asked = ask_all(house)
    assert [(r.rater_id, r.n_planned, r.n_missing) for part in asked for r in part.raters] == [
        (rater_id, len(ITEMS), 0) for rater_id in ("m|a", "m|b", "n|a", "n|b")
    ]
    assert requests_to_ask(house).is_empty()
    assert ask_all(house) == []


def test_a_model_that_is_called_refresh_is_not_taken_for_the_refresh(house: House, registry: Path) -> None:
    edit(registry / "recorded/old.yml", "old_grades:", f"{REFRESH}:")
    counted = _Counted(house.progress)
    ask_all(replace(house, progress=counted))
    assert (counted.n_asked, counted.n_read) == (0, 4 * len(ITEMS)), "nobody is asked about what was recorded"


def test_one_more_rater_is_asked_alone(house: House, registry: Path) -> None:
    ask_all(house)
    grades = (registry / "recorded/grades.csv").read_text().splitlines()
    more = [grades[0] + ",o|a", *[f"{line},right" for line in grades[1:]]]
    (registry / "recorded/grades.csv").write_text("\n".join(more) + "\n")
    requests = requests_to_ask(house)
    assert set(requests["rater_id"]) == {"o|a"}
    assert requests.height == len(ITEMS)


def test_a_corrected_gold_asks_nothing(house: House, registry: Path) -> None:
    ask_all(house)
    edit(registry / "banks/answers.csv", "answer 0,right", "answer 0,wrong")
    assert requests_to_ask(house).is_empty()


def test_a_corrected_cell_of_a_recorded_file_is_landed_anew_and_the_old_row_stays(house: House, registry: Path) -> None:
    ask_all(house)
    edit(registry / "recorded/grades.csv", '"007",right', '"007",wrong')
    assert requests_to_ask(house).select("rater_id", "item_id").rows() == [("m|a", "007")]
    ask_all(house)
    texts = raw(
        house.settings, "select text from raw.responses where rater_id = 'm|a' and item_id = '007' order by finished_at"
    )
    assert texts["text"].to_list() == ["right", "wrong"]


def test_a_rater_taken_out_and_put_back_is_not_asked_again(house: House, registry: Path) -> None:
    ask_all(house)
    edit(registry / "recorded/grades.csv", "n|b", "n b")
    assert requests_to_ask(house).is_empty()
    edit(registry / "recorded/grades.csv", "n b", "n|b")
    assert requests_to_ask(house).is_empty()


def test_a_name_with_other_settings_is_refused_unless_it_supersedes(house: House, registry: Path) -> None:
    ask_all(house)
    edit(registry / "recorded/old.yml", "collection: old", "collection: new")
    with pytest.raises(RaterConflictError, match=r"rater '.*' is bound to other settings .*--supersede"):
        requests_to_ask(house)
    superseding = House(house.settings, supersede=True)
    ask_all(superseding)
    assert requests_to_ask(house).is_empty()
    assert raw(house.settings, "from raw.responses").height == 8 * len(ITEMS)


def test_a_name_that_has_never_answered_may_change_its_settings(house: House, registry: Path) -> None:
    open_refresh(house)
    edit(registry / "recorded/old.yml", "collection: old", "collection: new")
    assert requests_to_ask(house).height == 4 * len(ITEMS)


def test_a_run_can_be_narrowed_to_raters_and_studies(house: House) -> None:
    settings = house.settings
    assert set(requests_to_ask(House(settings, raters=frozenset({"m|a"})))["rater_id"]) == {"m|a"}
    assert requests_to_ask(House(settings, studies=frozenset({"grading"}))).height == 4 * len(ITEMS)
    assert requests_to_ask(House(settings, studies=frozenset({"gradin"}))).is_empty()


def test_unknown_names_are_refused_with_the_nearest(settings: Settings) -> None:
    registry = read_registry(settings)
    with pytest.raises(UnknownNameError, match=r"unknown rater 'm\|c'; did you mean one of \['m\|b', 'm\|a'\]"):
        check_names(registry, studies=(), raters=["m|c"])
    with pytest.raises(UnknownNameError, match="unknown study 'gradin'"):
        check_names(registry, studies=["gradin"], raters=())


def test_a_rater_being_asked_by_another_process_is_not_asked_twice(house: House) -> None:
    with hold_raters(house.settings.locks, ["m|a"]), pytest.raises(LockHeldError, match=r"rater m\|a: locked by PID"):
        ask_all(house)


def test_an_engine_that_stops_is_reported_and_asked_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from inference.engines.recorded import RecordedEngine

    complete = RecordedEngine.complete

    def stops(self: RecordedEngine, requests: object) -> object:
        for n, completion in enumerate(complete(self, requests)):  # type: ignore[arg-type]
            if n == 5:
                raise MemoryError("no room")
            yield completion

    monkeypatch.setattr(RecordedEngine, "complete", stops)
    first = ask_all(house)[0]
    assert "m|a lacks" in first.complaint
    assert "the engine stopped: MemoryError: no room" in first.complaint
    monkeypatch.setattr(RecordedEngine, "complete", complete)
    ask_all(house)
    assert requests_to_ask(house).is_empty()
    final = raw(house.settings, "select request_id from raw.responses where error_kind is null")
    assert final.height == 4 * len(ITEMS)
    assert final["request_id"].is_unique().all()


def test_settings_name_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match=r"THETAHOUSE_REGISTRY=.*no such folder; unset it"):
        load_settings({"THETAHOUSE_REGISTRY": str(tmp_path / "nowhere")})


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match=r"THETAHOUSE_HOME=.*file is not a folder; name a folder"):
            load_settings({"THETAHOUSE_HOME": str(home)})
    with pytest.raises(NotADirectoryError, match=r"THETAHOUSE_HOME=.*: file name too long; name a folder"):
        load_settings({"THETAHOUSE_HOME": str(tmp_path / ("a" * 300))})
