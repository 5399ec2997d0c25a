"""The command ``plot``: a picture of what is published, into a file."""

from pathlib import Path
from typing import Annotated

import typer


def plot(
    name: Annotated[str, typer.Argument(help="Picture; 'list' shows them all.")],
    out: Annotated[Path, typer.Option(help="File to write: .png, .svg or .html.")] = Path("plot.png"),
    dataset: Annotated[str | None, typer.Option(help="Data set; needed where several are published.")] = None,
    fit: Annotated[str | None, typer.Option(help="Fit; the primary one of the data set where none is named.")] = None,
) -> None:
    """Draw a picture of the published tables."""
    from orchestration.cli import show
    from orchestration.plots import PLOTS, check_suffix, draw, save
    from orchestration.settings import load_settings

    if name == "list":
        for key, entry in PLOTS.items():
            show.say(f"{key}: {entry.description}")
        return
    check_suffix(out)
    with show.waiting(f"drawing {name}"):
        save(draw(load_settings(), name, dataset=dataset, fit=fit), out)
    show.say(f"wrote {out}")
