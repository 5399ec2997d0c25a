"""Published files: whole, of one generation, always answering."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from dagster import AssetKey

from orchestration import generations
from orchestration.assets.published import published_assets
from orchestration.generations import MixedGenerationsError
from orchestration.publish import ASIDE, public_marts, publish_analyst, publish_public
from orchestration.warehouse import connect, create_raw_tables

READER = """
import sys, time, duckdb
path, stop = sys.argv[1], sys.argv[2]
import pathlib
n, errors, mixed, seen = 0, 0, 0, set()
print("reading", flush=True)
while not pathlib.Path(stop).exists():
    try:
        with duckdb.connect(path, read_only=True) as c:
            g = [c.execute(f"select g from {t}").fetchone()[0] for t in ("core.a", "psychometrics.b", "marts.c")]
            g.append(c.execute("select max(generation) from meta.refreshes").fetchone()[0])
        mixed += len(set(g)) != 1
        seen.add(g[0])
        n += 1
    except Exception as error:
        errors += 1
        print(repr(error), file=sys.stderr)
print(n, errors, mixed, len(seen), flush=True)
"""


def refresh(warehouse: Path) -> int:
    """Build three layers that each carry the number of their refresh."""
    with connect(warehouse) as connection:
        create_raw_tables(connection)
        generation = generations.begin(connection, f"fingerprint {connection}", 0)
        for layer, table in (("core", "core.a"), ("psychometrics", "psychometrics.b"), ("marts", "marts.c")):
            connection.execute(f"create or replace table {table} as select {generation} as g")
            generations.record(connection, layer)
        connection.execute("create or replace view marts.v as select g * 10 as x from marts.c")
        connection.execute("comment on column marts.c.g is 'number of the refresh'")
    return generation


def manifest(*public: str) -> dict[str, object]:
    nodes = {
        name: {
            "resource_type": "model",
            "schema": "marts",
            "name": name,
            "config": {"meta": {"public": name in public}},
        }
        for name in ("c", "v")
    }
    return {"nodes": {**nodes, "t": {"resource_type": "test", "schema": "marts", "name": "t", "config": {}}}}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "warehouse.duckdb"
    refresh(path)
    return path


def test_the_analysts_file_holds_every_layer_comments_and_raw_text(tmp_path: Path, warehouse: Path) -> None:
    target = tmp_path / "published" / "analyst.duckdb"
    published = publish_analyst(warehouse, target)
    assert published.generation == 1
    with duckdb.connect(str(target), read_only=True) as connection:
        assert connection.execute("select g from core.a").fetchone() == (1,)
        assert connection.execute("select x from marts.v").fetchone() == (10,)
        assert connection.execute("from raw.texts").fetchall() == []
        comment = "select comment from duckdb_columns() where schema_name = 'marts' and table_name = 'c'"
        assert connection.execute(comment).fetchone() == ("number of the refresh",)
        assert connection.execute("select generation, published_at is not null from meta.refreshes").fetchall() == [
            (1, True)
        ]
    assert [file.name for file in target.parent.iterdir()] == ["analyst.duckdb"]
    assert target.stat().st_mode & 0o222 == 0


def test_the_public_file_holds_only_what_the_allow_list_names(tmp_path: Path, warehouse: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest("v")))
    target = tmp_path / "public.duckdb"
    publish_public(warehouse, target, tmp_path / "manifest.json")
    with duckdb.connect(str(target), read_only=True) as connection:
        tables = connection.execute(
            "select table_schema || '.' || table_name from information_schema.tables"
        ).fetchall()
    assert sorted(tables) == [("marts.v",), ("meta.refreshes",)]


def test_nothing_is_public_unless_it_is_said() -> None:
    assert public_marts(manifest()) == ()
    assert public_marts(manifest("c", "v")) == ("c", "v")


def test_layers_of_two_refreshes_are_not_published_together(tmp_path: Path, warehouse: Path) -> None:
    target = tmp_path / "analyst.duckdb"
    publish_analyst(warehouse, target)
    with connect(warehouse) as connection:
        generations.begin(connection, "later", 0)
        generations.record(connection, "core")
        with pytest.raises(MixedGenerationsError, match=r"psychometrics was built in refresh None.*--force"):
            generations.record(connection, "marts")
    with pytest.raises(MixedGenerationsError):
        publish_analyst(warehouse, target)
    with duckdb.connect(str(target), read_only=True) as connection:
        assert connection.execute("select g from core.a").fetchone() == (1,)
    assert not list(tmp_path.glob(f"*{ASIDE}*"))


def test_rebuilding_a_layer_asks_for_the_layers_after_it(warehouse: Path) -> None:
    with connect(warehouse) as connection:
        generations.record(connection, "core")
        with pytest.raises(MixedGenerationsError):
            generations.current(connection)


def test_a_file_left_by_a_killed_publisher_is_no_obstacle(tmp_path: Path, warehouse: Path) -> None:
    target = tmp_path / "analyst.duckdb"
    target.with_name(target.name + ASIDE).write_bytes(b"half a file")
    target.with_name(target.name + ".wal").write_bytes(b"stale")
    assert publish_analyst(warehouse, target).generation == 1


def test_a_reader_in_another_process_never_fails_and_never_sees_two_refreshes(tmp_path: Path, warehouse: Path) -> None:
    target, stop = tmp_path / "analyst.duckdb", tmp_path / "stop"
    publish_analyst(warehouse, target)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(target), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reading\n"
    for _ in range(12):
        refresh(warehouse)
        publish_analyst(warehouse, target)
    stop.touch()
    out, err = reader.communicate(timeout=60)
    n, errors, mixed, seen = (int(value) for value in out.split())
    assert (errors, mixed) == (0, 0), err
    assert n > 20
    assert seen > 2


def test_the_file_that_says_which_refresh_stands_is_written_last() -> None:
    public, analyst = published_assets([AssetKey(["core", "a"])], [AssetKey(["marts", "v"])], Path("manifest.json"))
    assert public.key in analyst.asset_deps[analyst.key]
