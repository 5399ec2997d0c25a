"""A fixed simulation grid for the testlet fit: correlation, slope, coverage, bias of the standard deviations."""

import numpy as np
import pytest

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
