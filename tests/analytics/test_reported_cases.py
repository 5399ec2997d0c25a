"""Faults reported of other psychometric software, by the name of the report: what this engine does instead.

Cases of one item response model stand beside that model's tests (`irt/test_reported_cases`, `irt/test_ability`,
`irt/test_rasch_models`, `irt/test_facets`).
"""

import time

import numpy as np
import polars as pl
import pytest

from analytics.correlation import pearson
from analytics.ctt.distractors import distractor_table
from analytics.ctt.items import item_statistics
from analytics.ctt.reliability import reliability
from analytics.irt.logistic import fit_logistic
from analytics.irt.reading import responses_from_matrix
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_simulation import simulate_testlet


def test_one_item_without_variance_does_not_block_alpha() -> None:
    # jamovi "bug with reliability analysis", jasp-issues "Reliability", statsample "Remove bad check in cronbach_alpha"
    x = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=float)
    found = reliability(x)
    # item variances 0, 3/10, 3/10, totals 3 1 2 2 3 with variance 7/10: k = 3 counts the constant item
    assert found.alpha == pytest.approx(3 / 2 * (1 - 0.6 / 0.7))
    assert found.alpha_without_constants == pytest.approx(2 * (1 - 0.6 / 0.7))
    assert found.n_constant_items == 1


def test_alpha_without_variance_of_the_total_is_undefined() -> None:
    # tci-stats "ZeroDivision", statsample "strict mode"
    found = reliability(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert np.isnan(found.alpha)
    assert found.undefined_reason == "every total is equal"


def test_a_missing_cell_scores_nothing_unless_that_is_asked_for() -> None:
    # WorkflowComponents "Cronbach ... use 0 to replace missing values"
    x = np.array([[1, np.nan], [1, 1], [0, 0], [1, np.nan]])
    omit, wrong = item_statistics(x), item_statistics(x, missing_policy="incorrect")
    assert omit.facility.tolist() == [0.75, 0.5]
    assert wrong.facility.tolist() == [0.75, 0.25]
    assert (omit.missing_policy, wrong.missing_policy) == ("omit", "incorrect")
    assert reliability(x).sem != reliability(x, missing_policy="incorrect").sem


def test_a_reversed_item_stays_reversed_and_shows_it() -> None:
    # jasp-desktop "A bug of Reliability Analysis", irw: check.keys turned an item round and alpha rose
    rng = np.random.default_rng(1)
    x = (rng.random((8, 1)) + 0.5 * rng.random((8, 4)) > 0.7).astype(float)
    straight = reliability(x).alpha
    x[:, 3] = 1 - x[:, 2]
    found = item_statistics(x)
    assert found.item_rest_r[3] < 0
    assert found.undefined_reason[3] is None
    k, variances, total = 4, x.var(axis=0, ddof=1).sum(), x.sum(axis=1).var(ddof=1)
    assert reliability(x).alpha == pytest.approx(k / (k - 1) * (1 - variances / total))
    assert reliability(x).alpha < straight


def test_a_grader_without_variance_has_no_correlation() -> None:
    # OpenJudge "guard CorrelationAnalyzer against NaN on zero-variance"
    assert np.isnan(pearson(np.ones(5), np.arange(5.0)))
    found = item_statistics(np.column_stack([np.ones(5), [0.0, 1, 0, 1, 1], [0.0, 0, 1, 1, 1]]))
    assert np.isnan(found.item_rest_r[0])
    assert found.undefined_reason[0] == "constant item"
    assert np.isfinite(found.item_rest_r[1:]).all()


def test_an_option_that_nobody_chose_keeps_its_place() -> None:
    # mirt "NA values in NRM when there is a missing distractor": 1, 2, 4 became 1, 2, 3
    choices = np.array([[0, 1], [1, 1], [3, 0], [0, 2], [3, 3]])
    table = distractor_table(choices, np.array([0, 1]), n_options=4)
    assert table.n[0].tolist() == [2, 1, 0, 2]
    assert table.share[0, 2] == 0
    assert np.isnan(table.mean_rest[0, 2])
    assert np.isnan(table.option_rest_r[0, 2])
    assert np.isfinite(table.mean_rest[0, 3])


def test_a_testlet_variance_near_zero_leaves_standard_errors_whole() -> None:
    # mirt "SE computations break when variances in bifactor (testlet) model estimated", "Negative SEs set to NaN"
    rng = np.random.default_rng(4)
    x = simulate_testlet(rng, n_raters=2000, n_items=20, n_testlets=4, sd_b=1.0, sd_u=0.05)
    fit = fit_testlet(x.responses, x.item_testlet)
    assert fit.is_converged
    assert fit.sd_u < 0.2
    assert (fit.sd_u == 0) == any("sd_u is at its boundary" in warning for warning in fit.warnings)
    assert np.all(fit.b_se > 0)
    assert np.all(fit.theta_se > 0)


def test_frequencies_of_patterns_are_repeated_rows(reference_dir) -> None:
    # mirt "Survey weights", "survey-weights option breaks M2": LSAT6, 30 patterns against 1000 rows
    table = pl.read_csv(reference_dir / "psychometrics" / "LSAT6_patterns_ltm.csv").to_numpy()
    patterns, times = table[:, 1:6], table[:, 6]
    assert (len(patterns), times.sum()) == (30, 1000)
    by_weight = fit_logistic(responses_from_matrix(patterns, weights=times))
    by_row = fit_logistic(responses_from_matrix(np.repeat(patterns, times.astype(int), axis=0)))
    assert by_weight.log_likelihood == pytest.approx(-2466.653, abs=1e-3)
    assert by_weight.log_likelihood == pytest.approx(by_row.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(by_weight.thresholds_se, by_row.thresholds_se, rtol=1e-4)
    np.testing.assert_allclose(by_weight.slope_se, by_row.slope_se, rtol=1e-4)


@pytest.mark.slow
def test_many_persons_by_few_items_take_seconds_and_say_how_they_ended() -> None:
    # lme4 "glmer hours", "uninformative convergence error": 35,000 x 26
    rng = np.random.default_rng(5)
    x = simulate_testlet(rng, n_raters=35_000, n_items=26, n_testlets=6, sd_b=1.0, sd_u=0.6)
    started = time.process_time()
    fit = fit_testlet(x.responses, x.item_testlet)
    assert time.process_time() - started < 60
    assert fit.is_converged
    assert fit.sd_theta == pytest.approx(1.0, abs=0.1)
    assert np.corrcoef(fit.b, x.b)[0, 1] > 0.999
    cut = fit_testlet(x.responses, x.item_testlet, Options("given", max_iterations=1))
    assert not cut.is_converged
    assert "gradient norm" in cut.warnings[0]
