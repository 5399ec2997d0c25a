"""Frames in, frames out: one dataset's responses become the rows of ``psychometrics``.

Holds the assembly: which statistics, on which matrix, into which columns. Does not hold statistics (the other
modules) or declarations (`schemas`), and reads or writes nothing.
"""

import hashlib
from dataclasses import dataclass, field, fields, replace

import numpy as np
import polars as pl

from analytics import schemas
from analytics.difficulty import difficulty_bins
from analytics.facet_tables import facet_frames, has_siblings
from analytics.fit_rows import (
    FACET_MODEL,
    IRT_MODEL,
    FitHead,
    comparison_frame,
    ctt_frame,
    effects_frame,
    fit_frame,
    intervals_frame,
    items_frame,
    raters_frame,
)
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_result import TestletFit, TestletOptions
from analytics.literals import MissingPolicy
from analytics.matrix import ResponseMatrix, scatter_responses
from analytics.resampling.rater_intervals import rater_intervals
from analytics.resampling.recovery import Comparison, parameter_recovery, split_halves
from analytics.robustness_tables import confusion_frame, robustness_frames

ESTIMATOR_VERSION = 1
"""Part of every fit_id; raised when the same input and options would give other numbers."""

CELL_COLUMNS = ("rater_id", "model", "item_id", "testlet_id", "is_correct", "status", "gold_label", "answer_label")
"""Columns of the long input, one row per rater and item."""

NOT_ASKED = "not_asked"
_POLICIES: tuple[MissingPolicy, ...] = ("omit", "incorrect")
PRIMARY_POLICY: MissingPolicy = "omit"
"""Policy of the fit that ranks a dataset: missing is missing."""

POOL = "all"
"""Name of the set of all raters."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of everything that is computed for a dataset.

    Attributes
    ----------
    testlet
        Options of the testlet fit.
    n_bins
        Number of difficulty bins.
    n_replicates
        Simulations and splits with which the primary fit is checked; 0 leaves the checks out.
    n_draws
        Bootstrap draws of the intervals; 0 leaves the intervals out.
    seed
        Seed of both.
    """

    testlet: TestletOptions = field(default_factory=TestletOptions)
    n_bins: int = 5
    n_replicates: int = 5
    n_draws: int = 1000
    seed: int = 20260401


@dataclass(frozen=True, slots=True)
class DatasetTables:
    """Rows of one dataset, a frame per table of `schemas.PSYCHOMETRICS`, named alike."""

    ctt_items: pl.DataFrame
    irt_fits: pl.DataFrame
    irt_items: pl.DataFrame
    irt_raters: pl.DataFrame
    irt_testlet_effects: pl.DataFrame
    rater_bins: pl.DataFrame
    rater_slopes: pl.DataFrame
    confusion_by_difficulty: pl.DataFrame
    parameter_recovery: pl.DataFrame
    split_half: pl.DataFrame
    intervals: pl.DataFrame

    def frames(self) -> dict[str, pl.DataFrame]:
        """Frames by table name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


def fit_dataset(
    cells: pl.DataFrame, *, dataset: str, study: str = "default", options: FitOptions = FitOptions()
) -> DatasetTables:
    """Classical statistics, both fits, bins, slopes and confusions of one dataset.

    Parameters
    ----------
    cells
        Long, one row per rater and item, with the columns `CELL_COLUMNS`: is_correct is 1, 0 or null (missing);
        status ``not_asked`` stays missing under every policy; labels may be null. Order does not matter.
    dataset, study
        Names written into the rows.
    options
        What to fit.

    Returns
    -------
    DatasetTables
        The first fit takes missing as missing and is primary; the second takes it as wrong. Where two models have two
        raters each, a third has item x model effects, so that raters of one model do not count as independent. With
        fewer than two raters or items the fits are rows that say so, and nothing is estimated.

    Raises
    ------
    ValueError
        If columns are missing, or a (rater, item) pair repeats.
    """
    absent = [name for name in CELL_COLUMNS if name not in cells.columns]
    if absent:
        raise ValueError(f"dataset {dataset!r}: the cells lack the columns {absent}")
    rows: dict[str, list[pl.DataFrame]] = {name: [] for name in schemas.PSYCHOMETRICS}
    for policy in _POLICIES:
        matrix = build_matrix(cells, policy)
        rows["ctt_items"].append(ctt_frame(matrix, dataset, POOL, policy))
        head = FitHead(_fit_id(matrix, dataset, study, policy, options), dataset, study, POOL, policy)
        reason = _why_not(matrix)
        if reason is not None:
            rows["irt_fits"].append(fit_frame(head, matrix, None, options.testlet, reason))
            continue
        fit = fit_testlet(matrix.responses, matrix.item_testlet, options.testlet)
        parts = [_fit_frames(head, cells, matrix, fit, options)]
        if policy == PRIMARY_POLICY:
            parts += _primary_frames(head, matrix, fit, options)
        for part in parts:
            for name, frame in part.items():
                rows[name].append(frame)
    return DatasetTables(**{name: _stack(name, frames) for name, frames in rows.items()})


def _fit_frames(
    head: FitHead, cells: pl.DataFrame, matrix: ResponseMatrix, fit: TestletFit, options: FitOptions
) -> dict[str, pl.DataFrame]:
    """Rows of a fit: its numbers, bins, slopes and confusions."""
    bins = difficulty_bins(fit.b, options.n_bins)
    robust = robustness_frames(head.fit_id, head.dataset, matrix, fit, bins, options.testlet, options.n_bins)
    return {
        "irt_fits": fit_frame(head, matrix, fit, options.testlet, None),
        "irt_items": items_frame(head, matrix, fit, bins),
        "irt_raters": raters_frame(head, matrix, fit),
        "irt_testlet_effects": effects_frame(head, matrix, fit),
        "rater_bins": robust.rater_bins,
        "rater_slopes": robust.rater_slopes,
        "confusion_by_difficulty": confusion_frame(head.fit_id, head.dataset, cells, matrix.item_ids, bins),
    }


def _primary_frames(
    head: FitHead, matrix: ResponseMatrix, fit: TestletFit, options: FitOptions
) -> list[dict[str, pl.DataFrame]]:
    """Rows that only the primary fit has: the fit with the model facet beside it, checks and intervals."""
    found = []
    if has_siblings(matrix):
        fit_id = _fit_id(matrix, head.dataset, head.study, head.policy, options, FACET_MODEL)
        facet_head = replace(head, fit_id=fit_id, irt_model=FACET_MODEL)
        found.append(facet_frames(facet_head, matrix, fit, options.testlet, options.n_bins))
    if options.n_replicates > 0:
        checks = _check_fit(matrix, fit, options)
        found.append({n: comparison_frame(schemas.PSYCHOMETRICS[n], head, rows) for n, rows in checks.items()})
    if options.n_draws > 0:
        drawn = rater_intervals(matrix, fit, n_draws=options.n_draws, seed=options.seed)
        found.append({"intervals": intervals_frame(head, matrix, drawn)})
    return found


def _check_fit(matrix: ResponseMatrix, fit: TestletFit, options: FitOptions) -> dict[str, list[Comparison]]:
    """Recovery in both designs, and split halves."""
    how = {"n_replicates": options.n_replicates, "seed": options.seed}
    return {
        "parameter_recovery": [
            *parameter_recovery(matrix, fit, design="fitted_parameters", **how),
            *parameter_recovery(matrix, fit, design="drawn_parameters", **how),
        ],
        "split_half": split_halves(matrix, fit, **how),
    }


def build_matrix(cells: pl.DataFrame, missing_policy: MissingPolicy) -> ResponseMatrix:
    """Matrix of a dataset's cells; ``incorrect`` scores what was asked and is missing as 0."""
    score = pl.col("is_correct").cast(pl.Float64)
    if missing_policy == "incorrect":
        asked = pl.col("status").fill_null("") != NOT_ASKED
        score = pl.when(asked).then(score.fill_null(0.0)).otherwise(score)
    return scatter_responses(
        rater=cells["rater_id"],
        item=cells["item_id"],
        testlet=cells["testlet_id"],
        model=cells["model"],
        response=cells.select(score.fill_null(float("nan"))).to_series().to_numpy(),
    )


def _stack(name: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    table = schemas.PSYCHOMETRICS[name]
    return table.frame(pl.concat(frames)) if frames else pl.DataFrame(schema=table.schema)


def _why_not(matrix: ResponseMatrix) -> str | None:
    """Why nothing can be estimated, or None."""
    for name, count in (("rater", matrix.n_raters), ("item", matrix.n_items)):
        if count < 2:
            return f"{count} {name}{'' if count == 1 else 's'}: at least two are needed"
    observed = np.unique(matrix.responses[~np.isnan(matrix.responses)])
    if observed.size == 0:
        return "no response is observed"
    return f"every observed response is {observed[0]:g}: nothing orders raters or items" if observed.size == 1 else None


def _fit_id(
    matrix: ResponseMatrix,
    dataset: str,
    study: str,
    policy: MissingPolicy,
    options: FitOptions,
    irt_model: str = IRT_MODEL,
) -> str:
    digest = hashlib.sha256()
    for part in (ESTIMATOR_VERSION, irt_model, dataset, study, POOL, policy, options):
        digest.update(repr(part).encode() + b"\0")
    for labels in (matrix.rater_ids, matrix.rater_model, matrix.item_ids, matrix.testlet_ids):
        digest.update(repr(labels).encode() + b"\0")
    digest.update(matrix.item_testlet.astype("<i8").tobytes())
    digest.update(np.where(np.isnan(matrix.responses), -1, matrix.responses).astype("<i1").tobytes())
    return digest.hexdigest()[:16]
