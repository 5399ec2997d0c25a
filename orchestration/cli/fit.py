"""The command ``fit``: a psychometric model for a file of responses, without the warehouse."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from analytics.fit_report import FitReport

MOST_ROWS = 50
"""Rows of a part that the printed table shows."""


class Model(StrEnum):
    """Models that a file can be fitted with; the same names as :data:`analytics.fit.FitModel`."""

    ctt = "ctt"
    rasch = "rasch"
    two_pl = "2pl"
    three_pl = "3pl"
    grm = "grm"
    pcm = "pcm"
    gpcm = "gpcm"
    testlet = "testlet"
    mfrm = "mfrm"


class Method(StrEnum):
    """Likelihoods; the same names as :data:`analytics.fit.FitMethod`."""

    default = "default"
    marginal = "marginal"
    gauss_hermite = "gauss_hermite"
    conditional = "conditional"
    laplace = "laplace"
    given = "given"
    marginal_laplace = "marginal_laplace"


class Missing(StrEnum):
    """What a missing cell is."""

    omit = "omit"
    incorrect = "incorrect"


class Format(StrEnum):
    """How the result is written."""

    table = "table"
    json = "json"
    csv = "csv"


def fit(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV or Parquet. Wide: the first column is the person, every other one an item. Long: columns id, "
            "item, resp, and rater or rater_… for mfrm. Missing is an empty cell or NA."
        ),
    ],
    model: Annotated[Model, typer.Option(help="Model.")],
    method: Annotated[
        Method, typer.Option(help="Likelihood; laplace for testlet, otherwise marginal, unless named.")
    ] = Method.default,
    testlets: Annotated[
        Path | None,
        typer.Option(
            help="File with the columns item and testlet (blank or NA: of its own); long files may have item_family."
        ),
    ] = None,
    missing: Annotated[Missing, typer.Option(help="A missing cell is left out, or a wrong answer.")] = Missing.omit,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the number of times that a row counts.")
    ] = None,
    lower_prior: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="ALPHA BETA",
            help="Beta prior of the lower asymptotes of a 3pl, such as 5 17; none is plain maximum likelihood.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to write the result.")] = Format.table,
    out: Annotated[Path | None, typer.Option(help="Folder for the result: fit.json, or a CSV file per part.")] = None,
) -> None:
    """Fit a model to a file of responses: the fit, its items and its persons with standard errors."""
    from orchestration.cli import show
    from orchestration.fit_output import fit_frames, fit_json, one_frame, write_fit
    from orchestration.fitting_files import fit_file

    with show.waiting(f"fitting {model.value} to {file.name}"):
        report = fit_file(
            file,
            model=model.value,
            method=method.value,
            missing=missing.value,
            testlets=testlets,
            weights=weights,
            lower_prior=lower_prior,
        )
    if not report.fit.is_converged:
        sys.stderr.write(f"warning: not converged: {report.fit.message}\n")
    if out is not None:
        for written in write_fit(report, out, format=format.value):
            show.say(f"wrote {written}")
    elif format is Format.json:
        show.say(fit_json(report))
    elif format is Format.csv:
        sys.stdout.write(one_frame(fit_frames(report)).write_csv(quote_style="non_numeric"))
    else:
        _print_tables(report)


def _print_tables(report: "FitReport") -> None:
    """Print the summary line by line and the other parts as tables without their empty columns."""
    from orchestration.cli import show
    from orchestration.fit_output import fit_frames

    frames = fit_frames(report)
    for name, value in frames.pop("fit").drop("findings").row(0, named=True).items():
        show.say(f"{name}: {show.cell(value)}")
    for finding in report.fit.findings:
        show.say(f"note: {finding}")
    for name, frame in frames.items():
        filled = [column for column in frame.columns if frame[column].null_count() < frame.height]
        show.say()
        show.table(frame.select(filled).head(MOST_ROWS), title=name)
        if frame.height > MOST_ROWS:
            show.say(f"… {frame.height - MOST_ROWS:,} more {name}: use --format csv or json, or --out")
