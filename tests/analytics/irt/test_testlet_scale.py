"""The marginal scale of the testlet models, against quadrature and simulation."""

import numpy as np
import pytest
from scipy.special import expit

from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_facet import fit_testlet_facet
from analytics.irt.testlet_marginal import fit_testlet_marginal
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_scale import marginal_factor
from analytics.irt.testlet_simulation import simulate_testlet


@pytest.mark.parametrize(("sd_u", "tolerance"), [(0.0, 1e-12), (0.3, 0.001), (0.97, 0.005), (3.0, 0.014)])
def test_the_logistic_curve_on_the_marginal_scale_is_the_average_over_testlet_effects(sd_u, tolerance) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    theta_less_b = np.linspace(-6, 6, 121)
    exact = expit(theta_less_b[:, None] + sd_u * nodes) @ weights / weights.sum()
    np.testing.assert_allclose(expit(marginal_factor(sd_u) * theta_less_b), exact, atol=tolerance)


def test_simulated_success_on_new_testlets_is_that_of_the_marginal_scale() -> None:
    rng = np.random.default_rng(8)
    theta, b, sd_u, n = 1.2, -0.4, 1.1, 400_000
    share = np.mean(rng.random(n) < expit(theta + rng.normal(0, sd_u, n) - b))
    assert share < expit(theta - b) - 0.02  # what the conditional scale would promise
    # three standard errors of the share, and what the approximation itself is off
    assert share == pytest.approx(expit(marginal_factor(sd_u) * (theta - b)), abs=0.0022 + 0.005)


def test_the_marginal_scale_is_that_of_a_rasch_fit_without_testlets() -> None:
    rng = np.random.default_rng(9)
    x = simulate_testlet(rng, n_raters=600, n_items=60, n_testlets=12, sd_b=1.0, sd_u=1.0)
    fit = fit_testlet_marginal(x.responses, x.item_testlet, n_nodes=15)
    rasch = fit_rasch(responses_from_matrix(x.responses))
    b, factor = rasch.items.thresholds[:, 0], marginal_factor(fit.sd_u)  # theta's shrinkage differs, b has none
    assert np.polyfit(b, factor * fit.b, 1)[0] == pytest.approx(1.0, abs=0.02)
    assert np.polyfit(b, fit.b, 1)[0] > 1.1


def test_every_testlet_fit_reports_both_scales(rng) -> None:
    x = simulate_testlet(rng, n_raters=12, n_items=40, n_testlets=8, n_models=4, sd_v=0.5)
    plain = fit_testlet(x.responses, x.item_testlet, Options("given", sd_u=0.8))
    factor = marginal_factor(0.8)
    assert factor == pytest.approx(1 / np.sqrt(1 + np.pi * 0.64 / 8))
    np.testing.assert_allclose(plain.theta_marginal, factor * plain.theta)
    np.testing.assert_allclose(plain.theta_marginal_se, factor * plain.theta_se)
    facet = fit_testlet_facet(x.responses, x.item_testlet, x.rater_model, variances="given")
    both = marginal_factor(np.hypot(facet.sd_u, facet.sd_v))
    np.testing.assert_allclose(facet.theta_marginal, both * facet.theta)
    np.testing.assert_allclose(facet.theta_marginal_se, both * facet.theta_se)
    assert both < marginal_factor(facet.sd_u) < 1 == marginal_factor(0.0)
