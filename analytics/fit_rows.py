"""Rows of one fit: the estimates of a testlet fit and the classical statistics as frames.

Holds the mapping from results to the declared columns, and the warnings that only the labels can give. Does not hold
statistics, nor the order in which a dataset is worked through (`tables`).
"""

from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from analytics import schemas
from analytics.ctt.items import item_statistics
from analytics.irt.testlet_facet import FacetFit
from analytics.irt.testlet_result import TestletFit, TestletOptions
from analytics.irt.testlet_robust import cluster_robust_errors
from analytics.literals import MissingPolicy
from analytics.matrix import FloatArray, IntArray, ResponseMatrix
from analytics.resampling.rater_intervals import RaterInterval
from analytics.resampling.recovery import Comparison
from analytics.table_schema import Table

IRT_MODEL = "1pl_testlet"
"""Name in `irt_fits` of the model that ranks."""

FACET_MODEL = "1pl_testlet_model_facet"
"""Name of the same model with an item x model term."""

NO_ORDER = "sd_theta is 0: these items cannot tell the raters apart"
"""Why there are no ranks where the variance of ability is at its boundary: what differs is where the search ended."""

AnyFit = TestletFit | FacetFit
"""A fit of either model."""


@dataclass(frozen=True, slots=True)
class FitHead:
    """What names a fit: its id, dataset, study, pool of raters, missing policy and model."""

    fit_id: str
    dataset: str
    study: str
    pool: str
    policy: MissingPolicy
    irt_model: str = IRT_MODEL


def ctt_frame(matrix: ResponseMatrix, dataset: str, pool: str, policy: MissingPolicy) -> pl.DataFrame:
    """Classical statistics of every item of a matrix that already carries its missing policy."""
    # What was not asked is missing under both policies, so the matrix already carries the policy.
    found = item_statistics(matrix.responses, missing_policy="omit")
    return schemas.CTT_ITEMS.frame(
        pl.DataFrame(
            {
                "item_id": matrix.item_ids,
                "testlet_id": [matrix.testlet_ids[t] for t in matrix.item_testlet],
                "n_raters": found.n_raters,
                "facility": found.facility,
                "item_total_r": found.item_total_r,
                "item_rest_r": found.item_rest_r,
                "undefined_reason": pl.Series(found.undefined_reason, dtype=pl.String),
            }
        ).with_columns(
            dataset=pl.lit(dataset),
            pool=pl.lit(pool),
            scope=pl.lit("global"),
            missing_policy=pl.lit(policy),
            n_models=pl.lit(len(set(matrix.rater_model))),
        )
    )


def fit_frame(
    head: FitHead, matrix: ResponseMatrix, fit: AnyFit | None, options: TestletOptions, reason: str | None
) -> pl.DataFrame:
    """Describe the fit in one row, or say why there is none."""

    def of(name: str) -> object:
        return getattr(fit, name, None)  # a model without this number has none

    has_facet = head.irt_model == FACET_MODEL
    effects = "theta, b, u and v" if has_facet else "theta, b and u"
    how = "by marginal likelihood, items by quadrature" if has_facet else "by Laplace marginal likelihood"
    chosen = "given" if options.variances == "given" else how
    warnings = (*(fit.warnings if isinstance(fit, TestletFit) else ()), *_design_warnings(matrix, has_facet=has_facet))
    numbers = (
        "log_likelihood", "penalised_objective", "marginal_log_likelihood", "sd_theta", "sd_b", "sd_u", "sd_v",
        "mean_b", "mean_b_se", "n_iterations", "gradient_norm",
    )  # fmt: skip
    row = {name: of(name) for name in numbers} | {
        "fit_id": head.fit_id, "dataset": head.dataset, "study": head.study, "pool": head.pool,
        "irt_model": head.irt_model, "missing_policy": head.policy,
        "penalties": f"normal on {effects}, standard deviations {chosen}",
        "identification": of("identification"), "se_method": "full information" if fit is not None else None,
        "anchor_version": None, "n_raters": matrix.n_raters, "n_models": len(set(matrix.rater_model)),
        "n_items": matrix.n_items, "n_testlets": len(matrix.testlet_ids), "n_observed": matrix.n_observed,
        "is_converged": fit is not None and fit.is_converged, "is_primary": head.policy == "omit" and not has_facet,
        "warnings": "; ".join(warnings) or None, "undefined_reason": reason,
    }  # fmt: skip
    return schemas.IRT_FITS.frame({name: [value] for name, value in row.items()})


def _design_warnings(matrix: ResponseMatrix, *, has_facet: bool) -> list[str]:
    """Facts about the raters that a standard error does not know."""
    n_models = len(set(matrix.rater_model))
    warnings = []
    if n_models < matrix.n_raters and not has_facet:
        warnings.append(f"{matrix.n_raters} raters are {n_models} models: standard errors take them as independent")
    first: dict[bytes, str] = {}
    for rater, row in zip(matrix.rater_ids, matrix.responses, strict=True):
        twin = first.setdefault(np.where(np.isnan(row), -1, row).astype(np.int8).tobytes(), rater)
        if twin != rater:
            warnings.append(f"{twin} and {rater} have equal responses")
    return warnings


def items_frame(head: FitHead, matrix: ResponseMatrix, fit: AnyFit, bins: IntArray) -> pl.DataFrame:
    """Difficulty of every item, with its bin; errors clustered by model beside those of a fit without the facet."""
    by_model = np.full(matrix.n_items, np.nan)
    if isinstance(fit, TestletFit):
        by_model = cluster_robust_errors(matrix.responses, matrix.item_testlet, matrix.model_codes(), fit).b_se
    return schemas.IRT_ITEMS.frame(
        pl.DataFrame(
            {
                "item_id": matrix.item_ids,
                "testlet_id": [matrix.testlet_ids[t] for t in matrix.item_testlet],
                **_counts(matrix, axis=0),
                "b": fit.b,
                "b_se": fit.b_se,
                "b_se_by_model": by_model,
                "difficulty_bin": pl.Series([f"B{k}" if k else None for k in bins], dtype=pl.String),
            }
        ).with_columns(fit_id=pl.lit(head.fit_id), dataset=pl.lit(head.dataset), undefined_reason=_no_responses())
    )


def _counts(matrix: ResponseMatrix, axis: int) -> dict[str, object]:
    """Observed and right responses along an axis, and whether they are all right or all wrong."""
    seen, right = np.count_nonzero(~np.isnan(matrix.responses), axis=axis), np.nansum(matrix.responses, axis=axis)
    return {"n_observed": seen, "n_right": right, "is_extreme": (seen > 0) & ((right == 0) | (right == seen))}


def raters_frame(head: FitHead, matrix: ResponseMatrix, fit: AnyFit) -> pl.DataFrame:
    """Ability and rank of every rater; no ranks where the fit finds no differences in ability."""
    has_order = fit.sd_theta > 0
    unranked = pl.lit(None if has_order else NO_ORDER, dtype=pl.String)
    return schemas.IRT_RATERS.frame(
        pl.DataFrame(
            {
                "rater_id": matrix.rater_ids,
                "model": matrix.rater_model,
                **_counts(matrix, axis=1),
                "theta": fit.theta,
                "theta_se": fit.theta_se,
                "rank": pl.Series(_ranks(fit.theta) if has_order else [None] * matrix.n_raters, dtype=pl.Int64),
                **_mean_squares(matrix, fit),
            },
            strict=False,
        ).with_columns(
            fit_id=pl.lit(head.fit_id),
            dataset=pl.lit(head.dataset),
            undefined_reason=pl.coalesce(_no_responses(), unranked),
        )
    )


def _mean_squares(matrix: ResponseMatrix, fit: AnyFit) -> dict[str, FloatArray]:
    """Infit and outfit of every rater (Wright & Masters 1982) at its fitted probabilities, testlet effects included.

    NaN for a rater without responses. The effects were fitted to the same responses, which draws both below 1, the more
    so the fewer raters there are: compare raters of one fit with each other.
    """
    logit = fit.theta[:, None] + np.nan_to_num(fit.u)[:, matrix.item_testlet] - fit.b
    if isinstance(fit, FacetFit):
        logit = logit - fit.v.T[matrix.model_codes()]
    p = 1.0 / (1.0 + np.exp(-logit))
    seen = ~np.isnan(matrix.responses)
    square, variance = np.where(seen, (matrix.responses - p) ** 2, 0.0), np.where(seen, p * (1.0 - p), 0.0)
    n, told = seen.sum(axis=1), variance.sum(axis=1)
    share = np.divide(square, variance, out=np.zeros(p.shape), where=variance > 0)
    nothing = np.full(n.size, np.nan)
    return {
        "infit": np.divide(square.sum(axis=1), told, out=nothing.copy(), where=told > 0),
        "outfit": np.divide(share.sum(axis=1), n, out=nothing, where=n > 0),
    }


def _ranks(theta: FloatArray) -> list[int | None]:
    """Rank 1 for the highest; equal values share the better rank; None without an estimate."""
    known = np.round(theta[~np.isnan(theta)], 9)
    return [None if np.isnan(t) else int(np.sum(known > np.round(t, 9))) + 1 for t in theta]


def _no_responses() -> pl.Expr:
    return pl.when(pl.col("n_observed") == 0).then(pl.lit("no responses")).otherwise(pl.lit(None, dtype=pl.String))


def effects_frame(head: FitHead, matrix: ResponseMatrix, fit: TestletFit) -> pl.DataFrame:
    """Testlet effect of every rater and testlet with a response."""
    member = np.eye(len(matrix.testlet_ids))[matrix.item_testlet]
    n_observed = (~np.isnan(matrix.responses)).astype(np.float64) @ member
    rater, testlet = np.nonzero(n_observed > 0)
    return schemas.IRT_TESTLET_EFFECTS.frame(
        pl.DataFrame(
            {
                "rater_id": np.asarray(matrix.rater_ids, dtype=object)[rater],
                "testlet_id": np.asarray(matrix.testlet_ids, dtype=object)[testlet],
                "n_observed": n_observed[rater, testlet],
                "u": fit.u[rater, testlet],
                "u_se": fit.u_se[rater, testlet],
            },
            schema_overrides={"rater_id": pl.String, "testlet_id": pl.String},
        ).with_columns(fit_id=pl.lit(head.fit_id), dataset=pl.lit(head.dataset))
    )


def comparison_frame(table: Table, head: FitHead, comparisons: list[Comparison]) -> pl.DataFrame:
    """Rows of `parameter_recovery` or `split_half`."""
    rows = [{"fit_id": head.fit_id, "dataset": head.dataset} | asdict(comparison) for comparison in comparisons]
    return table.frame(pl.DataFrame(rows, schema=table.schema))


def intervals_frame(head: FitHead, matrix: ResponseMatrix, found: list[RaterInterval]) -> pl.DataFrame:
    """Rows of `intervals`; an interval that the data cannot give says why."""
    rows = [
        {
            "dataset": head.dataset, "fit_id": head.fit_id,
            "entity": head.pool if one.rater is None else matrix.rater_ids[one.rater], "metric": one.metric,
            "scope": "global", "method": one.design, "estimate": one.interval.estimate, "ci_low": one.interval.ci_low,
            "ci_high": one.interval.ci_high, "n": one.interval.n, "n_clusters": one.interval.n_clusters,
            "n_draws": one.interval.n_draws, "seed": one.interval.seed,
            "resampled_unit": one.interval.resampled_unit, "undefined_reason": _why_no_interval(one),
        }
        for one in found
    ]  # fmt: skip
    return schemas.INTERVALS.frame(pl.DataFrame(rows, schema=schemas.INTERVALS.schema))


def _why_no_interval(one: RaterInterval) -> str | None:
    if not np.isnan(one.interval.ci_low):
        return None
    if one.interval.n == 0:
        return "no responses"
    if one.metric == "theta_rank" and np.isnan(one.interval.estimate):
        return NO_ORDER
    if one.interval.n_clusters < 2:
        return f"{one.interval.n_clusters} {one.interval.resampled_unit}: nothing to resample"
    return "undefined in half of the draws"
