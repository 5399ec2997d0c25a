"""The torch pass gives the numbers of the numpy pass to float32's precision."""

import numpy as np
import pytest

from analytics.irt.logistic import fit_logistic
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.reading import responses_from_long, responses_from_matrix
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_simulation import simulate_testlet
from tests.analytics.irt.simulate import draw, some_items

RELATIVE = 1e-4


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_two_parameter_fit_on_torch(missing: float, rng: np.random.Generator) -> None:
    data = responses_from_matrix(draw(some_items("logistic", 10, rng), rng.normal(size=400), rng, missing=missing))
    ours, theirs = fit_logistic(data), fit_logistic(data, options=MarginalOptions(backend="torch"))
    assert theirs.log_likelihood == pytest.approx(ours.log_likelihood, rel=RELATIVE)
    # the search ends within 1e-4 complete-data standard errors of the maximum; missing information stretches that
    np.testing.assert_allclose(theirs.items.slope, ours.items.slope, atol=2e-4)
    np.testing.assert_allclose(theirs.items.thresholds, ours.items.thresholds, atol=2e-4)
    np.testing.assert_allclose(theirs.theta, ours.theta, atol=RELATIVE)
    assert theirs.is_converged


@pytest.mark.parametrize("seed", range(6))
def test_single_precision_reaches_the_maximum_where_the_likelihood_is_rounded(seed: int) -> None:
    # a search that ends where the rounded log-likelihood stops rising is off by up to 1e-3 here
    rng = np.random.default_rng(seed)
    data = responses_from_matrix(draw(some_items("logistic", 10, rng), rng.normal(size=400), rng))
    ours, theirs = fit_logistic(data), fit_logistic(data, options=MarginalOptions(backend="torch"))
    assert theirs.is_converged
    np.testing.assert_allclose(theirs.items.slope, ours.items.slope, atol=2e-4)


def test_torch_wants_dense_rows() -> None:
    data = responses_from_long([0, 1, 2], [0, 0, 5], [1, 0, 1], person_ids=range(3), item_ids=range(6))
    with pytest.raises(ValueError, match="dense"):
        fit_logistic(data, options=MarginalOptions(backend="torch"))


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("sd_u", [0.5, 0.0])
def test_testlet_fit_on_torch(missing: float, sd_u: float, rng: np.random.Generator) -> None:
    x = simulate_testlet(rng, n_raters=40, n_items=300, n_testlets=30, missing=missing)
    given = {"variances": "given", "sd_theta": 1.0, "sd_b": 1.5, "sd_u": sd_u}
    ours = fit_testlet(x.responses, x.item_testlet, Options(**given))
    theirs = fit_testlet(x.responses, x.item_testlet, Options(**given, backend="torch"))
    assert theirs.is_converged
    for name in ("theta", "b", "theta_se", "b_se"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), atol=RELATIVE)
    np.testing.assert_allclose(theirs.u, ours.u, atol=RELATIVE)
    assert theirs.marginal_log_likelihood == pytest.approx(ours.marginal_log_likelihood, rel=RELATIVE)


def test_testlet_items_are_worked_through_in_parts(rng: np.random.Generator, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    x = simulate_testlet(rng, n_raters=12, n_items=60, n_testlets=6)
    options = Options("given", backend="torch")
    whole = fit_testlet(x.responses, x.item_testlet, options)
    monkeypatch.setattr("analytics.irt.testlet_torch.CELLS_AT_ONCE", 7 * 12)
    np.testing.assert_allclose(fit_testlet(x.responses, x.item_testlet, options).b, whole.b, atol=RELATIVE)


def test_the_search_for_standard_deviations_is_not_for_float32() -> None:
    with pytest.raises(ValueError, match="given standard deviations"):
        Options("laplace", backend="torch")
    with pytest.raises(ValueError, match="'numba', 'torch'"):
        Options("given", backend="jax")  # type: ignore[arg-type]
