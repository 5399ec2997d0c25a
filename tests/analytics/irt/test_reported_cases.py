"""Faults reported of other engines, by name: what this one does instead."""

import os
import subprocess
import sys

import numpy as np
import pytest

from analytics.irt.design import components, examine
from analytics.irt.graded import fit_graded
from analytics.irt.logistic import fit_logistic
from analytics.irt.model_spec import MarginalOptions
from analytics.irt.partial_credit import fit_partial_credit
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import first_seen, responses_from_long, responses_from_matrix
from analytics.irt.responses import FloatArray
from tests.analytics.irt.simulate import draw, some_items


def some_binary(rng: np.random.Generator, n: int = 200, items: int = 5) -> FloatArray:
    return draw(some_items("logistic", items, rng), rng.normal(size=n), rng)


def test_3pl_is_the_same_every_time(rng: np.random.Generator) -> None:
    # py-irt "3pl and 4pl parameter instability"
    theta = rng.normal(size=500)
    p = 0.2 + 0.8 / (1 + np.exp(-(theta[:, None] - rng.normal(size=20))))
    data = responses_from_matrix((rng.random((500, 20)) < p).astype(float))
    fits = [fit_logistic(data, irt_model="3pl", lower_prior=(5, 17)) for _ in range(2)]
    assert np.array_equal(fits[0].items.thresholds, fits[1].items.thresholds)
    assert np.all((fits[0].items.lower > 0.02) & (fits[0].items.lower < 0.5))
    assert np.all(fits[0].lower_se > 0)
    assert fits[0].is_converged


@pytest.mark.slow
def test_3pl_recovers_its_lower_asymptote() -> None:
    rng = np.random.default_rng(5)
    theta, b, a = rng.normal(size=8000), np.linspace(-1, 2, 20), rng.lognormal(0.2, 0.2, 20)
    p = 0.2 + 0.8 / (1 + np.exp(-a * (theta[:, None] - b)))
    data = responses_from_matrix((rng.random(p.shape) < p).astype(float))
    fit = fit_logistic(data, irt_model="3pl", lower_prior=(5, 17), options=MarginalOptions(tolerance=1e-4))
    assert np.sqrt(np.mean((fit.items.lower - 0.2) ** 2)) < 0.06
    assert np.corrcoef(fit.items.thresholds[:, 0], b)[0, 1] > 0.98
    assert fit.log_likelihood >= fit_logistic(data, options=MarginalOptions(tolerance=1e-4)).log_likelihood


def test_labels_keep_first_seen_order_in_every_process() -> None:
    # py-irt "Fix randomness caused by set()"
    program = (
        "import numpy as np\n"
        "from analytics.irt.reading import first_seen, responses_from_long\n"
        "from analytics.irt.rasch import fit_rasch\n"
        "ids, codes = first_seen(['b','a','10','2'] * 6)\n"
        "rows = np.repeat(np.arange(6), 4)\n"
        "values = np.random.default_rng(1).integers(0, 2, 24)\n"
        "data = responses_from_long(rows, codes, values, person_ids=range(6), item_ids=ids)\n"
        "print(ids, fit_rasch(data).items.thresholds.tobytes().hex())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("('b', 'a', '10', '2')")
    assert first_seen([7, "007"])[0] == ("7", "007")


def test_null_values_change_nothing_but_themselves(rng: np.random.Generator) -> None:
    # py-irt "Null values in data", girth "np.unique and NaN values"
    values = some_binary(rng)
    values[rng.random(values.shape) < 0.2] = np.nan
    padded = np.full((len(values) + 1, 6), np.nan)
    padded[:-1, :5] = values
    for fit_model in (fit_rasch, fit_logistic, fit_partial_credit, fit_graded):
        plain, wide = fit_model(responses_from_matrix(values)), fit_model(responses_from_matrix(padded))
        assert wide.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
        np.testing.assert_allclose(wide.items.thresholds[:5], plain.items.thresholds, atol=1e-9)
        np.testing.assert_allclose(wide.theta[:-1], plain.theta, atol=1e-9)
        assert np.isnan(wide.theta[-1])
        assert wide.item_reason[5] == "no response"
        assert {"empty_items", "empty_persons"} <= {finding.kind for finding in wide.findings}
    tiny = responses_from_matrix([[1, np.nan, 1, 0], [np.nan, np.nan, np.nan, 1], [0, 1, np.nan, 0]])
    assert tiny.category_counts().sum(axis=1).tolist() == [2.0, 1.0, 1.0, 3.0]


def test_sparse_long_data_takes_memory_for_what_is_observed(rng: np.random.Generator) -> None:
    # girth "Sparse data", "what is proper choice for sparse response": 10 million cells, of which 25 thousand observed
    n, items, each = 5000, 2000, 5
    theta, b = rng.normal(size=n), rng.normal(size=items)
    rows = np.repeat(np.arange(n), each)
    columns = np.concatenate([rng.choice(items, each, replace=False) for _ in range(n)])
    values = (rng.random(n * each) < 1 / (1 + np.exp(b[columns] - theta[rows]))).astype(float)
    data = responses_from_long(rows, columns, values, person_ids=range(n), item_ids=range(items))
    held = data.indptr.nbytes + data.items.nbytes + data.values.nbytes + data.answered.nbytes + data.weights.nbytes
    assert held < 20 * len(values)
    fit = fit_rasch(data, options=MarginalOptions(se_method="none", tolerance=1e-3))
    thin = next(finding for finding in fit.findings if finding.kind == "few_responses")
    assert len(thin.names) > 100
    known = np.isfinite(fit.items.thresholds[:, 0])
    assert np.corrcoef(fit.items.thresholds[known, 0], b[known])[0, 1] > 0.7
    assert components(data)[0] == 1


def test_errors_grow_as_responses_thin_out(rng: np.random.Generator) -> None:
    # the same reports, at 2000 x 500 with 5 observed cells a person: 20 an item in place of 2000
    n, items, each = 2000, 500, 5
    theta, b = rng.normal(size=n), 0.5 * rng.normal(size=items)
    values = (rng.random((n, items)) < 1 / (1 + np.exp(b - theta[:, None]))).astype(float)
    full = fit_rasch(responses_from_matrix(values), options=MarginalOptions(se_method="observed"))
    rows = np.repeat(np.arange(n), each)
    columns = np.concatenate([rng.choice(items, each, replace=False) for _ in range(n)])
    labels = {"person_ids": range(n), "item_ids": range(items)}
    data = responses_from_long(rows, columns, values[rows, columns], **labels)
    sparse = fit_rasch(data, options=MarginalOptions(se_method="observed"))
    known = np.isfinite(sparse.thresholds_se[:, 0])
    growth = sparse.thresholds_se[known, 0] / full.thresholds_se[known, 0]
    assert known.mean() > 0.95
    assert 8 < np.median(growth) < 16  # sqrt(100), and more since five answers say little about a person
    assert np.median(sparse.theta_se) > 3 * np.median(full.theta_se)
    z = (sparse.items.thresholds[known, 0] - b[known]) / sparse.thresholds_se[known, 0]
    assert 0.8 < z.std() < 1.2


def test_constant_columns_are_named_and_leave_the_others_alone(rng: np.random.Generator) -> None:
    # mirt "Error in checkAtAssignment": first columns all 1, or all 0
    values = some_binary(rng)
    wide = np.column_stack([np.ones(len(values)), np.zeros(len(values)), values])
    for fit_model in (fit_rasch, fit_logistic):
        plain, with_constant = fit_model(responses_from_matrix(values)), fit_model(responses_from_matrix(wide))
        np.testing.assert_allclose(with_constant.items.thresholds[2:], plain.items.thresholds, atol=1e-9)
        assert with_constant.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
        assert np.isnan(with_constant.items.thresholds[:2]).all()
        assert "infinite" in with_constant.item_reason[0]
        named = next(finding for finding in with_constant.findings if finding.kind == "constant_items")
        assert named.names == ("I1", "I2")


@pytest.mark.parametrize("fit_model", [fit_partial_credit, fit_graded])
def test_an_unused_category_is_reported_and_everything_stays_finite(fit_model, rng: np.random.Generator) -> None:  # type: ignore[no-untyped-def]
    # TAM "Error in if (abs(deviance - olddeviance) < 1e-10): missing value"
    values = rng.integers(0, 4, (60, 4)).astype(float)
    values[values[:, 1] == 2, 1] = 3  # nobody gets a 2 on the second item
    fit = fit_model(responses_from_matrix(values))
    assert fit.items.scores[1] == (0, 1, 3)
    assert next(finding for finding in fit.findings if finding.kind == "unused_categories").names == ("I2",)
    assert np.isfinite(fit.log_likelihood)
    assert np.isfinite(fit.items.thresholds[1, :2]).all()
    assert np.isnan(fit.items.thresholds[1, 2])


def test_four_persons_and_an_unused_category_have_a_maximum_that_says_so() -> None:
    # the same report: partial credit, four persons, nobody with a 2. Who is high on one item is low on the other, so
    # the variance of ability is 0, and each item has the shares 1/2, 1/4, 1/4: 2 (2 log 1/2 + 2 log 1/4) = -12 log 2
    fit = fit_partial_credit(responses_from_matrix([[0, 3], [1, 0], [3, 1], [0, 0]]))
    assert fit.is_converged
    assert fit.message == "converged"
    assert fit.log_likelihood == pytest.approx(-12 * np.log(2), abs=1e-8)
    assert fit.sd_theta == 0.0
    assert fit.items.scores == ((0, 1, 3), (0, 1, 3))
    np.testing.assert_allclose(fit.items.thresholds, [[np.log(2), 0.0]] * 2, atol=1e-5)
    assert np.isfinite(fit.thresholds_se).all()
    named = {finding.kind: finding.names for finding in fit.findings}
    assert named["unused_categories"] == ("I1", "I2")
    assert "boundary" in named


def test_too_few_persons_for_slopes_and_a_slope_without_a_maximum_are_said() -> None:
    values = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    fit = fit_logistic(responses_from_matrix(values))
    assert {"few_persons", "boundary"} <= {finding.kind for finding in fit.findings}
    assert not fit.is_converged
    assert "no finite maximum" in fit.message


def test_fewer_patterns_than_parameters_identify_nothing(rng: np.random.Generator) -> None:
    values = some_binary(rng)
    for fit_model, n_items in ((fit_rasch, 1), (fit_logistic, 1), (fit_logistic, 2)):
        for missing in (False, True):  # complete Rasch data have a search of their own
            few = values[:, :n_items].copy()
            few[0, 0] = np.nan if missing else few[0, 0]
            fit = fit_model(responses_from_matrix(few))
            said = next(finding.message for finding in fit.findings if "not identified" in finding.message)
            assert f"{2**n_items} possible patterns" in said
            assert np.isnan(fit.thresholds_se).all()
            assert np.isnan(fit.slope_se).all()
            assert np.isnan(fit.sd_theta_se)
    for fit in (fit_rasch(responses_from_matrix(values[:, :2])), fit_logistic(responses_from_matrix(values[:, :3]))):
        assert not any("not identified" in finding.message for finding in fit.findings)


def test_a_repeated_rater_is_named(rng: np.random.Generator) -> None:
    values = some_binary(rng, n=4, items=80)
    twin = np.vstack([values, values[1]])
    named = next(f for f in examine(responses_from_matrix(twin)) if f.kind == "duplicate_persons")
    assert named.names == ("P5",)


def test_input_is_checked_and_the_cell_is_named() -> None:
    with pytest.raises(ValueError, match="'P2' to item 'I1'"):
        responses_from_matrix([[0.0, 1.0], [0.5, 1.0]])
    with pytest.raises(ValueError, match="more than once"):
        responses_from_long([0, 0], [1, 1], [1, 0], person_ids=["a"], item_ids=["x", "y"])
    with pytest.raises(ValueError, match="unique"):
        responses_from_matrix([[0, 1]], item_ids=["x", "x"])
    with pytest.raises(ValueError, match="weights"):
        responses_from_matrix([[0, 1]], weights=[-1])
