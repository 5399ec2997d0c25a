"""The command ``parse-diff``: what a new version of the parser changed."""

from typing import Annotated

import typer

from orchestration.cli.look import Format


def parse_diff(
    old: Annotated[str | None, typer.Option(help="Version before; the last but one unless named.")] = None,
    new: Annotated[str | None, typer.Option(help="Version after; the last one unless named.")] = None,
    format: Annotated[Format, typer.Option(help="How to print the rows.")] = Format.table,
) -> None:
    """Show which answers differ between two versions of the parser; texts are parsed again by a run, not here."""
    import sys

    import polars as pl

    from orchestration.cli import show
    from orchestration.parser_changes import parser_changes
    from orchestration.settings import load_settings

    with show.waiting("comparing answers"):
        found = parser_changes(load_settings(), old, new)
    if format is Format.csv:
        sys.stdout.write(show.as_csv(found.changed))
    elif format is Format.json:
        show.say(show.as_json(found.changed))
    else:
        show.say(f"parser {found.old} → {found.new}: {found.changed.height:,} of {found.n_both:,} answers differ")
        if found.changed.height:
            show.table(found.changed.drop("replicate", "attempt").with_columns(pl.col("text").str.slice(0, 80)))
