"""Bootstrap intervals of each rater's accuracy and rank, and of the pool's mean accuracy.

Holds the statistics of all raters for all draws at once. Does not hold drawing or the reading of intervals
(`bootstrap`). Testlets are what a test is a sample of, so whole testlets are drawn; where raters are of several models,
a second interval draws models too.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from analytics.irt.testlet_result import TestletFit
from analytics.matrix import FloatArray, ResponseMatrix
from analytics.resampling.bootstrap import Interval, draw_multiplicities, make_interval

Metric = Literal["accuracy", "theta_rank", "mean_accuracy"]
"""Share right of a rater's observed responses, its place by theta, and the mean of the accuracies of all raters."""

IntervalDesign = Literal["testlet_bootstrap", "two_way_bootstrap"]
"""What is drawn: testlets, or testlets and models independently."""

UNITS: dict[IntervalDesign, str] = {"testlet_bootstrap": "testlet", "two_way_bootstrap": "testlet x model"}


@dataclass(frozen=True, slots=True)
class RaterInterval:
    """An interval with what it is of; `rater` is None for the pool."""

    rater: int | None
    metric: Metric
    design: IntervalDesign
    interval: Interval


def rater_intervals(matrix: ResponseMatrix, fit: TestletFit, *, n_draws: int, seed: int) -> list[RaterInterval]:
    """Intervals of accuracy and rank for every rater, and of mean accuracy for the pool.

    A rank is 1 plus the number of raters with a higher theta, each counted as often as its model was drawn; the rater
    itself always stays. An accuracy of one rater does not depend on the other models and has no two-way interval.

    Parameters
    ----------
    matrix, fit
        The responses and their fit.
    n_draws, seed
        Draws, and their seed.

    Returns
    -------
    list of RaterInterval
        95 % percentile intervals; NaN where there is one testlet (or one model) only, or nothing was observed. Ranks
        are NaN where `sd_theta` is 0.
    """
    rng = np.random.default_rng(seed)
    sums = _testlet_sums(matrix, fit)
    testlets = draw_multiplicities(np.arange(len(matrix.testlet_ids)), n_draws=n_draws, rng=rng)
    models = draw_multiplicities(matrix.model_codes(), n_draws=n_draws, rng=rng)
    once = np.ones((1, testlets.shape[1])), np.ones((1, matrix.n_raters))
    accuracy, ability = _accuracy(sums, testlets), _theta(sums, fit, testlets)
    all_accuracy, n = _accuracy(sums, once[0]), sums.n.sum(axis=0).astype(np.int64)
    all_ranks = _ranks(_theta(sums, fit, once[0]), once[1])
    n_testlets, n_models = len(matrix.testlet_ids), len(set(matrix.rater_model))

    def interval(estimate: float, draws: FloatArray, n: int, design: IntervalDesign) -> Interval:
        n_clusters = n_testlets if design == "testlet_bootstrap" else min(n_testlets, n_models)
        if n_clusters < 2:  # one unit drawn over and over shows no spread, which is not certainty
            draws = np.full(n_draws, np.nan)
        return make_interval(estimate, draws, n=n, n_clusters=n_clusters, seed=seed, resampled_unit=UNITS[design])

    found = [
        RaterInterval(
            i,
            "accuracy",
            "testlet_bootstrap",
            interval(all_accuracy[0, i], accuracy[:, i], int(n[i]), "testlet_bootstrap"),
        )
        for i in range(matrix.n_raters)
    ]
    weights: dict[IntervalDesign, FloatArray] = {
        "testlet_bootstrap": np.ones(models.shape),
        "two_way_bootstrap": models,
    }
    for design, weight in weights.items():
        ranks = _ranks(ability, weight)
        mean, drawn = _mean(all_accuracy, once[1]), _mean(accuracy, weight)
        found.append(RaterInterval(None, "mean_accuracy", design, interval(mean[0], drawn, int(n.sum()), design)))
        found += [
            RaterInterval(i, "theta_rank", design, interval(all_ranks[0, i], ranks[:, i], int(n[i]), design))
            for i in range(matrix.n_raters)
        ]
    return found


@dataclass(frozen=True, slots=True)
class _Sums:
    """Observed and right responses, score and information of theta, each of shape (n_testlets, n_raters)."""

    n: FloatArray
    right: FloatArray
    score: FloatArray
    information: FloatArray


def _testlet_sums(matrix: ResponseMatrix, fit: TestletFit) -> _Sums:
    """Sum over the items of each testlet; the testlet effect is profiled out of score and information."""
    items = np.arange(matrix.n_items)
    member = sp.csr_array((np.ones(items.size), (matrix.item_testlet, items)), (len(matrix.testlet_ids), items.size))
    seen = ~np.isnan(matrix.responses)
    right = np.where(seen, matrix.responses, 0.0)
    logit = np.nan_to_num(fit.theta)[:, None] + np.nan_to_num(fit.u)[:, matrix.item_testlet] - np.nan_to_num(fit.b)
    p = np.where(seen, expit(logit), 0.0)
    weight = member @ (p * (1.0 - p)).T
    return _Sums(
        n=member @ seen.astype(np.float64).T,
        right=member @ right.T,
        score=member @ (right - p).T,
        information=weight / (1.0 + fit.sd_u**2 * weight),
    )


def _accuracy(sums: _Sums, times: FloatArray) -> FloatArray:
    """Accuracy in each draw, shape (n_draws, n_raters); NaN where nothing was drawn that the rater answered."""
    n = times @ sums.n
    found = np.full(n.shape, np.nan)
    np.divide(times @ sums.right, n, out=found, where=n > 0)
    return found


def _theta(sums: _Sums, fit: TestletFit, times: FloatArray) -> FloatArray:
    """Theta in each draw, shape (n_draws, n_raters): a Newton step from the fit, difficulties held at theirs.

    A testlet that is drawn twice is two testlets with the same responses, so score and information count twice. NaN
    where the fit finds no differences in ability: there is no order then.
    """
    if fit.sd_theta == 0.0:
        return np.full((len(times), fit.theta.size), np.nan)
    prior = fit.sd_theta**-2.0
    score = times @ sums.score - prior * np.nan_to_num(fit.theta)
    return np.asarray(fit.theta + score / (times @ sums.information + prior))


def _ranks(theta: FloatArray, weight: FloatArray) -> FloatArray:
    """Rank of each rater, shape (n_draws, n_raters): 1 and the weight of those above; equal ones share a rank."""
    theta = np.round(theta, 9)
    ranks = np.empty(theta.shape)
    for i in range(theta.shape[1]):
        above = theta > theta[:, [i]]
        ranks[:, i] = 1.0 + np.sum(above * weight, axis=1)
    return np.where(np.isnan(theta), np.nan, ranks)


def _mean(accuracy: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean over the raters with an accuracy, shape (n_draws,); NaN where there is none."""
    known = np.where(np.isnan(accuracy), 0.0, weight)
    total = known.sum(axis=1)
    found = np.full(total.shape, np.nan)
    np.divide(np.sum(known * np.nan_to_num(accuracy), axis=1), total, out=found, where=total > 0)
    return found
