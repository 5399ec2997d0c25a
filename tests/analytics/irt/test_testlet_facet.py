"""The model facet and cluster-robust errors: exact algebra, and what dependence does to intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt import testlet_facet, testlet_facet_search
from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_facet_quadrature import correct_items
from analytics.irt.testlet_facet_search import correction, marginal_gradient, pack_facet, solve_facet, start_facet
from analytics.irt.testlet_facet_system import FacetPoint, FacetScales
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_robust import cluster_robust_errors
from analytics.irt.testlet_simulation import simulate_testlet

X = np.log([0.8, 1.3, 0.5, 0.9])


def simulate(rng, n_models=3, per_model=3, n_items=30, n_testlets=6, sd_v=1.0, missing=0.1):
    model, of_item = np.repeat(np.arange(n_models), per_model), np.arange(n_items) % n_testlets
    theta, b = rng.normal(size=(model.size, 1)), rng.normal(0, 1.5, n_items)
    u, v = rng.normal(0, 0.4, (model.size, n_testlets)), rng.normal(0, sd_v, (n_models, n_items))
    right = rng.random((model.size, n_items)) < expit(theta + u[:, of_item] - b - v[model])
    return np.where(rng.random(right.shape) < missing, np.nan, right.astype(float)), of_item, model, b


@pytest.fixture
def solved(rng):
    responses, of_item, model, _ = simulate(rng)
    data = pack_facet(responses, of_item, model, 3)
    return data, lambda x: solve_facet(data, FacetScales(*np.exp(x)), start_facet(data))


def dense_hessian(data, state, model):
    n, t, j, m = model.size, data.cells.n_testlets, len(data.right), 3
    hessian = np.zeros((n + t * n + j * m + j + 1,) * 2)
    of_item = np.repeat(np.arange(t), np.diff(data.cells.starts))
    first_d, first_b = n + t * n, n + t * n + j * m
    point, scales = state.point, state.scales

    def add(places, signs, weight):
        hessian[np.ix_(places, places)] += weight * np.outer(signs, signs)

    for item in range(j):
        for i in range(n):
            p = expit(point.theta[i] + point.u[of_item[item], i] - point.d[item, model[i]])
            weight = p * (1 - p) * data.seen[item, i]
            add([i, n + of_item[item] * n + i, first_d + item * m + model[i]], [1, 1, -1], weight)
        for k in range(m):
            add([first_d + item * m + k, first_b + item], [1, -1], scales.v**-2)
        add([first_b + item, first_b + j], [1, -1], scales.b**-2)
    hessian[np.arange(n), np.arange(n)] += scales.theta**-2
    hessian[np.arange(n, first_d), np.arange(n, first_d)] += scales.u**-2
    return hessian, first_b


def test_variances_and_determinant_equal_the_dense_inverse(solved) -> None:
    data, solve = solved
    state = solve(X)
    hessian, first_b = dense_hessian(data, state, data.model)
    variances, _, var_b = state.system.variances(state.point.u.shape, len(data.right))
    dense = np.diag(np.linalg.inv(hessian))
    n, t = data.model.size, data.cells.n_testlets
    np.testing.assert_allclose(var_b, dense[first_b:-1], rtol=1e-9)
    np.testing.assert_allclose(variances.theta, dense[:n], rtol=1e-9)
    np.testing.assert_allclose(variances.u, dense[n : n + t * n].reshape(t, n), rtol=1e-9)
    counts = np.array([n, len(data.right), t * n, len(data.right) * 3])
    with_scales = np.linalg.slogdet(hessian)[1] / 2 + float(counts @ X)
    assert state.system.half_log_determinant == pytest.approx(with_scales, abs=1e-8)


def test_marginal_gradient_equals_finite_differences(solved) -> None:
    data, solve = solved
    step = 1e-4
    numeric = [(solve(X + e).marginal - solve(X - e).marginal) / (2 * step) for e in step * np.eye(4)]
    np.testing.assert_allclose(marginal_gradient(data, solve(X)), numeric, atol=1e-5)


def test_marginal_gradient_with_the_items_by_quadrature_equals_finite_differences(solved) -> None:
    data, solve = solved

    def value(x):
        state = solve(x)
        return state.marginal + correction(data, state).value

    step, state = 1e-4, solve(X)
    numeric = [(value(X + e) - value(X - e)) / (2 * step) for e in step * np.eye(4)]
    # the quadrature's own error, which its derivatives do not follow
    np.testing.assert_allclose(marginal_gradient(data, state, correction(data, state)), numeric, atol=2e-4)


@pytest.mark.parametrize("n_raters", [7, 1500])  # two or three of a model; so many that products would overflow
def test_the_correction_of_an_item_is_its_integral_less_laplace(rng, n_raters) -> None:
    model, sd = np.arange(n_raters) % 3, FacetScales(1.0, 1.3, 0.4, 0.8)
    theta, mean_b = rng.normal(size=n_raters), 0.2
    right = (rng.random((1, n_raters)) < 0.6).astype(float)
    seen = (rng.random((1, n_raters)) < 0.9).astype(float)
    right *= seen

    def log_density(d, b):  # of the answers of each model, d, and b, without the constants of the normal densities
        logit = theta - d[..., model]
        like = np.sum(right * logit - seen * np.logaddexp(0, logit), axis=-1)
        return like - np.sum((d - b[..., None]) ** 2, axis=-1) / (2 * sd.v**2) - (b - mean_b) ** 2 / (2 * sd.b**2)

    found = minimize(lambda x: -log_density(x[:3], x[3]), np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    d, b = found.x[:3], found.x[3]
    w = [np.sum(seen[0] * expit(theta - d[m]) * expit(d[m] - theta) * (model == m)) for m in range(3)]
    precision = np.diag([*(sd.v**-2 + np.array(w)), 3 * sd.v**-2 + sd.b**-2])
    precision[:3, 3] = precision[3, :3] = -(sd.v**-2)
    laplace = log_density(d, b) - np.linalg.slogdet(precision)[1] / 2 - 3 * np.log(sd.v) - np.log(sd.b)
    point = FacetPoint(theta, np.zeros((1, n_raters)), d[None], np.array([b]), mean_b)
    ours = correct_items(right, seen, model, np.array([0, 1]), sd, point)
    # by an equally spaced rule over b and, model by model, over d
    step_b, step_d = 8 / np.sqrt(precision[3, 3]) / 60, 8 / np.sqrt(np.diag(precision)[:3]) / 60
    grid = np.arange(-120, 121)
    total = -((b + step_b * grid - mean_b) ** 2) / (2 * sd.b**2)
    for m in range(3):
        at = d[m] + step_d[m] * grid
        own = model == m
        logit = theta[own] - at[:, None]
        like = np.sum(right[0, own] * logit - seen[0, own] * np.logaddexp(0, logit), axis=1)
        joint = like - (at - b - step_b * grid[:, None]) ** 2 / (2 * sd.v**2)
        top = joint.max(axis=1, keepdims=True)
        total += top[:, 0] + np.log(np.exp(joint - top).sum(axis=1) * step_d[m] / sd.v / np.sqrt(2 * np.pi))
    exact = np.log(np.sum(np.exp(total - total.max())) * step_b / sd.b / np.sqrt(2 * np.pi)) + total.max()
    assert ours.value == pytest.approx(exact - laplace, abs=2e-4 if n_raters == 7 else 1e-5)
    assert abs(ours.value) < 0.1


def test_an_independent_optimiser_finds_the_same_mode(rng) -> None:
    responses, of_item, model, _ = simulate(rng, n_items=12, n_testlets=3)
    n, t, j, m = model.size, 3, 12, 3
    sd = FacetScales(*np.exp(X))
    seen, right = ~np.isnan(responses), np.nan_to_num(responses)

    def negative(x):
        # theta, u, d, b and the mean of b, straight from the formula
        theta, u, d, b, mean = np.split(x, np.cumsum([n, n * t, j * m, j]))
        u, d = u.reshape(n, t), d.reshape(j, m)
        logit = theta[:, None] + u[:, of_item] - d.T[model]
        residual = seen * (expit(logit) - right)
        v = (d - b[:, None]) / sd.v**2
        squares = np.sum(theta**2) / sd.theta**2 + np.sum(u**2) / sd.u**2 + np.sum((b - mean) ** 2) / sd.b**2
        value = np.sum(seen * (np.logaddexp(0, logit) - right * logit)) + (squares + np.sum(v**2) * sd.v**2) / 2
        by_u = np.stack([residual[:, of_item == k].sum(axis=1) for k in range(t)], axis=1) + u / sd.u**2
        by_d = v - np.stack([residual[model == k].sum(axis=0) for k in range(m)], axis=1)
        by_b = (b - mean) / sd.b**2
        parts = (residual.sum(axis=1) + theta / sd.theta**2, by_u.ravel(), by_d.ravel(), by_b - v.sum(axis=1))
        return value, np.concatenate([*parts, [-by_b.sum()]])

    found = minimize(negative, np.zeros(n + n * t + j * m + j + 1), jac=True, method="BFGS", options={"gtol": 1e-9})
    fit = testlet_facet.fit_testlet_facet(responses, of_item, model, variances="given", scales=sd)
    np.testing.assert_allclose(fit.theta, found.x[:n], atol=1e-6)
    np.testing.assert_allclose(fit.u.ravel(), found.x[n : n + n * t], atol=1e-6)
    np.testing.assert_allclose(fit.b, found.x[-j - 1 : -1], atol=1e-6)
    assert fit.mean_b == pytest.approx(found.x[-1], abs=1e-6)


@pytest.mark.parametrize(("sd", "tolerance"), [(0.1, 0.03), (0.4, 0.1)])
def test_laplace_marginal_against_brute_force_quadrature(sd, tolerance) -> None:
    # two models of two raters, three items of one testlet: theta + u is normal, v is shared within a model
    responses = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    weights = weights / weights.sum()
    ability = sd * np.sqrt(2.0) * nodes  # sd of theta and of u
    grid = np.linspace(-7.0, 7.0, 141)
    values = []
    for mean in grid:
        b = mean + sd * nodes
        total = np.ones((7, 7, 7))  # by node of each item's b
        for first in (0, 2):
            p = expit(ability[:, None, None] - b[:, None] - sd * nodes)  # rater x b x v
            factors = []
            for item in range(3):
                y, z = responses[first, item], responses[first + 1, item]
                one, two = np.where(y, p, 1 - p), np.where(z, p, 1 - p)
                factors.append(np.einsum("ajv,bjv,v->abj", one, two, weights))
            total *= np.einsum("abi,abj,abk,a,b->ijk", *factors, weights, weights)
        values.append(np.einsum("ijk,i,j,k->", total, weights, weights, weights))
    exact = np.log(np.sum(values) * (grid[1] - grid[0]))
    fit = testlet_facet.fit_testlet_facet(
        responses, np.zeros(3, dtype=int), np.array([0, 0, 1, 1]), variances="given", scales=FacetScales(sd, sd, sd, sd)
    )
    assert fit.marginal_log_likelihood == pytest.approx(exact, abs=tolerance)


def test_a_small_facet_gives_the_fit_without_it(rng) -> None:
    responses, of_item, model, _ = simulate(rng)
    facet = testlet_facet.fit_testlet_facet(
        responses, of_item, model, variances="given", scales=FacetScales(1.0, 1.3, 0.6, 0.01)
    )
    plain = fit_testlet(responses, of_item, Options("given", 1.0, 1.3, 0.6, tolerance=1e-10))
    np.testing.assert_allclose(facet.theta, plain.theta, atol=1e-3)
    np.testing.assert_allclose(facet.b, plain.b, atol=1e-3)
    np.testing.assert_allclose(facet.b_se, plain.b_se, atol=1e-3)
    assert facet.log_likelihood == pytest.approx(plain.log_likelihood, abs=0.02)


def test_the_spread_between_models_is_recovered_with_three_raters_a_model() -> None:
    found = []
    for seed in range(4):
        rng = np.random.default_rng([17, seed])
        x = simulate_testlet(rng, n_raters=17, n_items=800, n_testlets=80, n_models=6, sd_u=0.3, sd_v=0.7)
        fit = testlet_facet.fit_testlet_facet(x.responses, x.item_testlet, x.rater_model)
        assert fit.is_converged
        found.append(fit.sd_v)
    assert np.mean(found) == pytest.approx(0.7, abs=0.07)  # by Laplace's method throughout it is .51


@pytest.mark.parametrize(("n_iterations", "is_top"), [(1000, True), (2, False)])
def test_a_search_ended_by_rounding_is_judged_by_the_gain_in_sight(rng, monkeypatch, n_iterations, is_top) -> None:
    # 17 x 5000: the line search finds no rise beyond rounding, 1e-6 below the maximum, and calls that a failure
    def failing(*arguments, options, **named):
        found = minimize(*arguments, options={**options, "maxiter": n_iterations}, **named)
        found.success = False
        return found

    responses, of_item, model, _ = simulate(rng, n_items=60)
    whole = testlet_facet.fit_testlet_facet(responses, of_item, model)
    monkeypatch.setattr(testlet_facet_search, "minimize", failing)
    cut = testlet_facet.fit_testlet_facet(responses, of_item, model)
    assert cut.is_converged is is_top
    near = [abs(getattr(cut, name) - getattr(whole, name)) < 1e-3 for name in ("sd_theta", "sd_b", "sd_u", "sd_v")]
    assert all(near) is is_top


def test_one_model_is_refused(rng) -> None:
    responses, of_item, _, _ = simulate(rng)
    with pytest.raises(ValueError, match="two models at least"):
        testlet_facet.fit_testlet_facet(responses, of_item, np.zeros(9, dtype=int))


def coverages(n_replicates: int) -> dict[str, float]:
    """Coverage of the drawn difficulties by three kinds of interval, 3 models of 7 raters."""
    covered: dict[str, list[float]] = {"naive": [], "robust": [], "facet": []}
    for seed in range(n_replicates):
        rng = np.random.default_rng([3, 7, seed])
        x = simulate_testlet(rng, n_raters=21, n_items=300, n_testlets=30, n_models=3, sd_u=0.4, sd_v=1.0)
        plain = fit_testlet(x.responses, x.item_testlet)
        robust = cluster_robust_errors(x.responses, x.item_testlet, x.rater_model, plain)
        facet = testlet_facet.fit_testlet_facet(x.responses, x.item_testlet, x.rater_model)
        assert (robust.n_models, facet.n_models) == (3, 3)
        known = np.isfinite(robust.b_se)
        for name, b, half in (
            ("naive", plain.b, 1.96 * plain.b_se),
            ("robust", plain.b, robust.critical * robust.b_se),
            ("facet", facet.b, 1.96 * facet.b_se),
        ):
            covered[name].append(np.mean(np.abs(b - x.b)[known] <= half[known]))
    return {name: float(np.mean(values)) for name, values in covered.items()}


def test_with_three_times_seven_dependent_raters_only_errors_that_know_the_models_cover() -> None:
    found = coverages(3)
    assert found["naive"] < 0.88
    assert found["robust"] > found["naive"] + 0.04
    assert found["facet"] > 0.89


@pytest.mark.slow
def test_coverage_with_three_times_seven_dependent_raters_in_200_replicates() -> None:
    found = coverages(200)
    assert found["naive"] == pytest.approx(0.833, abs=0.01)
    assert found["robust"] == pytest.approx(0.941, abs=0.01)
    assert found["facet"] == pytest.approx(0.936, abs=0.01)  # below .95: three models tell little of sd_v


def test_errors_agree_where_raters_are_independent(rng) -> None:
    responses, of_item, _, _ = simulate(rng, 30, 1, 120, 12, sd_v=0.0, missing=0.05)
    plain = fit_testlet(responses, of_item)
    robust = cluster_robust_errors(responses, of_item, np.arange(30), plain)
    middle = ~plain.is_extreme_item
    # the sandwich leaves the prior's part of the error out, so that it is smaller by the shrinkage
    assert np.median(robust.b_se[middle] / plain.b_se[middle]) == pytest.approx(0.93, abs=0.1)
    one = cluster_robust_errors(responses, of_item, np.zeros(30, dtype=int), plain)
    assert np.isnan(one.b_se).all()
