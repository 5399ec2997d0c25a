"""The command ``export``: the published response matrix as files for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Kinds of files that ``export`` writes."""

    parquet = "parquet"
    csv = "csv"
    irw = "irw"


def export(
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    format: Annotated[Format, typer.Option(help="irw: long CSV by the Item Response Warehouse standard.")] = Format.csv,
    dataset: Annotated[str | None, typer.Option(help="Data set; all of them where none is named.")] = None,
) -> None:
    """Write the response matrix with the covariates of items and raters into a folder."""
    from orchestration import export as exporting
    from orchestration.cli import show
    from orchestration.settings import load_settings

    with show.waiting("writing the response matrix"):
        files = exporting.export(load_settings(), out, format=format.value, dataset=dataset)
    for file in files:
        show.say(f"{file.path}: {file.n_rows:,} rows")
