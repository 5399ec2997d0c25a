"""The command that takes in what others collected: ``import-responses``."""

from pathlib import Path
from typing import Annotated

import typer


def import_responses(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with a row per item and a column per rater ('model|condition'); long CSV; a log of inspect_ai "
            "(.eval, .json) or of lm-evaluation-harness (samples_*.jsonl)."
        ),
    ],
    dataset: Annotated[str, typer.Option(help="Data set that the responses belong to, e.g. demo_labels.")],
    name: Annotated[str | None, typer.Option(help="Name of the collection; the file's name unless given.")] = None,
    id_column: Annotated[
        list[str] | None,
        typer.Option(help="Column with the item ids (repeatable: together they name an item); found unless given."),
    ] = None,
    rater_column: Annotated[
        list[str] | None, typer.Option(help="Column of a rater (repeatable); in long CSV the column with the raters.")
    ] = None,
    response_column: Annotated[
        str | None, typer.Option(help="Column with the responses: the file has a row per item and rater.")
    ] = None,
    blank_is_empty: Annotated[
        bool, typer.Option(help="A blank cell is an empty answer, not an unrecorded one.")
    ] = False,
    item_field: Annotated[
        str | None, typer.Option(help="Log: field with the item id, e.g. metadata.answer_id or doc.answer_id.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Log: name of the model; the log's unless given.")] = None,
    condition: Annotated[
        str | None, typer.Option(help="Log: name of the condition; task and arguments unless given.")
    ] = None,
) -> None:
    """Register a prediction file or a log; the next run lands, scores and ranks it."""
    from inference.sources.eval_logs import LogFields
    from inference.sources.predictions import LongColumns
    from orchestration.cli import show
    from orchestration.imports import import_responses as take_in
    from orchestration.settings import load_settings

    if response_column is not None and len(rater_column or ()) != 1:
        raise typer.BadParameter("--response-column needs one --rater-column, the column with the raters")
    long = LongColumns(rater_column[0], response_column) if rater_column and response_column else None
    with show.waiting("reading the file and the data sets"):
        imported = take_in(
            load_settings(),
            file,
            dataset,
            name=name,
            id_columns=id_column or (),
            rater_columns=() if long else rater_column or (),
            long=long,
            is_blank_empty=blank_is_empty,
            log_fields=LogFields(item_field, model, condition),
        )
    gained = f"{show.count(imported.n_raters, 'rater')} with {show.count(imported.n_requests, 'request')}"
    show.say(f"registered: {gained}, in {imported.entry}")
    show.say(f"copy of the file: {imported.file}")
    for note in imported.notes:
        show.say(f"note: {note}")
    show.say("next: thetahouse run")
