"""The tables that Python writes into ``psychometrics``, declared once.

Holds declarations. Whoever creates the tables or checks other declarations against them reads `PSYCHOMETRICS`. Does not
hold what a declaration is (`table_schema`), nor any computation.
"""

from analytics.table_schema import Table, count, flag, number, text

_FIT_ID = text("fit_id", "Hash of the fit's input matrix and options")
_DATASET = text("dataset", "Dataset the responses belong to")
_RATER = text("rater_id", "Rater")
_ITEM = text("item_id", "Item")
_TESTLET = text("testlet_id", "Testlet, items that share a stimulus")
_MODEL = text("model", "Model behind the rater")
_POOL = text("pool", "Set of raters used")
_BIN = text("difficulty_bin", "B1 (easiest) to B5 (hardest); tied items share a bin")
_BIN_SOURCE = text(
    "bin_source",
    "Where bins and expectations come from: own_fit (this fit, circular) or leave_model_out (a fit without the "
    "rater's model)",
)
_POLICY = text("missing_policy", "What a missing response is: omit or incorrect; what was not asked is always omitted")
_WHY = text("undefined_reason", "Why values are null; null where all are defined")
_EXTREME = flag("is_extreme", "All observed responses right, or all wrong: the estimate rests on the prior")

CTT_ITEMS = Table(
    "ctt_items",
    "Classical statistics, one row per dataset, pool, scope, missing policy and item",
    ("dataset", "pool", "scope", "missing_policy", "item_id"),
    (
        _DATASET, _POOL, text("scope", "Items that make up the total"), _POLICY, _ITEM, _TESTLET,
        count("n_raters", "Raters with a response (or counted as wrong)"),
        count("n_models", "Models among all raters of the pool"),
        number("facility", "Mean score over maximum"),
        number("item_total_r", "Pearson correlation with the score over all items"),
        number("item_rest_r", "Pearson correlation with the score over the other items"), _WHY,
    ),
)  # fmt: skip

IRT_FITS = Table(
    "irt_fits",
    "One estimation, one row per fit",
    ("fit_id",),
    (
        _FIT_ID, _DATASET, text("study", "Question that the fit answers"), _POOL,
        text("irt_model", "Item response model"), _POLICY, text("penalties", "Penalties, and how they were chosen"),
        text("identification", "What fixes origin and unit of the scale"),
        text("se_method", "How standard errors are computed"),
        text("anchor_version", "Calibration that the scale is anchored on; null for a free fit"),
        count("n_raters", "Raters"), count("n_models", "Models: raters of one model are siblings"),
        count("n_items", "Items"), count("n_testlets", "Testlets"), count("n_observed", "Observed cells"),
        number("log_likelihood", "Log-likelihood at the mode, without penalty"),
        number("penalised_objective", "Negative log-likelihood plus penalty at the mode"),
        number("marginal_log_likelihood", "Laplace marginal log-likelihood"),
        number("sd_theta", "Standard deviation of abilities"), number("sd_b", "Standard deviation of difficulties"),
        number("sd_u", "Standard deviation of testlet effects"),
        number("sd_v", "Standard deviation of item x model effects; null for a model without them"),
        number("mean_b", "Mean difficulty"),
        number("mean_b_se", "Standard error of the mean difficulty"),
        flag("is_converged", "Whether mode and standard deviations converged"),
        count("n_iterations", "Sweeps of the search for the mode, all searches together"),
        number("gradient_norm", "Largest absolute derivative of the objective at the end"),
        flag("is_primary", "The fit that the dataset is ranked by; one per dataset"),
        text("warnings", "What to know before using the numbers, separated by '; '; null if nothing"), _WHY,
    ),
)  # fmt: skip

IRT_ITEMS = Table(
    "irt_items",
    "Difficulty, one row per fit and item",
    ("fit_id", "item_id"),
    (
        _FIT_ID, _DATASET, _ITEM, _TESTLET, count("n_observed", "Observed responses"),
        count("n_right", "Right responses"), number("b", "Difficulty"),
        number("b_se", "Standard error of b, given the model; siblings independent unless it has a model facet"),
        number("b_se_by_model", "Clustered by model, for Student t on n_models - 1; null if extreme or with a facet"),
        _EXTREME, _BIN, _WHY,
    ),
)  # fmt: skip

IRT_RATERS = Table(
    "irt_raters",
    "Ability, one row per fit and rater",
    ("fit_id", "rater_id"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, count("n_observed", "Observed responses"),
        count("n_right", "Right responses"),
        number("theta", "Ability at testlet effect 0, on the scale of b; divided by sqrt(1 + pi sd_u^2 / 8) marginal"),
        number("theta_se", "Standard error of theta"),
        count("rank", "1 is the highest theta; ties share a rank; null if sd_theta is 0"),
        number("infit", "Information-weighted mean square of the residuals; 1 or, with few raters, less is regular"),
        number("outfit", "Mean square of the standardised residuals; surprises on far-off items weigh most"),
        _EXTREME, _WHY,
    ),
)  # fmt: skip

IRT_TESTLET_EFFECTS = Table(
    "irt_testlet_effects",
    "Rater x testlet effect, one row per fit, rater and testlet with a response",
    ("fit_id", "rater_id", "testlet_id"),
    (
        _FIT_ID, _DATASET, _RATER, _TESTLET, count("n_observed", "Observed responses in the testlet"),
        number("u", "Testlet effect"), number("u_se", "Standard error of u"),
    ),
)  # fmt: skip

RATER_BINS = Table(
    "rater_bins",
    "Accuracy by difficulty, one row per fit, rater, bin source and bin",
    ("fit_id", "rater_id", "bin_source", "difficulty_bin"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, _BIN_SOURCE, _BIN, count("n", "Observed responses"),
        count("n_missing", "Missing responses"), number("accuracy", "Share right of the observed"),
        number("expected_accuracy", "Mean model probability over the same responses"), _WHY,
    ),
)  # fmt: skip

RATER_SLOPES = Table(
    "rater_slopes",
    "Fall of accuracy with difficulty, one row per fit, rater and bin source",
    ("fit_id", "rater_id", "bin_source"),
    (
        _FIT_ID, _DATASET, _RATER, _MODEL, _BIN_SOURCE, count("n", "Observed responses used"),
        number("slope", "Change of accuracy per bin"), number("slope_se", "Standard error, clustered by testlet"),
        number("expected_slope", "Slope of the expected accuracies"),
        number("excess_slope", "slope - expected_slope; positive is more robust than the ability implies"),
        number("excess_slope_se", "Standard error, clustered by testlet"),
        number("excess_slope_ci_low", "Lower end of the 95 % interval"),
        number("excess_slope_ci_high", "Upper end of the 95 % interval"),
        number("alpha", "Rater slope on difficulty, 1 under the model; below 1 is more robust"),
        number("alpha_se", "Standard error of alpha, testlet effects included"),
        text("alpha_undefined_reason", "Why alpha is null"), _WHY,
    ),
)  # fmt: skip

CONFUSION_BY_DIFFICULTY = Table(
    "confusion_by_difficulty",
    "Labels given, one row per fit, rater, bin, gold label and answer label that occur; responses without a label "
    "are not counted",
    ("fit_id", "rater_id", "difficulty_bin", "gold_label", "answer_label"),
    (
        _FIT_ID, _DATASET, _RATER, _BIN, text("gold_label", "Right label"), text("answer_label", "Label given"),
        count("n", "Responses"), number("row_share", "Share of the responses with this rater, bin and gold label"),
    ),
)  # fmt: skip


def _comparison(name: str, description: str, design: str) -> Table:
    return Table(
        name,
        description,
        ("fit_id", "parameter", "design", "replicate"),
        (
            _FIT_ID, _DATASET, text("parameter", "theta or b"), text("design", design),
            count("replicate", "Simulation or split, from 0"), count("n", "Values compared"),
            number("pearson_r", "Correlation; null without spread"), number("rmse", "Root mean squared difference"),
            number("slope", "Slope of truth on estimate, 1 where calibrated; null for halves"),
            number("spearman_brown", "Reliability of the whole; null for recovery"),
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
        _DATASET, _FIT_ID, text("entity", "Rater, or the pool of all raters"),
        text("metric", "accuracy, theta_rank (1 is the highest theta) or mean_accuracy (over the pool's raters)"),
        text("scope", "Items that the metric is over"),
        text("method", "testlet_bootstrap, or two_way_bootstrap where models are drawn too"),
        number("estimate", "The metric of the data as they are"), number("ci_low", "Lower end of the interval"),
        number("ci_high", "Upper end of the interval"), count("n", "Observed responses"),
        count("n_clusters", "Units drawn; with few of them intervals are too short"),
        count("n_draws", "Bootstrap draws"), count("seed", "Seed of the draws"),
        text("resampled_unit", "What is drawn: testlet, or testlet x model"), _WHY,
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
