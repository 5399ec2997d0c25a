"""A fixed simulation grid for the testlet fit: correlation, slope, coverage, bias of the standard deviations.

The whole grid with 200 replicates a cell is ``benchmarks/simulation_grid.py``; one cell of it is kept here.
"""

import numpy as np
import pytest
from scipy.stats import norm

from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_simulation import simulate_testlet

REPLICATES = 8


@pytest.mark.slow
@pytest.mark.parametrize("n_raters", [17, 42, 168])
@pytest.mark.parametrize("sd_b", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("sd_u", [0.3, 0.8])
def test_recovery_over_the_grid(n_raters, sd_b, sd_u) -> None:
    rng = np.random.default_rng([n_raters, int(10 * sd_b), int(10 * sd_u)])
    found = []
    for _ in range(REPLICATES):
        x = simulate_testlet(rng, n_raters=n_raters, n_items=800, n_testlets=80, sd_b=sd_b, sd_u=sd_u)
        fit = fit_testlet(x.responses, x.item_testlet)
        error = fit.b - x.b - np.mean(fit.b - x.b)
        slope = np.polyfit(fit.b, x.b, 1)[0]
        found.append(
            (
                fit.is_converged, np.corrcoef(fit.theta, x.theta)[0, 1], np.corrcoef(fit.b, x.b)[0, 1], slope,
                np.mean(np.abs(error) < 1.96 * fit.b_se), fit.sd_b / x.b.std(), fit.sd_theta / x.theta.std(), fit.sd_u,
            )
        )  # fmt: skip
    converged, r_theta, r_b, slope, coverage, ratio_b, ratio_theta, mean_u = np.mean(found, axis=0)
    assert converged == 1.0
    assert r_theta > 0.98
    # the best that n_raters Bernoulli responses allow: reliability sd_b^2 / (sd_b^2 + 1 / information)
    assert r_b > {17: 0.80, 42: 0.90, 168: 0.97}[n_raters]
    assert slope == pytest.approx(1.0, abs=0.15)
    assert 0.90 < coverage < 0.975
    assert ratio_b == pytest.approx(1.0, abs=0.1)
    assert ratio_theta == pytest.approx(1.0, abs=0.1)
    assert 0.5 * sd_u < mean_u < 1.1 * sd_u  # Laplace pulls sd_u down, most where raters are few


@pytest.mark.slow
def test_intervals_of_difficulty_cover_items_of_the_population_decile_by_decile() -> None:
    rng, covered, of = np.random.default_rng(42), np.zeros(11), np.zeros(11)
    biases = []
    for _ in range(200):
        x = simulate_testlet(rng, n_raters=42, n_items=800, n_testlets=80, sd_b=1.5, sd_u=0.3)
        fit = fit_testlet(x.responses, x.item_testlet)
        decile = np.minimum((10 * norm.cdf(x.b / 1.5)).astype(int), 9)
        place = np.where(fit.is_extreme_item, 10, decile)
        covered += np.bincount(place, np.abs(fit.b - x.b) <= 1.96 * fit.b_se, 11)
        of += np.bincount(place, minlength=11)
        biases.append([fit.sd_theta - 1.0, fit.sd_b - 1.5, fit.sd_u - 0.3])
    assert np.sum(covered) / np.sum(of) == pytest.approx(0.943, abs=0.01)
    share = covered[:10] / of[:10]
    assert np.all(share[1:9] > 0.935)
    assert np.all(share[[0, 9]] > 0.86)  # the outermost tenths are drawn towards the mean
    assert 0 < of[10] / np.sum(of) < 0.02
    assert covered[10] / of[10] > 0.85
    # Laplace: sd_u too small by a sixth, the others hardly
    np.testing.assert_allclose(np.mean(biases, axis=0), [-0.018, -0.010, -0.049], atol=0.02)
