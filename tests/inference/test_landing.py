import subprocess
import sys
from datetime import UTC, datetime

import polars as pl
import pytest

from inference.identity import attempt_id_of
from inference.landing import CHUNK_SCHEMA, ChunkError, Journal, chunk_files, validate_chunk
from inference.rows import ResponseRow


def _row(number: int, rater: str = "org/model-a|zero, shot") -> ResponseRow:
    return ResponseRow(
        attempt_id=attempt_id_of(str(number), 1), request_id=str(number), attempt=1, rater_id=rater, dataset="d",
        item_id=f"{number:03}", replicate=0, settings_hash="s", content_hash="c", prompt_hash=None, text="Label: a",
        finish_reason="stop", error_kind=None, error_type=None, error_message=None, prompt_tokens=None,
        completion_tokens=None, latency_seconds=None, option_logprobs=None, exemplar_ids=None, engine="recorded",
        engine_version="1", engine_flags=None, finished_at=datetime(2026, 1, 1, tzinfo=UTC), chunk_id="",
    )  # fmt: skip


def _read(folder) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in chunk_files(folder)]).sort("request_id")


def test_what_goes_in_comes_out_with_the_declared_schema(tmp_path):
    journal = Journal(tmp_path, rows_per_chunk=3)
    journal.append([(_row(i), f'[{{"content":"{i}","role":"user"}}]' if i else None) for i in range(7)])
    assert [path.parent.name for path in chunk_files(tmp_path)] == ["org%2Fmodel-a%7Czero%2C%20shot"] * 2
    journal.flush()
    rows = _read(tmp_path)
    assert rows.schema == CHUNK_SCHEMA
    assert rows["item_id"].to_list() == [f"{i:03}" for i in range(7)]
    assert rows["messages"].to_list()[:2] == [None, '[{"content":"1","role":"user"}]']
    for path in chunk_files(tmp_path):
        validate_chunk(path)
        assert pl.read_parquet(path)["chunk_id"].unique().to_list() == [path.stem]


def test_raters_do_not_share_chunks(tmp_path):
    journal = Journal(tmp_path)
    journal.append([(_row(1, "a|x"), None), (_row(2, "b|x"), None)])
    journal.flush()
    assert [pl.read_parquet(path)["rater_id"].to_list() for path in chunk_files(tmp_path)] == [["a|x"], ["b|x"]]


def test_the_same_attempts_written_twice_are_the_same_chunk(tmp_path):
    for _ in range(2):
        journal = Journal(tmp_path)
        journal.append([(_row(1), None), (_row(2), None)])
        journal.flush()
    assert len(chunk_files(tmp_path)) == 1


def test_rows_that_have_waited_long_are_written(tmp_path):
    journal = Journal(tmp_path, seconds_per_chunk=0.0)
    journal.append([(_row(1), None)])
    assert _read(tmp_path).height == 1


def test_flushing_nothing_writes_nothing(tmp_path):
    Journal(tmp_path).flush()
    assert chunk_files(tmp_path) == []


def test_a_chunk_that_is_cut_off_is_named_with_the_remedy(tmp_path):
    journal = Journal(tmp_path)
    journal.append([(_row(1), None)])
    journal.flush()
    (path,) = chunk_files(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ChunkError, match=r"\.parquet: not a whole Parquet file .*will be asked again") as caught:
        validate_chunk(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop("text"), "column 'text' is None, expected String"),
        (
            lambda frame: frame.with_columns(pl.col("attempt").cast(pl.Int32)),
            "column 'attempt' is Int32, expected Int64",
        ),
        (lambda frame: frame.with_columns(more=pl.lit(1)), "columns .*more"),
        (lambda frame: frame.drop("messages"), "columns .*messages"),
    ],
)
def test_a_chunk_of_another_version_is_named(tmp_path, spoil, message):
    path = tmp_path / "r" / "c.parquet"
    path.parent.mkdir()
    spoil(pl.DataFrame(schema=CHUNK_SCHEMA)).write_parquet(path)
    with pytest.raises(ChunkError, match=message):
        validate_chunk(path)


def test_a_bad_chunk_size_is_refused(tmp_path):
    with pytest.raises(ValueError, match="rows_per_chunk is 0; expected at least 1"):
        Journal(tmp_path, rows_per_chunk=0)


KILLED = """
import os, pathlib, signal, sys
from inference import landing
from tests_row import row
if sys.argv[2] == "before-rename":
    pathlib.Path.replace = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
journal = landing.Journal(pathlib.Path(sys.argv[1]), rows_per_chunk=2)
for i in range(5):
    journal.append([(row(i), None)])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("moment", "n_rows"), [("before-rename", 0), ("while-collecting", 4)])
def test_a_kill_leaves_whole_chunks_only(tmp_path, moment, n_rows):
    # the child makes its rows with this very module
    (tmp_path / "tests_row.py").write_text(
        "import importlib.util as u\n"
        f"spec = u.spec_from_file_location('made', {__file__!r})\n"
        "made = u.module_from_spec(spec); spec.loader.exec_module(made); row = made._row\n"
    )
    folder = tmp_path / "landing"
    child = subprocess.run([sys.executable, "-c", KILLED, str(folder), moment], cwd=".", env=_environment(tmp_path))
    assert child.returncode == -9
    chunks = chunk_files(folder)
    for path in chunks:
        validate_chunk(path)
    assert sum(pl.read_parquet(path).height for path in chunks) == n_rows


def _environment(folder) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.pathsep.join(sys.path)}"}
