"""What is remembered of fits between two refreshes."""

from pathlib import Path

import polars as pl

from analytics.schemas import PSYCHOMETRICS
from orchestration import generations
from orchestration.fits import kept_fits, write_fits
from orchestration.warehouse import connect, create_schemas, transaction


def test_the_first_fits_may_be_forced_and_are_kept_for_the_same_input(tmp_path: Path) -> None:
    frames = {name: pl.DataFrame(schema=table.schema) for name, table in PSYCHOMETRICS.items()}
    with connect(tmp_path / "warehouse.duckdb") as connection:
        create_schemas(connection)
        generations.begin(connection, "fingerprint", 0)
        generations.record(connection, "core")
        with transaction(connection):
            write_fits(connection, frames, hashes={"same": "1", "other": "1"}, kept=set())
        assert kept_fits(connection, {"same": "1", "other": "2"}) == {"same"}
