"""Landing: each attempt once, each chunk whole or not at all; the mirror says what the registry says."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from inference.landing import ChunkError, chunk_files
from orchestration.house import House
from orchestration.intake import land_chunks
from orchestration.refresh import open_refresh
from orchestration.settings import Settings
from orchestration.warehouse import connect, create_raw_tables
from tests.orchestration.house.tiny import ITEMS, ask_all, edit, raw

RESPONSES = "from raw.responses order by attempt_id"


@pytest.fixture
def asked(house: House) -> Settings:
    ask_all(house)
    return house.settings


def test_what_was_asked_has_landed_once_with_its_chunks(asked: Settings) -> None:
    responses = raw(asked, RESPONSES)
    assert responses.height == 4 * len(ITEMS)
    assert responses["attempt_id"].is_unique().all()
    assert set(responses["item_id"]) == set(ITEMS)
    chunks = raw(asked, "from raw.chunks")
    assert sorted(chunks["path"]) == sorted(f.relative_to(asked.landing).as_posix() for f in chunk_files(asked.landing))
    assert chunks["n_rows"].sum() == responses.height


def test_landing_again_changes_nothing(asked: Settings) -> None:
    before = raw(asked, RESPONSES)
    landed = land_chunks(asked.warehouse, asked.landing)
    assert (landed.n_chunks, landed.n_rows) == (0, 0)
    assert raw(asked, RESPONSES).equals(before)


def test_a_journal_lands_in_an_empty_warehouse_as_it_did_before(asked: Settings) -> None:
    before = raw(asked, RESPONSES)
    asked.warehouse.unlink()
    assert land_chunks(asked.warehouse, asked.landing).n_rows == before.height
    assert raw(asked, RESPONSES).equals(before)


def test_attempts_that_stand_twice_land_once(asked: Settings) -> None:
    """The same attempt twice in one chunk, and again in another chunk."""
    before = raw(asked, RESPONSES)
    chunk = chunk_files(asked.landing)[0]
    rows = pl.read_parquet(chunk)
    twice = pl.concat([rows, rows]).with_columns(chunk_id=pl.lit("0twice"))
    twice.write_parquet(chunk.with_name("0twice.parquet"))
    asked.warehouse.unlink()
    land_chunks(asked.warehouse, asked.landing)
    after = raw(asked, RESPONSES)
    assert after.drop("chunk_id").equals(before.drop("chunk_id"))
    assert land_chunks(asked.warehouse, asked.landing).n_rows == 0


def test_a_truncated_chunk_is_named_and_nothing_lands(asked: Settings) -> None:
    for path in (asked.warehouse, chunk_files(asked.landing)[-1]):
        content = path.read_bytes()
        path.unlink() if path == asked.warehouse else path.write_bytes(content[: len(content) // 2])
    broken = chunk_files(asked.landing)[-1]
    with pytest.raises(ChunkError, match=f"{broken.name}.*asked again") as caught:
        land_chunks(asked.warehouse, asked.landing)
    assert "\n" not in str(caught.value)
    assert raw(asked, RESPONSES).is_empty()


def test_a_truncated_chunk_once_moved_away_is_asked_again(house: House, asked: Settings, tmp_path: Path) -> None:
    broken = chunk_files(asked.landing)[-1]
    rater = broken.parent.name
    asked.warehouse.unlink()
    shutil.move(broken, tmp_path / "moved")
    ask_all(house)
    assert raw(asked, RESPONSES).height == 4 * len(ITEMS)
    assert chunk_files(asked.landing)[-1].parent.name == rater


def test_a_file_that_was_being_written_is_left_alone(asked: Settings) -> None:
    folder = chunk_files(asked.landing)[0].parent
    (folder / ".half.parquet.123.part").write_bytes(b"PAR1")
    assert land_chunks(asked.warehouse, asked.landing).n_chunks == 0


def test_a_landing_that_fails_half_way_leaves_nothing(asked: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.warehouse.unlink()
    with connect(asked.warehouse) as connection:
        create_raw_tables(connection)
        connection.execute("drop table raw.prompts")
        connection.execute("create view raw.prompts as select 'x' as prompt_hash, 'm' as messages")
    with pytest.raises(Exception, match=r"prompts"):
        land_chunks(asked.warehouse, asked.landing)
    assert raw(asked, "from raw.responses").is_empty()
    assert raw(asked, "from raw.chunks").is_empty()


def test_the_mirror_keeps_old_readings_and_says_which_is_current(house: House, registry: Path) -> None:
    open_refresh(house)
    edit(registry / "banks/answers.csv", "answer 0,right", "answer 0,wrong")
    open_refresh(house)
    loads = raw(house.settings, "from raw.loads order by loaded_at")
    assert loads["is_current"].to_list() == [False, True]
    golds = raw(
        house.settings,
        "select gold_label from raw.items join raw.loads using (load_id) where item_id = '007' order by loaded_at",
    )
    assert golds["gold_label"].to_list() == ["right", "wrong"]
    edit(registry / "banks/answers.csv", "answer 0,wrong", "answer 0,right")
    open_refresh(house)
    assert raw(house.settings, "from raw.loads order by loaded_at")["is_current"].to_list() == [True, False]


def test_a_rater_that_leaves_is_kept_and_not_active(house: House, registry: Path) -> None:
    open_refresh(house)
    edit(registry / "recorded/grades.csv", "m|b", "m b")
    open_refresh(house)
    raters = raw(house.settings, "select rater_id, is_active from raw.raters order by 1")
    assert raters.rows() == [("m|a", True), ("m|b", False), ("n|a", True), ("n|b", True)]
    assert raw(house.settings, "select distinct rater_id from raw.requests")["rater_id"].sort().to_list() == [
        "m|a",
        "n|a",
        "n|b",
    ]
