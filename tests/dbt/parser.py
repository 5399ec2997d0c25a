"""The parser of the dbt project without a warehouse."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from orchestration.parsing import parser_sql


class Parser:
    """The parser of the dbt project over texts in memory, as the command ``parse`` runs it."""

    def __init__(self) -> None:
        self.sql, self.version = parser_sql().query, parser_sql().version
        self.connection = duckdb.connect()

    def __call__(
        self,
        kind: str,
        texts: Sequence[str],
        *,
        labels: Mapping[str, Sequence[str]] | None = None,
        others: Sequence[str] = (),
        options: str = "ABCD",
        scale: tuple[float, float] | None = None,
        finish_reasons: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Parse texts of one scheme, `others` being labels of other sets; one row per text, in order."""
        cut = [reason == "length" for reason in finish_reasons or ["stop"] * len(texts)]
        rows = {"id": range(len(texts)), "said": texts, "is_cut": cut, "options": [list(options)] * len(texts)}
        given = pl.DataFrame(rows, schema_overrides={"said": pl.String, "options": pl.List(pl.String)})
        own = [(label, spelling) for label, all_of in (labels or {}).items() for spelling in (label, *all_of)]
        spellings = [*own, *((None, spelling) for spelling in others)]
        low, high = scale or (None, None)
        given = given.with_columns(kind=pl.lit(kind), lowest=pl.lit(low, pl.Float64), highest=pl.lit(high, pl.Float64))
        self.connection.register("given", given.to_arrow())
        known = pl.DataFrame(spellings, schema={"label": pl.String, "spelling": pl.String}, orient="row")
        self.connection.register("given_labels", known.to_arrow())
        return self.connection.execute(f"from ({self.sql}) order by id").pl().to_dicts()
