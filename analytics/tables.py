"""Frames in, frames out: one dataset's responses become the rows of ``psychometrics``.

Holds the assembly: which statistics, on which matrix, into which columns. Does not hold statistics (the other
modules) or declarations (`schemas`), and reads or writes nothing.
"""

import hashlib
from dataclasses import dataclass, field, fields

import numpy as np
import polars as pl

from analytics import schemas
from analytics.ctt.items import item_statistics
from analytics.difficulty import difficulty_bins
from analytics.irt.testlet import TestletFit, TestletOptions, fit_testlet
from analytics.literals import MissingPolicy
from analytics.matrix import FloatArray, IntArray, ResponseMatrix, scatter_responses
from analytics.robustness_tables import confusion_frame, robustness_frames

ESTIMATOR_VERSION = 1
"""Part of every fit_id; raised when the same input and options would give other numbers."""

CELL_COLUMNS = ("rater_id", "model", "item_id", "testlet_id", "is_correct", "status", "gold_label", "answer_label")
"""Columns of the long input, one row per rater and item."""

NOT_ASKED = "not_asked"
_POLICIES: tuple[MissingPolicy, ...] = ("omit", "incorrect")
_IRT_MODEL = "1pl_testlet"
_POOL = "all"


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of everything that is computed for a dataset.

    Attributes
    ----------
    testlet
        Options of the testlet fit.
    n_bins
        Number of difficulty bins.
    """

    testlet: TestletOptions = field(default_factory=TestletOptions)
    n_bins: int = 5


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
        The first fit takes missing as missing and is primary; the second takes it as wrong. With fewer than two
        raters or items the fits are rows that say so, and nothing is estimated.

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
        rows["ctt_items"].append(_ctt_frame(matrix, dataset, policy))
        head = _Head(_fit_id(matrix, dataset, study, policy, options), dataset, study, policy)
        reason = _why_not(matrix)
        if reason is not None:
            rows["irt_fits"].append(_fit_frame(head, matrix, None, options, reason))
            continue
        fit = fit_testlet(matrix.responses, matrix.item_testlet, options.testlet)
        bins = difficulty_bins(fit.b, options.n_bins)
        rows["irt_fits"].append(_fit_frame(head, matrix, fit, options, None))
        rows["irt_items"].append(_items_frame(head, matrix, fit, bins))
        rows["irt_raters"].append(_raters_frame(head, matrix, fit))
        rows["irt_testlet_effects"].append(_effects_frame(head, matrix, fit))
        robust = robustness_frames(head.fit_id, dataset, matrix, fit, bins, options.testlet, options.n_bins)
        rows["rater_bins"].append(robust.rater_bins)
        rows["rater_slopes"].append(robust.rater_slopes)
        rows["confusion_by_difficulty"].append(confusion_frame(head.fit_id, dataset, cells, matrix.item_ids, bins))
    return DatasetTables(**{name: _stack(name, frames) for name, frames in rows.items()})


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


@dataclass(frozen=True, slots=True)
class _Head:
    fit_id: str
    dataset: str
    study: str
    policy: MissingPolicy


def _stack(name: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    table = schemas.PSYCHOMETRICS[name]
    return table.frame(pl.concat(frames)) if frames else pl.DataFrame(schema=table.schema)


def _why_not(matrix: ResponseMatrix) -> str | None:
    """Why nothing can be estimated, or None."""
    for name, count in (("rater", matrix.n_raters), ("item", matrix.n_items)):
        if count < 2:
            return f"{count} {name}{'' if count == 1 else 's'}: at least two are needed"
    return None if matrix.n_observed else "no response is observed"


def _fit_id(matrix: ResponseMatrix, dataset: str, study: str, policy: MissingPolicy, options: FitOptions) -> str:
    digest = hashlib.sha256()
    for part in (ESTIMATOR_VERSION, _IRT_MODEL, dataset, study, _POOL, policy, options):
        digest.update(repr(part).encode() + b"\0")
    for labels in (matrix.rater_ids, matrix.rater_model, matrix.item_ids, matrix.testlet_ids):
        digest.update(repr(labels).encode() + b"\0")
    digest.update(matrix.item_testlet.astype("<i8").tobytes())
    digest.update(np.where(np.isnan(matrix.responses), -1, matrix.responses).astype("<i1").tobytes())
    return digest.hexdigest()[:16]


def _ctt_frame(matrix: ResponseMatrix, dataset: str, policy: MissingPolicy) -> pl.DataFrame:
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
            pool=pl.lit(_POOL),
            scope=pl.lit("global"),
            missing_policy=pl.lit(policy),
            n_models=pl.lit(len(set(matrix.rater_model))),
        )
    )


def _fit_frame(
    head: _Head, matrix: ResponseMatrix, fit: TestletFit | None, options: FitOptions, reason: str | None
) -> pl.DataFrame:
    def of(name: str) -> object:
        return getattr(fit, name) if fit is not None else None

    chosen = "given" if options.testlet.variances == "given" else "by Laplace marginal likelihood"
    warnings = (*(fit.warnings if fit is not None else ()), *_design_warnings(matrix))
    numbers = (
        "log_likelihood", "penalised_objective", "marginal_log_likelihood", "sd_theta", "sd_b", "sd_u", "mean_b",
        "mean_b_se", "n_iterations", "gradient_norm",
    )  # fmt: skip
    row = {name: of(name) for name in numbers} | {
        "fit_id": head.fit_id, "dataset": head.dataset, "study": head.study, "pool": _POOL, "irt_model": _IRT_MODEL,
        "missing_policy": head.policy, "penalties": f"normal on theta, b and u, standard deviations {chosen}",
        "identification": of("identification"), "se_method": "full information" if fit is not None else None,
        "anchor_version": None, "n_raters": matrix.n_raters, "n_models": len(set(matrix.rater_model)),
        "n_items": matrix.n_items, "n_testlets": len(matrix.testlet_ids), "n_observed": matrix.n_observed,
        "is_converged": fit is not None and fit.is_converged, "is_primary": head.policy == "omit",
        "warnings": "; ".join(warnings) or None, "undefined_reason": reason,
    }  # fmt: skip
    return schemas.IRT_FITS.frame({name: [value] for name, value in row.items()})


def _design_warnings(matrix: ResponseMatrix) -> list[str]:
    """Facts about the raters that a standard error does not know."""
    n_models = len(set(matrix.rater_model))
    warnings = []
    if n_models < matrix.n_raters:
        warnings.append(f"{matrix.n_raters} raters are {n_models} models: standard errors take them as independent")
    first: dict[bytes, str] = {}
    for rater, row in zip(matrix.rater_ids, matrix.responses, strict=True):
        twin = first.setdefault(np.where(np.isnan(row), -1, row).astype(np.int8).tobytes(), rater)
        if twin != rater:
            warnings.append(f"{twin} and {rater} have equal responses")
    return warnings


def _items_frame(head: _Head, matrix: ResponseMatrix, fit: TestletFit, bins: IntArray) -> pl.DataFrame:
    n_observed = np.count_nonzero(~np.isnan(matrix.responses), axis=0)
    return schemas.IRT_ITEMS.frame(
        pl.DataFrame(
            {
                "item_id": matrix.item_ids,
                "testlet_id": [matrix.testlet_ids[t] for t in matrix.item_testlet],
                "n_observed": n_observed,
                "n_right": np.nansum(matrix.responses, axis=0),
                "b": fit.b,
                "b_se": fit.b_se,
                "is_extreme": fit.is_extreme_item,
                "difficulty_bin": pl.Series([f"B{k}" if k else None for k in bins], dtype=pl.String),
            }
        ).with_columns(fit_id=pl.lit(head.fit_id), dataset=pl.lit(head.dataset), undefined_reason=_no_responses())
    )


def _raters_frame(head: _Head, matrix: ResponseMatrix, fit: TestletFit) -> pl.DataFrame:
    return schemas.IRT_RATERS.frame(
        pl.DataFrame(
            {
                "rater_id": matrix.rater_ids,
                "model": matrix.rater_model,
                "n_observed": np.count_nonzero(~np.isnan(matrix.responses), axis=1),
                "n_right": np.nansum(matrix.responses, axis=1),
                "theta": fit.theta,
                "theta_se": fit.theta_se,
                "rank": _ranks(fit.theta),
                "is_extreme": fit.is_extreme_rater,
            },
            strict=False,
        ).with_columns(fit_id=pl.lit(head.fit_id), dataset=pl.lit(head.dataset), undefined_reason=_no_responses())
    )


def _ranks(theta: FloatArray) -> list[int | None]:
    """Rank 1 for the highest; equal values share the better rank; None without an estimate."""
    known = np.round(theta[~np.isnan(theta)], 9)
    return [None if np.isnan(t) else int(np.sum(known > np.round(t, 9))) + 1 for t in theta]


def _no_responses() -> pl.Expr:
    return pl.when(pl.col("n_observed") == 0).then(pl.lit("no responses")).otherwise(pl.lit(None, dtype=pl.String))


def _effects_frame(head: _Head, matrix: ResponseMatrix, fit: TestletFit) -> pl.DataFrame:
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
