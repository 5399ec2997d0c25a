"""The parser of answers over texts that are in no warehouse: the macros of the dbt project on a database in memory.

Holds the rendering of those macros without dbt, which takes a tenth of a second, and the reading of label sets for it.
The SQL itself is in ``dbt_project/macros/parsing``; a test holds what is rendered here against what dbt compiles.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb

from orchestration.settings import DBT_PROJECT_DIR, Settings

Kind = Literal["choice", "label", "score", "discrimination", "difficulty"]
_GIVEN = {
    "id": "bigint",
    "said": "varchar",
    "is_cut": "boolean",
    "kind": "varchar",
    "options": ["varchar"],
    "lowest": "double",
    "highest": "double",
}


@dataclass(frozen=True, slots=True)
class ParserSql:
    """The parser as one query."""

    query: str
    """Reads the tables ``given`` and ``given_labels``; one row per given text, in any order."""
    version: str
    """Version that is stored with every answer."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """What an answer may be."""

    kind: Kind
    """What is looked for."""
    options: tuple[str, ...] = ()
    """Letters of the options; for choices."""
    spellings: tuple[tuple[str | None, str], ...] = ()
    """(label, spelling); for labels. Spellings of other label sets have no label."""
    lowest: float | None = None
    """Lowest value; for scores and discriminations. A difficulty has no limits."""
    highest: float | None = None
    """Highest value."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What the parser made of one text; the columns of ``core.parsed_answers``."""

    status: str
    """`ok`, `invalid`, `refused`, `truncated` or `empty`."""
    status_reason: str | None
    """Why there is no answer; null where there is one, or none was given."""
    answer: str | float | None
    """Label, letter or number; null unless the status is `ok`."""
    parser_rule: str | None
    """Rule that found the answer."""
    parser_version: str
    """Version of the parser."""
    is_truncated: bool
    """Stopped by length, with an answer stated all the same."""
    is_reasoning_stripped: bool
    """Whether a reasoning block was dropped first."""


@cache
def parser_sql(project: Path = DBT_PROJECT_DIR) -> ParserSql:
    """Render the parser with plain Jinja: its macros need ``var`` and ``local_md5`` of dbt and nothing else."""
    import jinja2
    import yaml

    files = sorted((project / "macros" / "parsing").glob("*.sql"))
    macros = "".join(path.read_text(encoding="utf-8") for path in files)
    variables = yaml.load((project / "dbt_project.yml").read_text(encoding="utf-8"), yaml.CSafeLoader)["vars"]
    environment = jinja2.Environment()
    environment.globals |= {"var": variables.__getitem__, "local_md5": _md5}
    rendered: Any = environment.from_string(macros).module
    return ParserSql(rendered.parse_given(), rendered.parser_version())


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


@dataclass(slots=True)
class Parser:
    """The parser for one scheme.

    Parameters
    ----------
    scheme
        What an answer may be.
    """

    scheme: Scheme
    _connection: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self._connection = duckdb.connect()
        pairs = [{"label": label, "spelling": spelling} for label, spelling in self.scheme.spellings]
        self._connection.execute(f"create table given_labels as {_rows(pairs, label='varchar', spelling='varchar')}")

    def __call__(self, texts: Sequence[str], finish_reasons: Sequence[str]) -> list[ParsedAnswer]:
        """Parse texts; one answer each, in order.

        Parameters
        ----------
        texts
            Responses, verbatim.
        finish_reasons
            Why each ended, `stop` or `length`; same length.
        """
        scheme = self.scheme
        same = {"kind": scheme.kind, "options": [o.upper() for o in scheme.options],
                "lowest": scheme.lowest, "highest": scheme.highest}  # fmt: skip
        rows = [
            {"id": place, "said": text, "is_cut": reason == "length", **same}
            for place, (text, reason) in enumerate(zip(texts, finish_reasons, strict=True))
        ]
        self._connection.execute(f"create or replace table given as {_rows(rows, **_GIVEN)}")
        found = self._connection.execute(
            "select status, status_reason, answer, parser_rule, parser_version, is_truncated, is_reasoning_stripped "
            f"from ({parser_sql().query}) order by id"
        ).fetchall()
        return [ParsedAnswer(status, reason, self._value(answer), *rest) for status, reason, answer, *rest in found]

    def _value(self, answer: str | None) -> str | float | None:
        return float(answer) if answer is not None and self.scheme.kind not in ("choice", "label") else answer


def _rows(rows: Sequence[Mapping[str, Any]], **columns: Any) -> str:
    """Return rows as a query; a parameter in their place would make DuckDB import pandas, which takes half a second."""
    values, shape = (json.dumps(value).replace("'", "''") for value in (rows, [columns]))
    return f"select unnest(from_json('{values}', '{shape}'), max_depth := 2)"


def spellings_of(labels: Sequence[str], settings: Settings) -> tuple[tuple[str | None, str], ...]:
    """Return what the parser needs to know of some labels, as for a label set of the registry.

    Parameters
    ----------
    labels
        Labels, or the name of one label set. Labels that are those of a label set have its synonyms.
    settings
        Installation whose label sets are known.

    Raises
    ------
    ValueError
        One word that names no label set.
    """
    sets = _label_sets(settings)
    own: Mapping[str, Iterable[str]]
    if len(labels) == 1:
        if labels[0] not in sets:
            raise ValueError(f"unknown label set {labels[0]!r}; name one of {sorted(sets)}, or two labels and more")
        own = sets[labels[0]]
    else:
        own = next((known for known in sets.values() if set(known) == set(labels)), dict.fromkeys(labels, ()))
    owner: dict[str, str | None] = {_plain(word): label for label, words in own.items() for word in (label, *words)}
    others = {_plain(word) for known in sets.values() for label, words in known.items() for word in (label, *words)}
    return tuple((owner.get(spelling), spelling) for spelling in sorted(owner.keys() | others))


def _label_sets(settings: Settings) -> dict[str, dict[str, list[str]]]:
    """Read the label sets alone: loading the whole registry takes longer than a person wants to wait for one answer."""
    import yaml

    paths = [folder / "label_sets.yml" for folder in settings.registries]
    paths += [path for folder in settings.registries for path in sorted(folder.glob("label_sets/*.yml"))]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    loaded = [yaml.load(text, yaml.CSafeLoader) or {} for text in texts]
    return {name: entry["labels"] for entries in loaded for name, entry in entries.items()}


def _plain(spelling: str) -> str:
    return " ".join(spelling.lower().replace("_", " ").replace("-", " ").split())
