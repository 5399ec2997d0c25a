"""The command that takes in what others collected: ``import-responses``."""

from pathlib import Path
from typing import Annotated

import typer


def import_responses(
    file: Annotated[Path, typer.Argument(help="One row per item, one column per rater named 'model|condition'.")],
    dataset: Annotated[str, typer.Option(help="Data set that the responses belong to, e.g. demo_labels.")],
    name: Annotated[str | None, typer.Option(help="Name of the collection; the file's name unless given.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column with the item ids; found unless given.")] = None,
    rater_column: Annotated[list[str] | None, typer.Option(help="Column of a rater (repeatable).")] = None,
    blank_is_empty: Annotated[
        bool, typer.Option(help="A blank cell is an empty answer, not an unrecorded one.")
    ] = False,
) -> None:
    """Register a prediction file; the next run lands, scores and ranks it."""
    from orchestration.cli import show
    from orchestration.imports import import_responses as take_in
    from orchestration.settings import load_settings

    imported = take_in(
        load_settings(),
        file,
        dataset,
        name=name,
        id_column=id_column,
        rater_columns=rater_column or (),
        is_blank_empty=blank_is_empty,
    )
    show.say(f"{imported.n_raters} raters with {imported.n_requests:,} responses are registered in {imported.entry}")
    show.say(f"copy of the file: {imported.file}")
    show.say("next: thetahouse run")
