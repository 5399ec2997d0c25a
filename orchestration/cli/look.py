"""Commands that look: ``status``, ``sql``, ``trace``. They read the published file, never the working one."""

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How ``sql`` prints."""

    table = "table"
    csv = "csv"
    json = "json"


def status() -> None:
    """Show what is published, how complete it is, and who holds a lock."""
    from orchestration.cli import summary
    from orchestration.settings import load_settings

    summary.status(load_settings())


def sql(
    query: Annotated[str, typer.Argument(help="SQL over core, psychometrics, marts and raw.texts.")],
    format: Annotated[Format, typer.Option(help="How to print the rows.")] = Format.table,
) -> None:
    """Query the analysts' file."""
    from orchestration.cli import show
    from orchestration.reading import answer_typed
    from orchestration.settings import load_settings

    frame = answer_typed(load_settings(), query)
    if format is Format.csv:
        sys.stdout.write(show.as_csv(frame))
    elif format is Format.json:
        sys.stdout.write(show.as_json(frame) + "\n")
    else:
        show.table(frame)


def trace(
    rater: Annotated[str, typer.Option(help="Rater, e.g. 'word-overlap|jaccard'.")],
    item: Annotated[str, typer.Option(help="Item id.")],
    dataset: Annotated[str | None, typer.Option(help="Data set; needed where several have the item.")] = None,
) -> None:
    """Show one cell of the matrix from the prompt to its place in the fit."""
    from orchestration.cli import show
    from orchestration.reading import read_trace
    from orchestration.settings import load_settings

    show.trace(read_trace(load_settings(), rater_id=rater, item_id=item, dataset=dataset))
