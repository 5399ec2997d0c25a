"""Rows of the robustness tables: bins, slopes and confusions of one fit.

Holds the two ways to bin (the fit's own difficulties, and difficulties from a fit without the rater's model) and the
frames they fill. Does not hold the statistics themselves (`robustness`, `difficulty`).
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl

from analytics import schemas
from analytics.difficulty import difficulty_bins
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_anchor import score_anchored
from analytics.irt.testlet_result import SMALLEST_SD, TestletFit, TestletOptions
from analytics.irt.testlet_slope import estimate_slopes
from analytics.matrix import FloatArray, IntArray, ResponseMatrix
from analytics.robustness import bin_accuracy, bin_slope


@dataclass(frozen=True, slots=True)
class RobustnessFrames:
    """Rows for `rater_bins` and `rater_slopes`."""

    rater_bins: pl.DataFrame
    rater_slopes: pl.DataFrame


@dataclass(frozen=True, slots=True)
class _View:
    """Bins and probabilities as some raters see them; `probability` has a row per rater of `raters`."""

    source: str
    raters: IntArray
    bins: IntArray
    probability: FloatArray
    b: FloatArray
    b_se: FloatArray | None
    undefined_reason: str | None = None


def robustness_frames(
    fit_id: str,
    dataset: str,
    matrix: ResponseMatrix,
    fit: TestletFit,
    bins: IntArray,
    options: TestletOptions,
    n_bins: int,
) -> RobustnessFrames:
    """Accuracy by bin and slopes of every rater, in its own fit's bins and in those of the other models."""
    probability = 1.0 / (1.0 + np.exp(fit.b - fit.theta[:, None] - fit.u[:, matrix.item_testlet]))
    views = [_View("own_fit", np.arange(matrix.n_raters), bins, probability, fit.b, None)]
    views += _leave_model_out(matrix, fit, options, n_bins)
    bin_rows, slope_rows = [], []
    for view in views:
        responses = matrix.responses[view.raters]
        means = bin_accuracy(responses, view.probability, view.bins, n_bins)
        slopes = estimate_slopes(
            responses,
            matrix.item_testlet,
            view.b,
            b_se=view.b_se,
            sd_theta=max(fit.sd_theta, SMALLEST_SD),  # one reported as 0 must divide
            sd_u=fit.sd_u,
        )
        for row, rater in enumerate(view.raters):
            head = {
                "fit_id": fit_id,
                "dataset": dataset,
                "rater_id": matrix.rater_ids[rater],
                "model": matrix.rater_model[rater],
                "bin_source": view.source,
            }
            slope = asdict(bin_slope(responses[row], view.probability[row], view.bins, matrix.item_testlet))
            if view.undefined_reason is not None:
                slope["undefined_reason"] = view.undefined_reason
            alpha = {
                "alpha": float(slopes.alpha[row]),
                "alpha_se": float(slopes.alpha_se[row]),
                "alpha_undefined_reason": view.undefined_reason or slopes.undefined_reason[row],
            }
            slope_rows.append(head | slope | alpha)
            bin_rows += [
                head
                | {
                    "difficulty_bin": f"B{k + 1}",
                    "n": int(means.n[row, k]),
                    "n_missing": int(means.n_missing[row, k]),
                    "accuracy": float(means.accuracy[row, k]),
                    "expected_accuracy": float(means.expected_accuracy[row, k]),
                    "undefined_reason": view.undefined_reason or (None if means.n[row, k] else "no responses"),
                }
                for k in range(n_bins)
            ]
    return RobustnessFrames(
        rater_bins=schemas.RATER_BINS.frame(pl.DataFrame(bin_rows, schema=schemas.RATER_BINS.schema)),
        rater_slopes=schemas.RATER_SLOPES.frame(pl.DataFrame(slope_rows, schema=schemas.RATER_SLOPES.schema)),
    )


def _leave_model_out(matrix: ResponseMatrix, fit: TestletFit, options: TestletOptions, n_bins: int) -> list[_View]:
    """One view per model: difficulties from the raters of the other models, standard deviations of the full fit.

    The rater's own ability is scored on those difficulties, its responses averaged over their standard errors.
    """
    sd_theta, sd_b = max(fit.sd_theta, SMALLEST_SD), max(fit.sd_b, SMALLEST_SD)
    fixed = replace(options, variances="given", sd_theta=sd_theta, sd_b=sd_b, sd_u=fit.sd_u)
    codes = matrix.model_codes()
    views = []
    for code in range(codes.max() + 1):
        own, others = np.flatnonzero(codes == code), codes != code
        responses = matrix.responses[others]
        reason = _why_no_difficulties(responses)
        if reason is not None:
            nothing = np.zeros(matrix.n_items, dtype=np.int64)
            blank = np.full((own.size, matrix.n_items), np.nan)
            views.append(_View("leave_model_out", own, nothing, blank, blank[0], None, reason))
            continue
        rest = fit_testlet(responses, matrix.item_testlet, fixed)
        scored = score_anchored(
            matrix.responses[own], matrix.item_testlet, rest.b, b_se=rest.b_se, sd_theta=sd_theta, sd_u=fit.sd_u
        )
        views.append(
            _View("leave_model_out", own, difficulty_bins(rest.b, n_bins), scored.probability, rest.b, rest.b_se)
        )
    return views


def _why_no_difficulties(responses: FloatArray) -> str | None:
    """Why the responses of the other models order no items, or None."""
    observed = np.unique(responses[~np.isnan(responses)])
    if observed.size == 0:
        return "no other model has responses"
    return f"every response of the other models is {observed[0]:g}" if observed.size == 1 else None


def confusion_frame(
    fit_id: str, dataset: str, cells: pl.DataFrame, item_ids: tuple[str, ...], bins: IntArray
) -> pl.DataFrame:
    """Count (gold, answer) labels by rater and bin, with the share of each gold row."""
    key = ["rater_id", "difficulty_bin", "gold_label"]
    of_item = pl.DataFrame(
        {"item_id": item_ids, "difficulty_bin": pl.Series([f"B{k}" if k else None for k in bins], dtype=pl.String)}
    )
    counts = (
        cells.select("rater_id", "item_id", "gold_label", "answer_label")
        .drop_nulls()
        .join(of_item.drop_nulls(), on="item_id")
        .group_by([*key, "answer_label"])
        .agg(n=pl.len())
        .with_columns(row_share=pl.col("n") / pl.col("n").sum().over(key), fit_id=pl.lit(fit_id))
        .with_columns(dataset=pl.lit(dataset))
    )
    return schemas.CONFUSION_BY_DIFFICULTY.frame(counts)
