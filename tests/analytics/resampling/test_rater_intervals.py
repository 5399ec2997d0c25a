"""Intervals of accuracy and rank: counted by hand, against refits of the drawn testlets, where nothing can be drawn."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_anchor import score_anchored
from analytics.matrix import ResponseMatrix
from analytics.resampling.bootstrap import draw_multiplicities
from analytics.resampling.rater_intervals import Metric, RaterInterval, _ranks, _testlet_sums, _theta, rater_intervals


def simulated(rng: np.random.Generator, n_testlets: int = 40, n_models: int = 4) -> ResponseMatrix:
    """Two raters a model; five items a testlet; every tenth response is missing."""
    n_raters, n_items = 2 * n_models, 5 * n_testlets
    of_item = np.arange(n_items) // 5
    theta, b = np.linspace(-1, 1, n_raters), rng.normal(0, 1.2, n_items)
    logit = theta[:, None] + rng.normal(0, 0.6, (n_raters, n_testlets))[:, of_item] - b
    responses = (rng.random(logit.shape) < expit(logit)).astype(float)
    responses[rng.random(logit.shape) < 0.1] = np.nan
    return ResponseMatrix(
        responses,
        tuple(f"r{i}" for i in range(n_raters)),
        tuple(f"i{j:03d}" for j in range(n_items)),
        tuple(f"t{t:02d}" for t in range(n_testlets)),
        of_item,
        tuple(f"m{i // 2}" for i in range(n_raters)),
    )


def of(found: list[RaterInterval], metric: Metric, design: str = "testlet_bootstrap") -> list[RaterInterval]:
    return [one for one in found if (one.metric, one.design) == (metric, design)]


def test_estimates_are_those_of_the_data_and_lie_inside(rng: np.random.Generator) -> None:
    matrix = simulated(rng)
    fit = fit_testlet(matrix.responses, matrix.item_testlet)
    found = rater_intervals(matrix, fit, n_draws=400, seed=3)
    assert found == rater_intervals(matrix, fit, n_draws=400, seed=3)
    accuracy = [one.interval.estimate for one in of(found, "accuracy")]
    np.testing.assert_allclose(accuracy, np.nanmean(matrix.responses, axis=1))
    ranks = [one.interval.estimate for one in of(found, "theta_rank")]
    assert ranks == [1 + np.sum(fit.theta > theta) for theta in fit.theta]
    assert of(found, "mean_accuracy")[0].interval.estimate == pytest.approx(np.mean(accuracy))
    assert all(one.interval.ci_low <= one.interval.estimate <= one.interval.ci_high for one in found)
    assert {one.interval.resampled_unit for one in found} == {"testlet", "testlet x model"}


def test_drawing_models_too_widens_the_pool_mean(rng: np.random.Generator) -> None:
    matrix = simulated(rng)
    found = rater_intervals(matrix, fit_testlet(matrix.responses, matrix.item_testlet), n_draws=500, seed=3)
    width = {
        design: of(found, "mean_accuracy", design)[0].interval.se
        for design in ("testlet_bootstrap", "two_way_bootstrap")
    }
    assert width["two_way_bootstrap"] > 2 * width["testlet_bootstrap"]  # abilities differ more than testlets do


def test_theta_of_a_draw_is_that_of_a_refit_on_the_drawn_testlets(rng: np.random.Generator) -> None:
    matrix = simulated(rng)
    fit = fit_testlet(matrix.responses, matrix.item_testlet)
    times = draw_multiplicities(np.arange(40), n_draws=10, rng=rng)
    step = _theta(_testlet_sums(matrix, fit), fit, times)
    refits = np.empty(step.shape)
    for draw, row in enumerate(times.astype(int)):
        drawn = np.repeat(np.arange(40), row)
        items = (drawn[:, None] * 5 + np.arange(5)).ravel()
        responses, of_item = matrix.responses[:, items], np.repeat(np.arange(drawn.size), 5)
        refits[draw] = score_anchored(responses, of_item, fit.b[items], sd_theta=fit.sd_theta, sd_u=fit.sd_u).theta
    error, spread = step - refits, refits - fit.theta
    assert np.sqrt(np.mean(error**2)) < 0.03 * np.sqrt(np.mean(spread**2))  # one step is near enough
    assert np.abs(error).max() < 0.05


def test_ranks_count_each_rater_as_often_as_it_was_drawn() -> None:
    theta, weight = np.array([[0.5, 2.0, 1.0, 1.0, np.nan]]), np.array([[1.0, 3.0, 0.0, 2.0, 1.0]])
    # above 0.5: 3 + 0 + 2; above 2: none; above 1: 3; without a theta: no rank
    np.testing.assert_array_equal(_ranks(theta, weight), [[6.0, 1.0, 4.0, 4.0, np.nan]])


def test_one_testlet_or_one_model_gives_no_interval(rng: np.random.Generator) -> None:
    matrix = simulated(rng, n_testlets=1)
    fit = replace(fit_testlet(matrix.responses, matrix.item_testlet), sd_theta=1.0)
    found = rater_intervals(matrix, fit, n_draws=50, seed=1)
    assert all(np.isnan(one.interval.ci_low) and np.isfinite(one.interval.estimate) for one in found)
    matrix = simulated(rng, n_models=1)
    found = rater_intervals(matrix, fit_testlet(matrix.responses, matrix.item_testlet), n_draws=50, seed=1)
    assert {one.design for one in found if np.isnan(one.interval.ci_low)} == {"two_way_bootstrap"}


def test_without_differences_in_ability_there_is_no_rank_and_every_accuracy(rng: np.random.Generator) -> None:
    matrix = simulated(rng)
    fit = replace(fit_testlet(matrix.responses, matrix.item_testlet), sd_theta=0.0)
    for one in rater_intervals(matrix, fit, n_draws=50, seed=1):
        numbers = [one.interval.estimate, one.interval.ci_low, one.interval.ci_high]
        assert np.isnan(numbers).all() if one.metric == "theta_rank" else np.isfinite(numbers).all()


def test_a_rater_without_responses_has_neither_and_changes_nobody(rng: np.random.Generator) -> None:
    matrix = simulated(rng)
    matrix.responses[0] = np.nan
    found = rater_intervals(matrix, fit_testlet(matrix.responses, matrix.item_testlet), n_draws=50, seed=1)
    empty = [one.interval for one in found if one.rater == 0]
    assert all(np.isnan([one.estimate, one.ci_low, one.ci_high]).all() for one in empty)
    assert min(one.interval.estimate for one in of(found, "theta_rank") if one.rater) == 1
    mean = np.mean([one.interval.estimate for one in of(found, "accuracy") if one.rater])
    assert of(found, "mean_accuracy")[0].interval.estimate == pytest.approx(mean)
