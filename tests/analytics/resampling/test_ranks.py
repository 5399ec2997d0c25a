"""Rank correlations with multiplicities: hand-worked fixtures, scipy, and repeated rows."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from analytics.resampling.ranks import spearman, weighted_ranks, within_stratum_spearman

GOLD = np.array([0.5, 0.4, 0.3, 0.2, 0.45, 0.35, 0.35, 0.2, 0.1, 0.3])
PREDICTED = np.array([0.1, 0.3, 0.2, 0.0, 0.2, 0.5, 0.1, 0.1, 0.3, 0.4])
STRATUM = np.array([0] * 4 + [1] * 6)


def test_two_strata_fixture() -> None:
    assert spearman(GOLD[:4], PREDICTED[:4])[0] == pytest.approx(0.4, abs=1e-12)
    assert spearman(GOLD[4:], PREDICTED[4:])[0] == pytest.approx(0.014706, abs=1e-6)
    assert within_stratum_spearman(GOLD, PREDICTED, STRATUM)[0] == pytest.approx(0.168824, abs=1e-6)
    assert spearman(GOLD, PREDICTED)[0] == pytest.approx(0.052962, abs=1e-6)


@pytest.mark.parametrize(
    ("rho", "within"),
    [
        ((0.048, 0.120, 0.070, 0.195), 0.1025),
        ((0.162, 0.145, 0.189, 0.330), 0.1718),
        ((0.339, 0.202, 0.211, 0.228), 0.2301),
        ((0.331, 0.226, 0.261, 0.145), 0.2457),
        ((0.099, -0.131, 0.057, 0.016), -0.0388),
    ],
)
def test_the_pooled_value_is_the_item_weighted_mean_of_the_levels(rho, within) -> None:
    assert np.average(rho, weights=(140, 422, 169, 62)) == pytest.approx(within, abs=6e-5)


def test_equals_scipy_with_ties(rng) -> None:
    x, y = np.round(rng.normal(size=60), 1), np.round(rng.normal(size=60), 1)
    assert spearman(x, y)[0] == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_a_multiplicity_equals_repeated_items(rng) -> None:
    x, y, stratum = np.round(rng.normal(size=40), 1), np.round(rng.normal(size=40), 1), np.arange(40) % 3
    weights = rng.integers(0, 4, (5, 40)).astype(float)
    for row, rho, within in zip(
        weights, spearman(x, y, weights), within_stratum_spearman(x, y, stratum, weights), strict=True
    ):
        times = row.astype(int)
        assert rho == pytest.approx(spearmanr(np.repeat(x, times), np.repeat(y, times)).statistic, abs=1e-12)
        repeated = [np.repeat(part, times) for part in (x, y, stratum)]
        assert within == pytest.approx(within_stratum_spearman(*repeated)[0], abs=1e-12)


def test_ranks_by_hand() -> None:
    # sample 3 3 1: ranks 2.5 2.5 1
    np.testing.assert_array_equal(weighted_ranks(np.array([3.0, 1.0]), np.array([[2.0, 1.0]])), [[2.5, 1.0]])


def test_constant_inside_every_stratum_is_undefined() -> None:
    level_means = np.where(STRATUM == 0, 0.3, 0.7)
    assert np.isnan(within_stratum_spearman(GOLD, level_means, STRATUM)[0])
    assert not np.isnan(spearman(GOLD, level_means)[0])


def test_a_constant_stratum_is_left_out() -> None:
    partly = np.where(STRATUM == 1, 0.5, PREDICTED)
    assert within_stratum_spearman(GOLD, partly, STRATUM)[0] == pytest.approx(0.4, abs=1e-12)
