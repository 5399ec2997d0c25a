"""A fit report as frames and files: what ``thetahouse fit`` prints or leaves in a folder.

Holds the shape of the output only; the numbers are in :mod:`analytics.fit_report`. Does not print.
"""

import json
from pathlib import Path
from typing import Any, Literal

import polars as pl

from analytics.fit_report import FitReport
from orchestration.output_folder import make_output_folder, writing

OutputFormat = Literal["table", "json", "csv"]


def fit_json(report: FitReport) -> str:
    """Return the report as one JSON object with the keys ``fit``, ``items``, ``persons``, ``facets``, ``steps``."""
    return json.dumps(report.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def fit_frames(report: FitReport) -> dict[str, pl.DataFrame]:
    """Return the parts of the report that have rows as flat frames; thresholds become columns b1, b1_se and so on."""
    plain = report.to_dict()
    summary = plain["fit"] | {"findings": "; ".join(plain["fit"]["findings"]) or None}
    steps = [
        {"scale": scale + 1, "step": k + 1, "estimate": value}
        for scale, row in enumerate(plain["steps"])
        for k, value in enumerate(row)
        if value is not None
    ]
    parts = {
        "fit": [summary],
        "items": [_flat_item(row) for row in plain["items"]],
        "persons": plain["persons"],
        "facets": plain["facets"],
        "steps": steps,
    }
    frames = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in parts.items() if rows}
    return {name: _without_blank_reasons(frame) for name, frame in frames.items()}


def one_frame(frames: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return all parts below each other, the first column saying which part a row is of: one valid CSV."""
    labelled = [frame.select(pl.lit(name).alias("part"), pl.all()) for name, frame in frames.items()]
    return pl.concat(labelled, how="diagonal_relaxed")


def write_fit(report: FitReport, folder: Path, *, format: OutputFormat) -> list[Path]:
    """Write ``fit.json``, or a CSV file per part in which every text is quoted so that the id `007` stays text.

    Raises
    ------
    NotADirectoryError
        If the folder cannot be made, or a file in it not be written.
    """
    make_output_folder(folder)
    if format == "json":
        file = folder / "fit.json"
        with writing(file):
            file.write_text(fit_json(report) + "\n", encoding="utf-8")
        return [file]
    files = []
    for name, frame in fit_frames(report).items():
        files.append(folder / f"{name}.csv")
        with writing(files[-1]):
            frame.write_csv(files[-1], quote_style="non_numeric")
    return files


def _flat_item(row: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in row.items() if key not in ("thresholds", "thresholds_se", "reason")}
    for k, (value, error) in enumerate(zip(row["thresholds"], row["thresholds_se"], strict=True), start=1):
        flat |= {f"b{k}": value, f"b{k}_se": error}
    return flat | {"reason": row["reason"]}


def _without_blank_reasons(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn an empty reason into null, and put it last."""
    if "reason" not in frame.columns:
        return frame
    reason = pl.when(pl.col("reason") == "").then(None).otherwise(pl.col("reason")).alias("reason")
    return frame.select(pl.exclude("reason"), reason)
