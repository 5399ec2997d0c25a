"""The marginal testlet fit with fixed items: both integrations against references and brute force."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analytics.irt import testlet_marginal
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from analytics.irt.testlet_marginal_laplace import LaplaceMarginal
from analytics.irt.testlet_marginal_quadrature import QuadratureMarginal
from analytics.irt.testlet_pack import pack_cells

RESPONSES = np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, np.nan, 0, 1], [0, 0, 1, 0, 0, 1], [1, 1, 1, 1, 1, 0]])
OF_ITEM = np.array([0, 1, 0, 1, 0, 1])
X = np.array([0.3, -0.5, 0.2, 0.1, 1.0, -1.2, np.log(0.9), np.log(0.7)])


def both(responses=RESPONSES, of_item=OF_ITEM, n_nodes=15):
    cells = pack_cells(responses, of_item, of_item.max() + 1, np.ones(len(responses)))
    return {"laplace": LaplaceMarginal(cells), "gauss_hermite": QuadratureMarginal(cells, responses, n_nodes)}


@pytest.mark.parametrize("method", ["laplace", "gauss_hermite"])
def test_gradient_equals_finite_differences(method) -> None:
    marginal, step = both()[method], 1e-5
    numeric = [
        (marginal.value_and_gradient(X + e)[0] - marginal.value_and_gradient(X - e)[0]) / (2 * step)
        for e in step * np.eye(X.size)
    ]
    np.testing.assert_allclose(marginal.value_and_gradient(X)[1], numeric, atol=1e-7)


def test_nested_rule_equals_a_brute_force_grid() -> None:
    grid = np.linspace(-8, 8, 81)
    weight = np.exp(-(grid**2) / 2)
    weight /= weight.sum()
    order = np.argsort(OF_ITEM, kind="stable")
    b, of_item, responses = X[:-2], OF_ITEM[order], RESPONSES[:, order]
    theta, u0, u1 = np.meshgrid(0.9 * grid, 0.7 * grid, 0.7 * grid, indexing="ij")
    volume = weight[:, None, None] * weight[:, None] * weight
    total = 0.0
    for row in responses:
        like = volume.copy()
        for j in np.flatnonzero(~np.isnan(row)):
            p = expit(theta + (u0, u1)[of_item[j]] - b[j])
            like *= p if row[j] else 1 - p
        total += np.log(like.sum())
    assert both()["gauss_hermite"].value_and_gradient(X)[0] == pytest.approx(total, abs=1e-6)


def test_laplace_is_close_and_below_where_testlets_are_short() -> None:
    found = {name: marginal.value_and_gradient(X)[0] for name, marginal in both().items()}
    assert found["laplace"] == pytest.approx(found["gauss_hermite"], abs=0.1)
    assert found["laplace"] < found["gauss_hermite"]


@pytest.mark.parametrize("method", ["laplace", "gauss_hermite"])
def test_an_independent_optimiser_finds_the_same_maximum(rng, method) -> None:
    of_item = np.arange(8) % 2
    logit = rng.normal(size=(120, 1)) + rng.normal(0, 0.8, (120, 2))[:, of_item] - rng.normal(0, 1, 8)
    responses = (rng.random((120, 8)) < expit(logit)).astype(float)
    fit = testlet_marginal.fit_testlet_marginal(responses, of_item, method=method, n_nodes=15)
    marginal = both(responses, of_item)[method]
    start = np.append(np.zeros(8), [0.1, -0.3])
    found = minimize(
        lambda x: tuple(-part for part in marginal.value_and_gradient(x)), start, jac=True, method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-8, "maxiter": 2000},
    )  # fmt: skip
    assert fit.is_converged
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-6)
    np.testing.assert_allclose(fit.b[np.argsort(of_item, kind="stable")], found.x[:-2], atol=1e-4)


def test_items_answered_alike_are_infinite_and_move_nothing() -> None:
    wider = np.column_stack([RESPONSES, np.ones(4), np.zeros(4)])
    plain = testlet_marginal.fit_testlet_marginal(RESPONSES, OF_ITEM, n_nodes=15)
    fit = testlet_marginal.fit_testlet_marginal(wider, np.append(OF_ITEM, [1, 2]), n_nodes=15)
    assert (fit.b[6], fit.b[7]) == (-np.inf, np.inf)
    assert fit.is_extreme_item.tolist() == [False] * 6 + [True, True]
    np.testing.assert_allclose(fit.b[:6], plain.b, atol=1e-9)


def test_nothing_to_estimate_and_unknown_methods_are_refused() -> None:
    with pytest.raises(ValueError, match="no difficulty is finite"):
        testlet_marginal.fit_testlet_marginal(np.ones((3, 2)), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"unknown method 'mcmc'; expected one of \('laplace', 'gauss_hermite'\)"):
        testlet_marginal.fit_testlet_marginal(RESPONSES, OF_ITEM, method="mcmc")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def verbal_aggression(data_dir):
    """VerbAgg: 316 persons, 24 items in 4 situations, with the stored lme4 estimates."""
    folder = data_dir / "irt_classic"
    long = pl.read_csv(folder / "lme4_VerbAgg_long.csv", infer_schema_length=0)
    items = long["item"].unique(maintain_order=True).to_list()
    persons = long["id"].unique(maintain_order=True).to_list()
    responses = np.full((len(persons), len(items)), np.nan)
    row = [persons.index(person) for person in long["id"]]
    column = [items.index(item) for item in long["item"]]
    responses[row, column] = (long["r2"] == "Y").to_numpy()
    stored = pl.read_csv(folder / "reference_estimates.csv", infer_schema_length=0).filter(
        (pl.col("dataset") == "lme4_VerbAgg_long") & pl.col("model").str.contains("testlet")
    )
    modes = pl.read_csv(folder / "ref_lme4_VerbAgg_long_testlet_theta.csv", infer_schema_length=0)
    return persons, items, responses, stored, modes


def test_laplace_equals_lme4_on_verbal_aggression(verbal_aggression) -> None:
    persons, items, responses, stored, modes = verbal_aggression
    of_item = np.array([int(item[1]) - 1 for item in items])
    fit = testlet_marginal.fit_testlet_marginal(responses, of_item, method="laplace")
    value = {row["parameter"]: row for row in stored.iter_rows(named=True)}
    assert fit.log_likelihood == pytest.approx(-3965.68, abs=5e-3)
    assert fit.log_likelihood == pytest.approx(float(value["logLik"]["estimate"]), abs=2e-3)
    assert fit.sd_theta == pytest.approx(1.477, abs=5e-3)
    assert fit.sd_u == pytest.approx(0.910, abs=5e-3)
    np.testing.assert_allclose(fit.b, [float(value[f"b:{item}"]["estimate"]) for item in items], atol=5e-3)
    np.testing.assert_allclose(fit.b_se, [float(value[f"b:{item}"]["se"]) for item in items], atol=5e-3)
    mode = dict(zip(modes["id"], modes["theta_mode"].cast(pl.Float64), strict=True))
    np.testing.assert_allclose(fit.theta, [mode[person] for person in persons], atol=1e-2)


@pytest.fixture(scope="module")
def without_testlets(data_dir, verbal_aggression):
    """VerbAgg with a variance for persons alone: items, responses, and lme4's b, its errors, sd and log-likelihood."""
    _, items, responses, _, _ = verbal_aggression
    stored = pl.read_csv(data_dir / "irt_classic" / "reference_estimates.csv", infer_schema_length=0).filter(
        (pl.col("dataset") == "lme4_VerbAgg_long") & (pl.col("model") == "1PL random-person (glmer Laplace)")
    )
    assert stored.height == 26
    value = {row["parameter"]: row for row in stored.iter_rows(named=True)}
    b, b_se = (np.array([float(value[f"b:{item}"][column]) for item in items]) for column in ("estimate", "se"))
    return responses, b, b_se, float(value["sd:theta"]["estimate"]), float(value["logLik"]["estimate"])


def test_laplace_without_testlet_effects_equals_lme4_on_verbal_aggression(without_testlets) -> None:
    # the estimator of `glmer(r2 ~ 0 + item + (1 | id))`: items fixed, theta by Laplace; sd_u is held at (nearly) 0
    responses, b, b_se, sd_theta, log_likelihood = without_testlets
    cells = pack_cells(responses, np.zeros(24, dtype=int), 1, np.ones(len(responses)))
    marginal, step = LaplaceMarginal(cells), 1e-4

    def negative(x):
        value, gradient = marginal.value_and_gradient(np.append(x, np.log(1e-4)))
        return -value, -gradient[:-1]

    found = minimize(negative, np.zeros(25), jac=True, method="BFGS", options={"gtol": 1e-4})
    columns = [negative(found.x + e)[1] - negative(found.x - e)[1] for e in step * np.eye(25)]
    errors = np.sqrt(np.diag(np.linalg.inv(np.array(columns) / (2 * step))))
    np.testing.assert_allclose(found.x[:-1], b[cells.order], atol=5e-3)
    np.testing.assert_allclose(errors[:-1], b_se[cells.order], atol=5e-3)
    assert np.exp(found.x[-1]) == pytest.approx(sd_theta, abs=5e-3)
    # lme4's value is 0.006 below the same expansion at its own estimates, which is worked out here once more
    theta = np.zeros(len(responses))
    for _ in range(30):
        p = expit(theta[:, None] - b)
        curvature = np.sum(p * (1 - p), axis=1) + sd_theta**-2
        theta += (np.sum(responses - p, axis=1) - theta / sd_theta**2) / curvature
    logit = theta[:, None] - b
    at_lme4 = np.sum(responses * logit - np.logaddexp(0, logit))
    at_lme4 -= np.sum(theta**2 / sd_theta**2 + np.log(curvature * sd_theta**2)) / 2
    assert -negative(np.append(b[cells.order], np.log(sd_theta)))[0] == pytest.approx(at_lme4, abs=1e-6)
    assert -found.fun == pytest.approx(log_likelihood, abs=1e-2)


def test_the_marginal_rasch_fit_is_near_lme4_on_verbal_aggression(without_testlets) -> None:
    # not the same estimator: theta by quadrature, whose likelihood is 2.35 higher; 24 items hide that from b
    responses, b, b_se, _, log_likelihood = without_testlets
    fit = fit_rasch(responses_from_matrix(responses))
    np.testing.assert_allclose(fit.items.thresholds[:, 0], b, atol=5e-3)
    np.testing.assert_allclose(fit.thresholds_se[:, 0], b_se, atol=5e-3)
    assert fit.log_likelihood == pytest.approx(log_likelihood + 2.35, abs=0.01)


def test_gauss_hermite_on_verbal_aggression_is_the_higher_maximum(verbal_aggression) -> None:
    _, items, responses, _, _ = verbal_aggression
    of_item = np.array([int(item[1]) - 1 for item in items])
    fit = testlet_marginal.fit_testlet_marginal(responses, of_item, method="gauss_hermite", n_nodes=41)
    assert fit.log_likelihood == pytest.approx(-3953.05, abs=5e-3)
    assert fit.sd_theta == pytest.approx(1.495, abs=5e-3)
    assert fit.sd_u == pytest.approx(0.971, abs=5e-3)
    assert fit.is_converged


@pytest.mark.parametrize(("of_item", "said"), [([0] * 6, "one testlet only"), (range(6), "every testlet has one item")])
def test_effects_that_no_data_can_show_are_refused(rng, of_item, said) -> None:
    responses = (rng.random((40, 6)) < 0.5).astype(float)
    with pytest.raises(ValueError, match=f"{said}.*fit the Rasch model"):
        testlet_marginal.fit_testlet_marginal(responses, np.array(of_item))
