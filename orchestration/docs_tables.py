"""The page of tables, written from what dbt declares about them.

Holds the reading of dbt's manifest and the text of the page. What a table means is written where the table is declared
(``dbt_project/models``); Python's own declarations are checked against those, so the manifest speaks for all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PUBLISHED = ("core", "psychometrics", "marts")
"""Schemas that the analysts' file holds whole."""
RAW_PUBLISHED = ("responses", "prompts")
"""Tables of raw that the analysts' file holds too."""
SCHEMAS = {
    "core": "Items, raters, answers and the response matrix, made by dbt from raw.",
    "psychometrics": "Fits and statistics, computed by Python from `core` and replaced whole at every refresh.",
    "marts": "What most questions start from. The public file holds these and nothing else, where marked.",
    "raw": (
        "What was read and what the models wrote, verbatim. The analysts' file holds `raw.responses` and "
        "`raw.prompts`, and joins them in the view `raw.texts`; the other tables are in the working database alone."
    ),
}
HEAD = """\
# The tables

Written from the declarations when this site is built. `var/published/analyst.duckdb` holds every table of `core`,
`psychometrics` and `marts`; `var/published/public.duckdb` holds the tables marked *public*. Both hold
`meta.refreshes`: `generation`, `fingerprint`, `n_to_ask`, `begun_at`, `published_at`, one row per refresh; the latest
says which refresh the file is of.

- What is undefined is null, with the reason in `undefined_reason` or `status_reason`; never 0, 1 or NaN.
- Ids are text: `007` and `7` are two items.
- A `fit_id` is a hash of the fit's input and options: the same numbers have the same `fit_id`.

The lineage of each table, and its SQL, are on [dbt's own page](dbt.html).
"""


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column of a table."""

    name: str
    """Name."""
    type: str
    """SQL type."""
    description: str
    """Meaning."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """One table of the page."""

    schema: str
    """Schema."""
    name: str
    """Name without the schema."""
    description: str
    """What it holds, with its grain."""
    key: tuple[str, ...]
    """Columns that no two rows share; empty where none is declared."""
    columns: tuple[PageColumn, ...]
    """Columns in order."""
    is_public: bool
    """Whether the public file holds it."""

    @property
    def is_published(self) -> bool:
        """Whether the analysts' file holds it."""
        return self.schema in PUBLISHED or self.name in RAW_PUBLISHED


def documented_tables(manifest: Mapping[str, Any]) -> tuple[PageTable, ...]:
    """Return every table that people may query, by schema in reading order and by name.

    Parameters
    ----------
    manifest
        dbt's manifest, parsed.
    """
    keys = _keys(manifest["nodes"].values())
    models = (n for n in manifest["nodes"].values() if n["resource_type"] == "model" and n["schema"] in SCHEMAS)
    stored = (node for node in models if node["config"]["materialized"] != "ephemeral")
    sources = (source for source in manifest["sources"].values() if source["schema"] in SCHEMAS)
    tables = [_table(node, keys) for node in (*stored, *sources)]
    return tuple(sorted(tables, key=lambda table: (list(SCHEMAS).index(table.schema), table.name)))


def _keys(nodes: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table's ``primary_key`` test, by the table's id."""
    tests = (node for node in nodes if (node.get("test_metadata") or {}).get("name") == "primary_key")
    return {_tested(test): tuple(test["test_metadata"]["kwargs"]["columns"]) for test in tests}


def _tested(test: Mapping[str, Any]) -> str:
    """Return the id of the model or source that a test is about."""
    return str(test["attached_node"] or test["depends_on"]["nodes"][0])


def _table(node: Mapping[str, Any], keys: Mapping[str, tuple[str, ...]]) -> PageTable:
    columns = (PageColumn(c["name"], c["data_type"], c["description"]) for c in node["columns"].values())
    is_public = node["config"].get("meta", {}).get("public") is True
    key = keys.get(node["unique_id"], ())
    return PageTable(node["schema"], node["name"], node["description"], key, tuple(columns), is_public)


def tables_page(tables: Sequence[PageTable]) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    tables
        Tables in the order of the page (:func:`documented_tables`).
    """
    return "\n".join(_lines(tables)) + "\n"


def _lines(tables: Sequence[PageTable]) -> Iterator[str]:
    yield HEAD
    for schema, about in SCHEMAS.items():
        yield f"## {schema}\n\n{about}\n"
        for table in tables:
            if table.schema == schema:
                yield from _table_lines(table)


def _table_lines(table: PageTable) -> Iterator[str]:
    yield f"### {table.schema}.{table.name}\n\n{_cell(table.description)}\n"
    key = ", ".join(f"`{column}`" for column in table.key)
    yield f"Key: {key}{' · public' if table.is_public else ''}\n"
    yield "| column | type | meaning |\n|---|---|---|"
    yield from (f"| `{c.name}` | {c.type} | {_cell(c.description)} |" for c in table.columns)
    yield ""


def _cell(text: str) -> str:
    """Write a text so that Markdown takes nothing of it for markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
