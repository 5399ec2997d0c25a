"""The whole way through the command line: run, run again, look, import, correct, force."""

import json
import re
from collections import defaultdict
from pathlib import Path

import duckdb
import pytest

from orchestration.settings import PROJECT_ROOT
from tests.orchestration.house.tiny import ITEMS, Cli, command_line, edit, write_registry

LAYERS = ("raw", "staging", "core", "meta", "psychometrics", "marts", "published", "pictures")
NO_HEAVY_IMPORT = """
import sys
from orchestration.cli import app
app(["run"], standalone_mode=False)
print(sorted({"dagster", "dbt", "torch", "numba", "scipy"} & set(sys.modules)))
"""
TABLES = (
    "core.response_matrix",
    "core.responses",
    "psychometrics.irt_raters",
    "psychometrics.ctt_items",
    "marts.leaderboard",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a registry and, after the first run, the installation's home."""
    folder = tmp_path_factory.mktemp("place")
    write_registry(folder / "registry")
    return folder


@pytest.fixture(scope="module")
def cli(place: Path) -> Cli:
    run = command_line(place / "home", place / "registry")
    done = run("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"asked 0 requests, read {4 * len(ITEMS)} recorded responses; " in done.stdout
    assert re.search(r"^seconds: .*\bread m \d", done.stdout, re.MULTILINE)
    assert "ask m" not in done.stdout
    return run


def analyst(place: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(place / "home/published/analyst.duckdb"), read_only=True) as connection:
        return connection.execute(query).fetchall()


def contents(place: Path) -> dict[str, list[tuple[object, ...]]]:
    return {table: analyst(place, f"from {table} order by all") for table in TABLES}


def test_a_run_publishes_every_cell_with_its_status(cli: Cli, place: Path) -> None:
    cells = analyst(place, "select status, count(*) from core.response_matrix group by 1 order by 1")
    assert cells == [("not_recorded", 1), ("ok", 4 * len(ITEMS) - 1)]
    ids = analyst(place, "select distinct item_id from core.response_matrix")
    assert {str(row[0]) for row in ids} == set(ITEMS)
    right = analyst(place, "select sum(is_correct)::int from core.response_matrix where rater_id = 'm|a'")
    assert right == [(len(ITEMS),)]


def test_a_second_run_says_so_and_asks_nothing(cli: Cli) -> None:
    done = cli("run")
    assert done.returncode == 0
    assert done.stdout.startswith("nothing new: asked 0; refresh 1 of ")


def test_an_unchanged_run_imports_no_heavy_library(cli: Cli, place: Path) -> None:
    import os
    import subprocess
    import sys

    environment = os.environ | {"THETAHOUSE_HOME": str(place / "home"), "THETAHOUSE_REGISTRY": str(place / "registry")}
    environment.pop("THETAHOUSE_DATA", None)
    done = subprocess.run(
        [sys.executable, "-c", NO_HEAVY_IMPORT], env=environment, cwd=PROJECT_ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_sql_prints_tables_csv_and_json(cli: Cli) -> None:
    query = "select item_id, is_correct from core.response_matrix where rater_id = 'm|a' and item_id = '007'"
    assert json.loads(cli("sql", query, "--format", "json").stdout) == [{"item_id": "007", "is_correct": 1}]
    assert cli("sql", query, "--format", "csv").stdout == "item_id,is_correct\n007,1\n"
    assert "007" in cli("sql", query).stdout


def test_status_and_trace_lead_back_to_the_text(cli: Cli) -> None:
    status = cli("status").stdout
    assert "refresh 1 of" in status
    assert "not_recorded" in status
    traced = cli("trace", "--rater", "n|a", "--item", "52779E469111").stdout
    assert "tiny_labels / 52779E469111 by n|a: ok" in traced
    assert "Label: " in traced
    assert "\nanswer: half (rule statement, parser " in traced
    assert "place in the fits" in traced
    blank = cli("trace", "--rater", "n|b", "--item", "a|b").stdout
    assert "\nno answer: not_recorded (parser " in blank


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("sql", "from marts.leaderbord"), "leaderbord"),
        (("trace", "--rater", "m|z", "--item", "007"), "unknown rater 'm|z'; did you mean one of ['m|b', 'm|a']?"),
        (("trace", "--rater", "m|a", "--item", "07"), "unknown item '07' of rater 'm|a'; did you mean one of ['007',"),
        (
            ("trace", "--rater", "m|a", "--item", "007", "--dataset", "tiny_label"),
            "unknown data set 'tiny_label' of rater 'm|a'; did you mean one of ['tiny_labels']? (1 in all)",
        ),
        (("run", "--rater", "m|z"), "unknown rater 'm|z'; did you mean"),
    ],
)
def test_a_wrong_name_is_one_plain_line_and_exit_code_2(cli: Cli, arguments: tuple[str, ...], complaint: str) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")


@pytest.mark.slow
def test_forced_runs_give_identical_tables(cli: Cli, place: Path) -> None:
    before = contents(place)
    for _ in range(2):
        assert cli("run", "--force").returncode == 0
        assert contents(place) == before
        # alone among the marts it compares with what was published before: no change, said row by row
        assert set(analyst(place, "select change from marts.refresh_diff")) == {("unchanged",)}


@pytest.mark.slow
def test_a_warehouse_that_is_gone_is_made_anew_from_the_journal(cli: Cli, place: Path) -> None:
    before = contents(place)
    warehouse = place / "home/warehouse.duckdb"
    warehouse.unlink()
    done = cli("run")
    assert f"{warehouse} is not there: it is made anew from " in done.stdout
    assert "asked 0 requests;" in done.stdout
    assert contents(place) == before


@pytest.mark.slow
def test_changes_ask_only_what_they_must(tmp_path: Path) -> None:
    """A gold is corrected, predictions come in, a rater leaves and comes back: one installation, in this order."""
    write_registry(tmp_path / "registry")
    cli = command_line(tmp_path / "home", tmp_path / "registry")
    assert cli("run").returncode == 0
    parsed = analyst(tmp_path, "select attempt_id, parser_version, text from core.responses order by all")

    edit(tmp_path / "registry/banks/answers.csv", "answer 0,right", "answer 0,wrong")
    done = cli("run")
    assert "asked 0 requests;" in done.stdout
    assert analyst(tmp_path, "select attempt_id, parser_version, text from core.responses order by all") == parsed
    right = "select is_correct from core.response_matrix where rater_id = 'm|a' and item_id = '007'"
    assert analyst(tmp_path, right) == [(0,)]
    drift = "select change, accuracy_before, accuracy_after from marts.refresh_diff where rater_id = 'm|a'"
    assert analyst(tmp_path, drift) == [("changed", 1.0, 0.875)]
    assert "metrics_stay (marts.refresh_diff): tiny_labels: m|a: accuracy 1.0 to 0.875" in done.stdout

    predictions = tmp_path / "mine.csv"
    predictions.write_text("\ufeffid;mine|v1\r\n" + "".join(f'"{item}";right\r\n' for item in ITEMS), encoding="utf-8")
    taken = cli("import-responses", str(predictions), "--dataset", "tiny_labels")
    assert taken.returncode == 0, taken.stderr
    assert "registered: 1 rater with 8 requests" in taken.stdout
    assert "asked 0 requests, read 8 recorded responses" in cli("run").stdout
    assert analyst(tmp_path, "select count(*) from marts.leaderboard where rater_id = 'mine|v1'") == [(1,)]

    entry = tmp_path / "home/registry/recorded/mine.yml"
    text = entry.read_text()
    entry.unlink()
    assert "asked 0 requests;" in cli("run").stdout
    assert analyst(tmp_path, "select change, accuracy_after from marts.refresh_diff where rater_id = 'mine|v1'") == [
        ("removed", None)
    ]
    assert analyst(tmp_path, "select count(*) from marts.leaderboard where rater_id = 'mine|v1'") == [(0,)]
    entry.write_text(text)
    assert "asked 0 requests;" in cli("run").stdout
    assert analyst(tmp_path, "select count(*) from marts.leaderboard where rater_id = 'mine|v1'") == [(1,)]
    assert "nothing new" in cli("run").stdout


def test_the_control_room_loads_with_layers_as_groups(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster import Definitions

    from orchestration.build import build_definitions
    from orchestration.dbt import environment
    from orchestration.house import House
    from orchestration.settings import Settings

    settings = Settings(home=place / "home", data=None, shipped_registry=place / "registry")
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    definitions = build_definitions(House(settings))
    Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    groups = {key.path[0]: graph.get(key).group_name for key in graph.executable_asset_keys}
    assert groups == {name: name for name in LAYERS}
    upstream: dict[str, set[str]] = defaultdict(set)
    for key in graph.get_all_asset_keys():
        upstream[key.path[0]] |= {parent.path[0] for parent in graph.get(key).parent_keys}
    assert upstream["published"] == {"core", "psychometrics", "marts", "published"}
    assert upstream["psychometrics"] == {"core"}
    assert upstream["pictures"] == {"published"}
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.description, key
        assert node.kinds, key
        assert node.owners, key
        assert node.tags["room"], key
        if key.path[0] in ("raw", "core", "meta", "psychometrics", "marts"):
            assert all(column.description for column in node.metadata["dagster/column_schema"].columns), key
    assert not {key.path[0] for key in definitions.resolve_job_def("refresh").asset_layer.executable_asset_keys} & {
        "pictures"
    }
