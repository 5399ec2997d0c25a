"""Many-facet Rasch model: nested models, gradient, recovery at size, what cannot be estimated."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import minimize
from scipy.stats import norm

from analytics.irt.facets import Steps, fit_facets, ratings_from_labels
from analytics.irt.facets_likelihood import Layout, evaluate_facets, observed_information, person_scores
from analytics.irt.facets_result import Ratings
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.quadrature import normal_grid
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from tests.analytics.irt.simulate import draw, some_items


def simulated(rng: np.random.Generator, n_persons: int, n_raters: int, each: int) -> tuple[Ratings, np.ndarray]:
    n_items = 3
    severity = rng.normal(scale=0.6, size=n_raters)
    severity -= severity.mean()
    theta, difficulty, steps = rng.normal(scale=1.2, size=n_persons), np.linspace(-0.5, 0.5, n_items), [-1.0, 0.0, 1.0]
    person = np.repeat(np.arange(n_persons), each * n_items)
    rater = np.repeat(np.concatenate([rng.choice(n_raters, each, replace=False) for _ in range(n_persons)]), n_items)
    item = np.tile(np.arange(n_items), n_persons * each)
    eta = theta[person] - severity[rater] - difficulty[item]
    logs = eta[:, None] * np.arange(4) - np.concatenate([[0.0], np.cumsum(steps)])
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    value = np.sum(rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1], axis=1)
    names = {"item": [f"i{k}" for k in item], "rater": [f"r{k:03d}" for k in rater]}
    return ratings_from_labels(person.tolist(), names, value), severity


def test_one_facet_is_the_rasch_and_the_partial_credit_model(rng: np.random.Generator) -> None:
    for family, steps, reference in (
        ("logistic", "common", fit_rasch),
        ("partial_credit", "first_facet", fit_partial_credit),
    ):
        values = draw(some_items(family, 4, rng), rng.normal(size=150), rng, missing=0.1)
        rows, columns = np.nonzero(~np.isnan(values))
        found = fit_facets(
            ratings_from_labels(rows.tolist(), {"item": columns.tolist()}, values[rows, columns]),
            steps=steps,  # type: ignore[arg-type]
        )
        expected = reference(responses_from_matrix(values))
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-5)
        order = np.argsort([int(label) for label in found.facets[0].level_ids])
        mean = np.nanmean(expected.items.thresholds, axis=1)
        np.testing.assert_allclose(found.facets[0].estimate[order], mean, atol=1e-3)
        assert found.sd_theta == pytest.approx(expected.sd_theta, abs=1e-3)
        assert found.n_parameters == expected.n_parameters


def test_gradient_and_integral_of_two_facets(rng: np.random.Generator) -> None:
    ratings, _ = simulated(rng, 12, 4, 2)
    layout = Layout.build(
        persons=ratings.persons,
        codes=ratings.codes,
        values=ratings.values,
        n_persons=12,
        n_levels=(3, 4),
        has_own_steps=False,
    )
    rule = normal_grid(0.1)
    vector = rng.normal(scale=0.4, size=3 + 4 + layout.n_steps + 1)
    point = evaluate_facets(layout, vector, rule.nodes, rule.log_weights)
    np.testing.assert_allclose(person_scores(layout, point).sum(axis=0), point.gradient, atol=1e-10)
    for i in range(len(vector)):
        near = np.zeros_like(vector)
        near[i] = 1e-5
        up, down = (evaluate_facets(layout, vector + s * near, rule.nodes, rule.log_weights) for s in (1, -1))
        slope = (up.log_likelihood - down.log_likelihood) / 2e-5
        assert point.gradient[i] == pytest.approx(slope, abs=1e-5)
    theta = np.linspace(-9, 9, 4001)
    total = 0.0
    cumulative = np.concatenate([[0.0], np.cumsum(vector[7:-1])])
    for person in range(12):
        joint = norm.pdf(theta)
        for n in np.flatnonzero(ratings.persons == person):
            eta = np.exp(vector[-1]) * theta - vector[ratings.codes[0, n]] - vector[3 + ratings.codes[1, n]]
            logs = eta[:, None] * np.arange(len(cumulative)) - cumulative
            joint = joint * np.exp(logs[:, ratings.values[n]] - np.log(np.exp(logs).sum(axis=1)))
        total += np.log(simpson(joint, x=theta))
    assert point.log_likelihood == pytest.approx(total, abs=1e-7)


def test_an_independent_optimiser_finds_the_same_maximum(rng: np.random.Generator) -> None:
    ratings, _ = simulated(rng, 25, 4, 2)
    fit = fit_facets(ratings)
    nodes = np.linspace(-7, 7, 141)
    weights = norm.pdf(nodes) / norm.pdf(nodes).sum()
    n_levels = [len(facet.level_ids) for facet in fit.facets]
    n_steps = int(ratings.values.max())

    def negative(x: np.ndarray) -> float:
        # item places and rater severities with free mean of the first facet alone; steps sum to 0; no gradient
        item, free, steps = np.split(x[:-1], np.cumsum([n_levels[0], n_levels[1] - 1]))
        severity, step = np.append(free, -free.sum()), np.append(steps, -steps.sum())
        eta = np.exp(x[-1]) * nodes - (item[ratings.codes[0]] + severity[ratings.codes[1]])[:, None]
        logs = eta[:, :, None] * np.arange(n_steps + 1) - np.concatenate([[0.0], np.cumsum(step)])
        logs = logs[np.arange(len(logs)), :, ratings.values] - np.log(np.exp(logs).sum(axis=2))
        by_person = np.zeros((len(fit.person_ids), len(nodes)))
        np.add.at(by_person, ratings.persons, logs)
        return -float(np.log(np.exp(by_person) @ weights).sum())

    start = np.zeros(n_levels[0] + n_levels[1] - 1 + n_steps - 1 + 1)
    found = minimize(negative, start, method="BFGS", options={"gtol": 1e-6})
    assert -found.fun == pytest.approx(fit.log_likelihood, abs=1e-6)
    severity = found.x[n_levels[0] : n_levels[0] + n_levels[1] - 1]
    np.testing.assert_allclose(fit.facets[1].estimate[:-1], severity, atol=1e-3)
    assert fit.sd_theta == pytest.approx(np.exp(found.x[-1]), abs=1e-3)


def test_severity_is_recovered_by_index_and_order_does_not_matter(rng: np.random.Generator) -> None:
    # TAM "Design matrix creation takes over a week": 2000 comments x 300 raters x 3 items, 4 raters each
    ratings, severity = simulated(rng, 2000, 300, 4)
    tracemalloc.start()
    fit = fit_facets(ratings, tolerance=1e-4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # some ten numbers a rating, and the information of 306 parameters a few times; a design matrix has 59 MB
    assert peak < 30 * 8 * len(ratings.values) + 12 * 8 * fit.n_parameters**2
    raters = fit.facets[1]
    truth = severity[[int(label[1:]) for label in raters.level_ids]]
    assert fit.is_converged
    assert fit.findings == ()
    z = (raters.estimate - truth) / raters.se
    assert 0.85 < z.std() < 1.15  # of 300: standard error .04
    assert raters.estimate.sum() == pytest.approx(0.0, abs=1e-9)
    mixed = rng.permutation(len(ratings.values))
    again = fit_facets(
        Ratings(
            ratings.person_ids,
            ratings.persons[mixed],
            ratings.facets,
            ratings.level_ids,
            ratings.codes[:, mixed],
            ratings.values[mixed],
        ),
        se_method="none",
        tolerance=1e-4,
    )
    np.testing.assert_allclose(again.facets[1].estimate, raters.estimate, atol=1e-3)


@pytest.mark.parametrize("steps", ["common", "first_facet"])
def test_permuting_persons_and_relabelling_raters_permutes_the_result(rng: np.random.Generator, steps: Steps) -> None:
    ratings, _ = simulated(rng, 120, 6, 3)
    fit = fit_facets(ratings, steps=steps)
    assert fit.is_converged
    people, items, raters = rng.permutation(120), rng.permutation(3), rng.permutation(6)  # old position to new
    order = rng.permutation(len(ratings.values))
    names = (tuple(f"item {k}" for k in range(3)), tuple(f"rater {k}" for k in range(6)))
    again = fit_facets(
        Ratings(
            tuple(f"person {k}" for k in range(120)),
            people[ratings.persons[order]],
            ratings.facets,
            names,
            np.stack([items[ratings.codes[0, order]], raters[ratings.codes[1, order]]]),
            ratings.values[order],
        ),
        steps=steps,
    )
    assert again.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-7)
    for one, other, moved in zip(fit.facets, again.facets, (items, raters), strict=True):
        np.testing.assert_allclose(other.estimate[moved], one.estimate, atol=1e-4)
        np.testing.assert_allclose(other.se[moved], one.se, atol=1e-4)
        np.testing.assert_array_equal(other.n_ratings[moved], one.n_ratings)
    np.testing.assert_allclose(again.steps if steps == "common" else again.steps[items], fit.steps, atol=1e-4)
    np.testing.assert_allclose(again.theta[people], fit.theta, atol=1e-4)
    np.testing.assert_allclose(again.theta_se[people], fit.theta_se, atol=1e-4)
    np.testing.assert_array_equal(again.person_score[people], fit.person_score)
    assert again.sd_theta == pytest.approx(fit.sd_theta, abs=1e-4)


@pytest.mark.parametrize("has_own_steps", [False, True])
def test_the_information_is_the_derivative_of_the_gradient(rng: np.random.Generator, has_own_steps: bool) -> None:
    ratings, _ = simulated(rng, 20, 5, 3)
    layout = Layout.build(
        persons=ratings.persons,
        codes=ratings.codes,
        values=ratings.values,
        n_persons=len(ratings.person_ids),
        n_levels=tuple(map(len, ratings.level_ids)),
        has_own_steps=has_own_steps,
    )
    vector = 0.5 * rng.normal(size=layout.basis().shape[0])
    rule = normal_grid(0.2)
    found = observed_information(layout, vector, rule.nodes, rule.log_weights)
    columns = []
    for step in 1e-5 * np.eye(len(vector)):
        above, below = (
            evaluate_facets(layout, vector + s, rule.nodes, rule.log_weights).gradient for s in (step, -step)
        )
        columns.append(-(above - below) / 2e-5)
    np.testing.assert_allclose(found, np.array(columns), atol=1e-6)


def test_observed_and_crossed_errors_agree(rng: np.random.Generator) -> None:
    ratings, _ = simulated(rng, 500, 5, 3)
    observed, crossed = (fit_facets(ratings, se_method=m) for m in ("observed", "cross_product"))  # type: ignore[arg-type]
    np.testing.assert_allclose(observed.facets[1].se, crossed.facets[1].se, rtol=0.2)
    np.testing.assert_allclose(observed.sd_theta_se, crossed.sd_theta_se, rtol=0.2)


def test_extremes_gaps_and_blocks_are_named() -> None:
    persons = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    raters = ["mild", "b", "mild", "b", "mild", "b", "x", "y", "x", "y"]
    grades = [3, 0, 3, 1, 3, 3, 0, 1, 1, 0]
    fit = fit_facets(ratings_from_labels(persons, {"rater": raters}, grades), se_method="none")
    mild = fit.facets[0].level_ids.index("mild")
    assert np.isnan(fit.facets[0].estimate[mild])
    assert "lenient" in fit.facets[0].reason[mild]
    assert {"constant_items", "unused_categories", "disconnected"} <= {f.kind for f in fit.findings}
    assert fit.scores == (0, 1, 3)


def said_of(persons, facets, values):
    fit = fit_facets(ratings_from_labels(persons.tolist(), {k: v.tolist() for k, v in facets.items()}, values))
    return fit, {finding.kind: finding.message for finding in fit.findings}


def test_raters_who_share_no_person_are_named_whatever_items_they_share(rng: np.random.Generator) -> None:
    person = np.repeat(np.arange(60), 5)
    item, theta = np.tile(np.arange(5), 60), rng.normal(size=60)
    values = (rng.random(300) < 1 / (1 + np.exp(item / 2 - 1 - theta[person]))).astype(float)
    _, said = said_of(person, {"item": item, "rater": person % 2}, values)
    assert said["disconnected"].startswith("the levels of rater fall into 2 blocks that share no person")
    _, said = said_of(person, {"item": item, "rater": (person + item) % 2}, values)
    assert "disconnected" not in said


def test_an_ability_without_limit_or_without_variance_is_no_plain_result() -> None:
    person = np.repeat(np.arange(40), 4)
    sorts = {"item": np.tile([0, 0, 1, 1], 40), "rater": np.tile([0, 1], 80)}
    fit, said = said_of(person, sorts, (person % 2).astype(float))
    assert not fit.is_converged
    assert "no finite maximum" in fit.message
    assert "no finite maximum" in said["boundary"]
    assert np.isnan(fit.facets[0].se).all()

    pair, item = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    fit, said = said_of(pair, {"item": item}, ((pair + item) % 2).astype(float))
    assert (fit.sd_theta, set(fit.theta.tolist())) == (0.0, {0.0})
    assert np.isnan(fit.theta_se).all()
    assert "boundary, 0" in said["boundary"]

    one = np.arange(30)
    fit, said = said_of(one, {"item": 0 * one}, (one % 3).astype(float))
    assert "not identified" in said["information"]
    assert np.isnan(fit.facets[0].se).all()


def test_bad_ratings_are_refused() -> None:
    with pytest.raises(ValueError, match="half points"):
        ratings_from_labels([1], {"rater": ["a"]}, [0.5])
    with pytest.raises(ValueError, match="label"):
        ratings_from_labels([1, 2], {"rater": ["a"]}, [0, 1])
    with pytest.raises(ValueError, match="two different grades"):
        fit_facets(ratings_from_labels([1, 2], {"rater": ["a", "b"]}, [1, 1]))
