"""The penalised testlet fit, its mathematics: mode, information, marginal likelihood, invariances."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt import testlet, testlet_variances
from analytics.irt.testlet_cells import cell_sums, log_likelihood
from analytics.irt.testlet_laplace import information
from analytics.irt.testlet_laplace_items import information_by_items
from analytics.irt.testlet_mode import find_mode
from analytics.irt.testlet_pack import pack_cells
from analytics.irt.testlet_point import Point, Scales, gradient, penalty, start_point
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_simulation import simulate_testlet

N, J, T = 9, 30, 6
SCALES = Scales(theta=1.1, b=1.4, u=0.7)
TIGHT = {"tolerance": 1e-11, "max_iterations": 2000}


def simulate(rng, n=N, j=J, t=T, **how):
    return simulate_testlet(rng, n_raters=n, n_items=j, n_testlets=t, **{"sd_u": 0.7, "missing": 0.2} | how)


def drawn(rng, n=N, j=J, t=T, **how):
    x = simulate(rng, n, j, t, **how)
    return x.responses, x.item_testlet


def packed(responses, of_item, weight=None):
    return pack_cells(responses, of_item, of_item.max() + 1, np.ones(len(responses)) if weight is None else weight)


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("is_weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_packed_sums_are_those_of_the_table(rng, is_sorted, is_weighted, dtype) -> None:
    of_item = np.repeat(np.arange(18), np.arange(18))  # testlets of 0 to 17 items
    of_item = of_item if is_sorted else rng.permutation(of_item)
    y = rng.integers(0, 2, (40, of_item.size))
    weight = rng.uniform(0.5, 2, 40) if is_weighted else np.ones(40)
    cells = packed(y.astype(dtype), of_item, weight)
    np.testing.assert_array_equal(cells.right_rt, np.stack([y[:, of_item == t].sum(axis=1) for t in range(18)]))
    np.testing.assert_allclose(cells.right_item, (weight @ y)[cells.order], rtol=1e-14)
    assert cells.observed.size == 0


def objective(cells, scales, x):
    n, t, j = cells.weight.size, cells.n_testlets, cells.n_item.size
    theta, u, b = x[:n], x[n : n + t * n].reshape(t, n), x[n + t * n : -1]
    point = Point(theta, u, b, float(x[-1]))
    value = penalty(cells, scales, point) - log_likelihood(cells, point.b, point.s)
    g = gradient(cells, scales, point, cell_sums(cells, point.b, point.s))
    assert j == b.size
    return value, np.concatenate([g.theta, g.u.ravel(), g.b, [g.mean_b]])


def flat(point):
    return np.concatenate([point.theta, point.u.ravel(), point.b, [point.mean_b]])


def test_gradient_equals_finite_differences(rng) -> None:
    responses, of_item = drawn(rng)
    cells = packed(responses, of_item)
    x = rng.normal(0, 0.7, N + T * N + J + 1)
    step = 1e-5  # central differences: error of the order of step squared, 1e-10
    numeric = [
        (objective(cells, SCALES, x + e)[0] - objective(cells, SCALES, x - e)[0]) / (2 * step)
        for e in step * np.eye(x.size)
    ]
    np.testing.assert_allclose(objective(cells, SCALES, x)[1], numeric, atol=1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_an_independent_optimiser_finds_the_same_mode(rng, missing) -> None:
    responses, of_item = drawn(rng, missing=missing)
    cells = packed(responses, of_item)
    found = minimize(
        lambda x: objective(cells, SCALES, x), np.zeros(N + T * N + J + 1), jac=True, method="BFGS",
        options={"gtol": 1e-8},
    )  # fmt: skip
    ours = find_mode(cells, SCALES, start_point(cells), **TIGHT)
    assert ours.is_converged
    np.testing.assert_allclose(flat(ours.point), found.x, atol=1e-6)


def test_log_likelihood_is_the_sum_over_observed_cells(rng) -> None:
    x = simulate(rng)
    responses, of_item, theta, b, u = x.responses, x.item_testlet, x.theta, x.b, x.u
    cells = packed(responses, of_item)
    logit = theta[:, None] + u[:, of_item] - b
    by_hand = np.nansum(np.where(responses == 1, -np.logaddexp(0, -logit), -np.logaddexp(0, logit)) + 0 * responses)
    assert log_likelihood(cells, b[cells.order], theta + u.T) == pytest.approx(by_hand, abs=1e-10)


def dense_hessian(cells, responses, of_item, scales, point):
    n, t, j = cells.weight.size, cells.n_testlets, cells.n_item.size
    rank = np.argsort(cells.order)
    hessian = np.zeros((n + t * n + j + 1,) * 2)
    for i in range(n):
        for item in range(j):
            if np.isnan(responses[i, item]):
                continue
            p = expit(point.theta[i] + point.u[of_item[item], i] - point.b[rank[item]])
            direction = np.zeros(hessian.shape[0])
            direction[[i, n + of_item[item] * n + i]] = 1.0
            direction[n + t * n + rank[item]] = -1.0
            hessian += p * (1 - p) * np.outer(direction, direction)
    prior = [np.full(n, scales.theta_precision), np.full(t * n, scales.u_precision), np.full(j, scales.b_precision)]
    hessian[np.diag_indices_from(hessian)] += np.concatenate([*prior, [j * scales.b_precision]])
    hessian[n + t * n : -1, -1] -= scales.b_precision
    hessian[-1, n + t * n : -1] -= scales.b_precision
    return hessian


@pytest.mark.parametrize("eliminate", [information, information_by_items])
def test_standard_errors_and_determinant_equal_the_dense_inverse(rng, eliminate) -> None:
    responses, of_item = drawn(rng)
    cells = packed(responses, of_item)
    point = find_mode(cells, SCALES, start_point(cells), **TIGHT).point
    found = eliminate(cells, SCALES, point)
    hessian = dense_hessian(cells, responses, of_item, SCALES, point)
    variance = np.diag(np.linalg.inv(hessian))
    ours = np.concatenate([found.var_theta, found.var_u.ravel(), found.var_b, [found.var_mean_b]])
    np.testing.assert_allclose(ours, variance, rtol=1e-10)
    with_scales = np.linalg.slogdet(hessian)[1] / 2
    with_scales += N * np.log(SCALES.theta) + T * N * np.log(SCALES.u) + J * np.log(SCALES.b)
    assert found.half_log_determinant == pytest.approx(with_scales, abs=1e-9)


@pytest.mark.parametrize("shape", [(9, 30), (40, 12)])
def test_marginal_gradient_equals_finite_differences_in_both_orders(rng, shape) -> None:
    responses, of_item = drawn(rng, *shape)
    cells = packed(responses, of_item)
    options = Options(sd_theta=1.1, sd_b=1.4, sd_u=0.7)

    def solve(x):
        return testlet_variances.solve(cells, Scales(*np.exp(x)), options, None)

    x = np.log([1.1, 1.4, 0.7])
    step = 1e-4
    numeric = [(solve(x + e).marginal - solve(x - e).marginal) / (2 * step) for e in step * np.eye(3)]
    assert solve(x).information.gradient == pytest.approx(numeric, abs=1e-5)


def test_both_orders_agree_without_testlet_effects(rng) -> None:
    responses, of_item = drawn(rng)
    cells, scales = packed(responses, of_item), Scales(1.0, 1.3, 0.0)
    point = find_mode(cells, scales, start_point(cells), **TIGHT).point
    first, second = information(cells, scales, point), information_by_items(cells, scales, point)
    np.testing.assert_allclose(first.var_b, second.var_b, rtol=1e-11)
    np.testing.assert_allclose(first.gradient, second.gradient, atol=1e-10)
    assert np.all(first.var_u == 0)


@pytest.mark.parametrize("sd_u", [0.0, 0.7])
def test_both_orders_agree_on_weights(rng, sd_u) -> None:
    responses, of_item = drawn(rng)
    weight = np.linspace(0.5, 7.0, N)
    cells, scales = pack_cells(responses, of_item, T, weight), Scales(1.0, 1.3, sd_u)
    point = find_mode(cells, scales, start_point(cells), **TIGHT).point
    first, second = information(cells, scales, point), information_by_items(cells, scales, point)
    for name in ("var_theta", "var_u", "var_b", "var_mean_b", "half_log_determinant"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(first.gradient, second.gradient, atol=1e-9)


def exact_marginal(responses, of_item, scales, n_nodes):
    """Marginal likelihood of a 4 x 6 case, two testlets of three items, by quadrature over theta, u, b and the mean.

    Given b, raters are independent; a rater's integral over theta has a factor per testlet, which is an integral
    over u. For every node of theta and every triple of b nodes that factor is tabulated; the rest is matrix products.
    The mean of b has a flat prior: a fine equally spaced grid.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / weights.sum()
    triples = np.array(np.meshgrid(nodes, nodes, nodes, indexing="ij")).reshape(3, -1)
    triple_weight = np.prod(np.array(np.meshgrid(weights, weights, weights, indexing="ij")).reshape(3, -1), axis=0)
    grid = np.linspace(-7.0, 7.0, 71)
    values = []
    for mean in grid:
        b = mean + scales.b * triples
        like = np.ones((triple_weight.size, triple_weight.size))
        for row in responses:
            factors = []
            for t in (0, 1):
                y = row[of_item == t]
                s = scales.theta * nodes[:, None] + scales.u * nodes
                p = expit(s[:, :, None, None] - b)
                cell = np.prod(np.where(y[:, None] == 1, p, 1 - p), axis=2)
                factors.append(np.einsum("l,klm->km", weights, cell))
            like *= (factors[0] * weights[:, None]).T @ factors[1]
        values.append(triple_weight @ like @ triple_weight)
    return float(np.log(np.sum(values) * (grid[1] - grid[0])))


@pytest.fixture
def tiny():
    responses = np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 0, 1], [0, 0, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0]], dtype=float)
    return responses, np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("sd", "n_nodes", "tolerance"),
    # Laplace drops the fourth-order terms of the log posterior. For the flat mean of 24 responses alone they are about
    # 1 / (8 * 24 * .24), .02; they grow with the effects' variances, since 24 cells hardly determine 18 effects.
    [(0.1, 5, 0.025), (0.3, 5, 0.06), (1.0, 7, 0.4)],
)
def test_laplace_marginal_against_brute_force_quadrature(tiny, sd, n_nodes, tolerance) -> None:
    responses, of_item = tiny
    scales = Scales(sd, sd, 0.8 * sd)
    fit = testlet.fit_testlet(responses, of_item, Options("given", scales.theta, scales.b, scales.u, tolerance=1e-10))
    exact = exact_marginal(responses, of_item, scales, n_nodes)
    assert fit.marginal_log_likelihood == pytest.approx(exact, abs=tolerance)


def test_penalised_mode_is_the_highest_point_around_it(tiny, rng) -> None:
    responses, of_item = tiny
    cells = packed(responses, of_item)
    mode = find_mode(cells, SCALES, start_point(cells), **TIGHT)
    best = objective(cells, SCALES, flat(mode.point))[0]
    for size in (1e-3, 0.1, 2.0):
        for _ in range(50):
            assert objective(cells, SCALES, flat(mode.point) + rng.normal(0, size, flat(mode.point).size))[0] > best


def test_shifting_theta_against_u_keeps_the_likelihood_but_not_the_objective(rng) -> None:
    responses, of_item = drawn(rng)
    cells = packed(responses, of_item)
    point = find_mode(cells, SCALES, start_point(cells), **TIGHT).point
    moved = Point(point.theta + 0.5, point.u - 0.5, point.b, point.mean_b)
    assert log_likelihood(cells, moved.b, moved.s) == pytest.approx(log_likelihood(cells, point.b, point.s), abs=1e-9)
    assert penalty(cells, SCALES, moved) > penalty(cells, SCALES, point) + 0.1


def test_shifting_a_testlets_u_against_its_b_keeps_the_likelihood_but_not_the_objective(rng) -> None:
    responses, of_item = drawn(rng)
    cells = packed(responses, of_item)
    point = find_mode(cells, SCALES, start_point(cells), **TIGHT).point
    u, b = point.u.copy(), point.b.copy()
    u[2] += 0.4
    b[cells.starts[2] : cells.starts[3]] += 0.4
    moved = Point(point.theta, u, b, point.mean_b)
    assert log_likelihood(cells, moved.b, moved.s) == pytest.approx(log_likelihood(cells, point.b, point.s), abs=1e-9)
    assert penalty(cells, SCALES, moved) > penalty(cells, SCALES, point) + 0.1
