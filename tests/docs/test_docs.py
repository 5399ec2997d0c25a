"""What the pages say can be typed, can be typed: commands, SQL, files, links and printed lines."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
import typer

from orchestration.cli import app
from orchestration.dbt import prepared_manifest
from orchestration.docs_tables import PageTable, documented_tables, tables_page
from orchestration.publish import RAW_TEXT_VIEW
from orchestration.settings import PROJECT_ROOT, Settings
from tests.docs.conftest import Demo
from tests.docs.pages import LANGUAGES, PAGES, PRINTS, Block, Place, blocks, missing_lines, read_page, typed

NOT_RUN = {
    "make run": "makes an environment and runs the demo; the fixture has run the demo",
    "source .venv/bin/activate": "the tests run in that environment already",
    "make ui": "serves until it is stopped; tests/orchestration/live opens the control room",
    "make docs": "is what test_the_site_builds runs",
    "python3 -m venv .venv-gpu": "needs a GPU and a network",
    ".venv-gpu/bin/pip install -e '.[vllm]'": "needs a GPU and a network",
    "make test-vllm": "makes an environment of its own; it is a test itself",
    "make run-llm": "needs the environment of make test-vllm",
    "thetahouse import-responses samples_grade.jsonl --dataset demo_labels --item-field doc.answer_id": (
        "needs a log of another program; tests/orchestration imports some"
    ),
    "thetahouse run --force": "tests/orchestration forces runs",
}
"""Every command on the pages that is not run, and why."""
MAY_BE_EMPTY = "may be empty"
README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def place(demo: Demo, tmp_path: Path) -> Iterator[Place]:
    """Copy the demo for one page; it is large, so it does not stay."""
    copy = demo.place.copied(tmp_path / "checkout")
    yield copy
    shutil.rmtree(copy.folder)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(home=tmp_path_factory.mktemp("docs"), data=None)


@pytest.fixture(scope="module")
def tables(home: Settings) -> tuple[PageTable, ...]:
    manifest: dict[str, Any] = json.loads(prepared_manifest(home).read_text(encoding="utf-8"))
    return documented_tables(manifest)


@pytest.fixture(scope="module")
def empty_house(tables: tuple[PageTable, ...]) -> duckdb.DuckDBPyConnection:
    """All tables that the page of tables describes, without rows."""
    house = duckdb.connect()
    house.execute("attach ':memory:' as out; use out; create schema meta")
    for schema in {table.schema for table in tables}:
        house.execute(f"create schema {schema}")
    for table in tables:
        columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        house.execute(f'create table {table.schema}."{table.name}" ({columns})')
    house.execute(RAW_TEXT_VIEW)
    house.execute(
        "create table meta.refreshes (generation bigint, fingerprint varchar, n_to_ask bigint, "
        "begun_at timestamptz, published_at timestamptz)"
    )
    return house


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_one_that_is_looked_at(page: str) -> None:
    text = read_page(page)
    assert 2 * len(blocks(page)) == len(re.findall(r"^\s*```", text, re.MULTILINE)), "an indented or unclosed block"
    assert {block.language for block in blocks(page)} <= LANGUAGES


def test_commands_that_are_not_run_are_listed_with_a_reason() -> None:
    shown = {line for page in PAGES for block in blocks(page) if block.language == "text" for line in block.commands}
    assert shown == set(NOT_RUN)


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    options = {option for parameter in group.params for option in parameter.opts}
    for name, *arguments in typed(page):
        if name.startswith("--"):
            assert name in options
            continue
        command = group.commands[name]
        command.make_context(name, arguments)  # refuses an option or a value that does not exist


def test_make_targets_exist() -> None:
    makefiles = [PROJECT_ROOT / "Makefile", *PROJECT_ROOT.glob("make/*.mk")]
    targets = set(re.findall(r"^([a-z-]+):", "\n".join(file.read_text() for file in makefiles), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)[`\n]", read_page(page))}
    assert named <= targets
    assert "run" in named


def test_make_help_aligns_what_the_targets_do() -> None:
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    shown = [re.fullmatch(r"(  make ([a-z-]+) {2,})\S.*", line) for line in done.stdout.splitlines()]
    assert all(shown), done.stdout
    columns = {(len(line[1]), line[2]) for line in shown if line is not None}
    assert {"setup", "test-inspect", "run-llm", "docs"} <= {name for _, name in columns}
    assert len({column for column, _ in columns}) == 1, done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_sql_fits_the_tables(page: str, empty_house: duckdb.DuckDBPyConnection) -> None:
    for block in blocks(page):
        if block.language == "sql":
            empty_house.execute(block.text)


def test_the_page_of_tables_describes_every_column(tables: tuple[PageTable, ...]) -> None:
    assert {table.schema for table in tables} == {"core", "psychometrics", "marts", "raw"}
    for table in tables:
        assert table.key, table.name
        assert set(table.key) <= {column.name for column in table.columns}
        assert all(text for column in table.columns for text in (column.type, column.description)), table.name
    page = tables_page(tables)
    assert page.count("\n### ") == len(tables)
    assert page.count("\n| `") == sum(len(table.columns) for table in tables)


def test_the_site_builds_with_every_link_whole(home: Settings, tmp_path: Path) -> None:
    environment = os.environ | {"THETAHOUSE_HOME": str(home.home), "NO_MKDOCS_2_WARNING": "1"}
    for command in (
        [sys.executable, "-c", "from orchestration.cli import main; main()", "docs"],
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
    ):
        done = subprocess.run(
            command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "core.response_matrix" in (tmp_path / "tables.html").read_text(encoding="utf-8")
    assert (tmp_path / "dbt.html").stat().st_size > 100_000
    assert not list(tmp_path.glob("hooks*"))
    pages = "".join(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.html") if file.name != "dbt.html")
    assert not re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"(https?://[^\"]+)\"", pages), "fetched from elsewhere"


def test_the_first_page_leaves_no_file_that_git_would_show() -> None:
    typed_lines = "\n".join(block.text for block in blocks("first-ten-minutes.md") if block.language == "bash")
    written = re.findall(r"(?:--out|>) *(\S+)", typed_lines)
    assert len(written) == 4
    assert {path.split("/")[0] for path in written} == {"var"}
    assert "var/" in (PROJECT_ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_a_page_works_from_top_to_bottom(page: str, place: Place, demo: Demo) -> None:
    printed = ""
    for block in blocks(page):
        if block.is_file:
            file = place.folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language in {"bash", "python"}:
            done = place.bash(block.text) if block.language == "bash" else place.python(block.text)
            assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
            printed = done.stdout
        elif block.language == "sql":
            assert _rows(block, place.folder) or block.title == MAY_BE_EMPTY, f"no row: {block.text}"
        elif block.title == PRINTS:
            assert not missing_lines(block.text, printed), printed
        elif block.text.strip() == "make run":
            printed = demo.printed


def _rows(block: Block, folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "var/published/analyst.duckdb"), read_only=True) as house:
        return house.execute(block.text).fetchall()


@pytest.mark.slow
def test_the_page_of_tables_says_what_is_published(demo: Demo, tables: tuple[PageTable, ...]) -> None:
    described = {f"{t.schema}.{t.name}": [c.name for c in t.columns] for t in tables if t.is_published}
    query = (
        "select schema_name || '.' || table_name, list(column_name order by column_index) from duckdb_columns() "
        "where not internal and database_name = current_database() and schema_name <> 'meta' "
        "and table_name <> 'texts' group by all"
    )
    found = {}
    for name in ("analyst", "public"):
        with duckdb.connect(str(demo.place.folder / f"var/published/{name}.duckdb"), read_only=True) as house:
            found[name] = dict(house.execute(query).fetchall())
    assert found["analyst"] == described
    assert found["public"] == {f"{t.schema}.{t.name}": described[f"{t.schema}.{t.name}"] for t in tables if t.is_public}


def test_commands_of_the_readme_exist() -> None:
    group = typer.main.get_command(app)
    commands = re.findall(r"^thetahouse (\w[\w-]*)(.*)$", README, re.MULTILINE)
    assert {name for name, _ in commands} >= {"import-responses", "run", "fit"}
    for name, arguments in commands:
        group.commands[name].make_context(name, shlex.split(arguments))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_readme_shows_what_its_questions_print(demo: Demo) -> None:
    shown = re.findall(r"^```sql\n(.*?)^```\n\n```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(shown) == README.count("```sql")
    for question, answer in shown:
        done = demo.place.bash(f"thetahouse sql {shlex.quote(question)}")
        assert done.returncode == 0, done.stderr
        assert [line.split() for line in done.stdout.splitlines()] == [line.split() for line in answer.splitlines()]
