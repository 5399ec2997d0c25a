"""The tables that Python writes into ``psychometrics``, declared once: columns, types, keys, meaning.

Holds declarations and the one function that makes a frame obey them. Whoever creates the tables or checks other
declarations against them reads `PSYCHOMETRICS`. Does not hold any computation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, polars type and meaning."""

    name: str
    dtype: type[pl.DataType]
    description: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: name, grain, key and columns in order."""

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Column names and polars types."""
        return {column.name: column.dtype for column in self.columns}

    def frame(self, data: Mapping[str, object] | pl.DataFrame) -> pl.DataFrame:
        """Frame with exactly the declared columns and types, NaN made null, sorted by the key.

        Raises
        ------
        ValueError
            If columns are missing or undeclared, a key value is null, or a key repeats.
        """
        frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data, strict=False)
        wrong = set(frame.columns) ^ set(self.schema)
        if wrong:
            raise ValueError(f"table {self.name!r}: columns {sorted(wrong)} are missing or undeclared")
        floats = [column.name for column in self.columns if column.dtype == pl.Float64]
        frame = frame.select(pl.col(name).cast(dtype) for name, dtype in self.schema.items())
        frame = frame.with_columns(pl.col(floats).fill_nan(None)).sort(self.key)
        if frame.select(pl.any_horizontal(pl.col(self.key).is_null().any())).item():
            raise ValueError(f"table {self.name!r}: null in the key {self.key}")
        if frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise ValueError(f"table {self.name!r}: the key {self.key} repeats")
        return frame


def _text(name: str, description: str) -> Column:
    return Column(name, pl.String, description)


def _float(name: str, description: str) -> Column:
    return Column(name, pl.Float64, description)


def _count(name: str, description: str) -> Column:
    return Column(name, pl.Int64, description)


def _flag(name: str, description: str) -> Column:
    return Column(name, pl.Boolean, description)


_FIT_ID = _text("fit_id", "Hash of the fit's input matrix and options")
_DATASET = _text("dataset", "Dataset the responses belong to")
_RATER = _text("rater_id", "Rater")
_ITEM = _text("item_id", "Item")
_TESTLET = _text("testlet_id", "Testlet, items that share a stimulus")
_MODEL = _text("model", "Model behind the rater")
_POOL = _text("pool", "Set of raters used")
_BIN = _text("difficulty_bin", "B1 (easiest) to B5 (hardest); tied items share a bin")
_BIN_SOURCE = _text(
    "bin_source",
    "Where bins and expectations come from: own_fit (this fit, circular) or leave_model_out (a fit without the "
    "rater's model)",
)
_POLICY = _text("missing_policy", "What a missing response is: omit or incorrect; what was not asked is always omitted")
_WHY = _text("undefined_reason", "Why values are null; null where all are defined")
_EXTREME = _flag("is_extreme", "All observed responses right, or all wrong: the estimate rests on the prior")

CTT_ITEMS = Table(
    "ctt_items",
    "Classical statistics, one row per dataset, pool, scope, missing policy and item",
    ("dataset", "pool", "scope", "missing_policy", "item_id"),
    (
        _DATASET, _POOL, _text("scope", "Items that make up the total"), _POLICY, _ITEM, _TESTLET,
        _count("n_raters", "Raters with a response (or counted as wrong)"),
        _count("n_models", "Models among all raters of the pool"),
        _float("facility", "Mean score over maximum"),
        _float("item_total_r", "Pearson correlation with the score over all items"),
        _float("item_rest_r", "Pearson correlation with the score over the other items"), _WHY,
    ),
)  # fmt: skip

IRT_FITS = Table(
    "irt_fits",
    "One estimation, one row per fit",
    ("fit_id",),
    (
        _FIT_ID, _DATASET, _text("study", "Question that the fit answers"), _POOL,
        _text("irt_model", "Item response model"), _POLICY, _text("penalties", "Penalties, and how they were chosen"),
        _text("identification", "What fixes origin and unit of the scale"),
        _text("se_method", "How standard errors are computed"),
        _text("anchor_version", "Calibration that the scale is anchored on; null for a free fit"),
        _count("n_raters", "Raters"), _count("n_models", "Models: raters of one model are siblings"),
        _count("n_items", "Items"), _count("n_testlets", "Testlets"), _count("n_observed", "Observed cells"),
        _float("log_likelihood", "Log-likelihood at the mode, without penalty"),
        _float("penalised_objective", "Negative log-likelihood plus penalty at the mode"),
        _float("marginal_log_likelihood", "Laplace marginal log-likelihood"),
        _float("sd_theta", "Standard deviation of abilities"), _float("sd_b", "Standard deviation of difficulties"),
        _float("sd_u", "Standard deviation of testlet effects"),
        _float("sd_v", "Standard deviation of item x model effects; null for a model without them"),
        _float("mean_b", "Mean difficulty"),
        _float("mean_b_se", "Standard error of the mean difficulty"),
        _flag("is_converged", "Whether mode and standard deviations converged"),
        _count("n_iterations", "Sweeps of the search for the mode, all searches together"),
        _float("gradient_norm", "Largest absolute derivative of the objective at the end"),
        _flag("is_primary", "The fit that the dataset is ranked by; one per dataset"),
        _text("warnings", "What to know before using the numbers, separated by '; '; null if nothing"), _WHY,
    ),
)  # fmt: skip

IRT_ITEMS = Table(
    "irt_items",
    "Difficulty, one row per fit and item",
    ("fit_id", "item_id"),
    (
        _FIT_ID, _DATASET, _ITEM, _TESTLET, _count("n_observed", "Observed responses"),
        _count("n_right", "Right responses"), _float("b", "Difficulty"),
        _float("b_se", "Standard error of b, given the model; siblings independent unless it has a model facet"),
        _float("b_se_by_model", "Clustered by model, for Student t on n_models - 1; null if extreme or with a facet"),
        _EXTREME, _BIN, _WHY,
    ),
)  # fmt: skip

IRT_RATERS = Table(
    "irt_raters",
    "Ability, one row per fit and rater",
    ("fit_id", "rater_id"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, _count("n_observed", "Observed responses"),
        _count("n_right", "Right responses"), _float("theta", "Ability"), _float("theta_se", "Standard error of theta"),
        _count("rank", "1 is the highest theta; ties share a rank"), _EXTREME, _WHY,
    ),
)  # fmt: skip

IRT_TESTLET_EFFECTS = Table(
    "irt_testlet_effects",
    "Rater x testlet effect, one row per fit, rater and testlet with a response",
    ("fit_id", "rater_id", "testlet_id"),
    (
        _FIT_ID, _DATASET, _RATER, _TESTLET, _count("n_observed", "Observed responses in the testlet"),
        _float("u", "Testlet effect"), _float("u_se", "Standard error of u"),
    ),
)  # fmt: skip

RATER_BINS = Table(
    "rater_bins",
    "Accuracy by difficulty, one row per fit, rater, bin source and bin",
    ("fit_id", "rater_id", "bin_source", "difficulty_bin"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, _BIN_SOURCE, _BIN, _count("n", "Observed responses"),
        _count("n_missing", "Missing responses"), _float("accuracy", "Share right of the observed"),
        _float("expected_accuracy", "Mean model probability over the same responses"), _WHY,
    ),
)  # fmt: skip

RATER_SLOPES = Table(
    "rater_slopes",
    "Fall of accuracy with difficulty, one row per fit, rater and bin source",
    ("fit_id", "rater_id", "bin_source"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, _BIN_SOURCE, _count("n", "Observed responses used"),
        _float("slope", "Change of accuracy per bin"), _float("slope_se", "Standard error, clustered by testlet"),
        _float("expected_slope", "Slope of the expected accuracies"),
        _float("excess_slope", "slope - expected_slope; positive is more robust than the ability implies"),
        _float("excess_slope_se", "Standard error, clustered by testlet"),
        _float("excess_slope_ci_low", "Lower end of the 95 % interval"),
        _float("excess_slope_ci_high", "Upper end of the 95 % interval"),
        _float("alpha", "Rater slope on difficulty, 1 under the model; below 1 is more robust"),
        _float("alpha_se", "Standard error of alpha, testlet effects included"),
        _text("alpha_undefined_reason", "Why alpha is null"), _WHY,
    ),
)  # fmt: skip

CONFUSION_BY_DIFFICULTY = Table(
    "confusion_by_difficulty",
    "Labels given, one row per fit, rater, bin, gold label and answer label that occur; responses without a label "
    "are not counted",
    ("fit_id", "rater_id", "difficulty_bin", "gold_label", "answer_label"),
    (
        _FIT_ID, _DATASET, _RATER, _BIN, _text("gold_label", "Right label"), _text("answer_label", "Label given"),
        _count("n", "Responses"), _float("row_share", "Share of the responses with this rater, bin and gold label"),
    ),
)  # fmt: skip


def _comparison(name: str, description: str, design: str) -> Table:
    return Table(
        name,
        description,
        ("fit_id", "parameter", "design", "replicate"),
        (
            _FIT_ID, _DATASET, _text("parameter", "theta or b"), _text("design", design),
            _count("replicate", "Simulation or split, from 0"), _count("n", "Values compared"),
            _float("pearson_r", "Correlation; null without spread"), _float("rmse", "Root mean squared difference"),
            _float("slope", "Slope of truth on estimate, 1 where calibrated; null for halves"),
            _float("spearman_brown", "Reliability of the whole; null for recovery"),
        ),
    )  # fmt: skip


PARAMETER_RECOVERY = _comparison(
    "parameter_recovery",
    "Refits of simulated responses, one row per fit, parameter, design and replicate",
    "fitted_parameters (truth is the estimates) or drawn_parameters (truth drawn from the estimated distributions)",
)

SPLIT_HALF = _comparison(
    "split_half",
    "Refits of disjoint halves, one row per fit, parameter, design and replicate",
    "items_by_testlet (for theta) or raters_by_model (for b)",
)

INTERVALS = Table(
    "intervals",
    "95 % percentile intervals of the primary fit's data, one row per dataset, entity, metric, scope and method",
    ("dataset", "entity", "metric", "scope", "method"),
    (
        _DATASET, _FIT_ID, _text("entity", "Rater, or the pool of all raters"),
        _text("metric", "accuracy, theta_rank (1 is the highest theta) or mean_accuracy (over the pool's raters)"),
        _text("scope", "Items that the metric is over"),
        _text("method", "testlet_bootstrap, or two_way_bootstrap where models are drawn too"),
        _float("estimate", "The metric of the data as they are"), _float("ci_low", "Lower end of the interval"),
        _float("ci_high", "Upper end of the interval"), _count("n", "Observed responses"),
        _count("n_clusters", "Units drawn; with few of them intervals are too short"),
        _count("n_draws", "Bootstrap draws"), _count("seed", "Seed of the draws"),
        _text("resampled_unit", "What is drawn: testlet, or testlet x model"), _WHY,
    ),
)  # fmt: skip

PSYCHOMETRICS: dict[str, Table] = {
    table.name: table
    for table in (
        CTT_ITEMS,
        IRT_FITS,
        IRT_ITEMS,
        IRT_RATERS,
        IRT_TESTLET_EFFECTS,
        RATER_BINS,
        RATER_SLOPES,
        CONFUSION_BY_DIFFICULTY,
        PARAMETER_RECOVERY,
        SPLIT_HALF,
        INTERVALS,
    )
}
"""Every table of the ``psychometrics`` schema by name."""
