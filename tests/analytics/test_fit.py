"""One door for every model: the same numbers as the models' own fronts, in a flat report."""

import json
import tracemalloc

import numpy as np
import polars as pl
import pytest

from analytics.ctt.items import item_statistics
from analytics.fit import METHODS, FitModel, fit_matrix, fit_ratings
from analytics.irt.facets import ratings_from_labels
from analytics.irt.logistic import fit_logistic
from analytics.irt.reading import first_seen, responses_from_long, responses_from_matrix
from analytics.irt.responses import Responses
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_scale import marginal_factor
from analytics.tables import FitOptions, fit_dataset


def some_responses(rng: np.random.Generator, n: int = 120) -> np.ndarray:
    theta, b = rng.normal(size=n), np.linspace(-1, 1, 6)
    values = (rng.random((n, 6)) < 1 / (1 + np.exp(b - theta[:, None]))).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


@pytest.mark.parametrize("model", sorted(METHODS))
def test_every_model_reports_fit_items_and_persons(model: FitModel, rng: np.random.Generator) -> None:
    testlets = ["s", "s", "s", "t", "t", "t"] if model == "testlet" else None
    report = fit_matrix(responses_from_matrix(some_responses(rng)), model=model, testlets=testlets)
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["fit"]["model"] == model
    assert [row["id"] for row in plain["persons"]] == [f"P{i + 1}" for i in range(120)]
    assert len(plain["items"]) == 6
    if model == "ctt":
        assert plain["fit"]["log_likelihood"] is None
        assert plain["items"][0]["item_rest_r"] > 0
        assert plain["persons"][0]["reason"]
    else:
        assert plain["fit"]["log_likelihood"] < 0
        assert plain["persons"][0]["theta_se"] > 0
        assert all(row["b_se"] > 0 for row in plain["items"])
        assert plain["fit"]["is_converged"]


def test_the_report_holds_the_numbers_of_the_model(rng: np.random.Generator) -> None:
    data = responses_from_matrix(some_responses(rng), weights=rng.integers(1, 3, 120))
    report, fit = fit_matrix(data, model="2pl"), fit_logistic(data)
    assert report.fit.log_likelihood == fit.log_likelihood
    np.testing.assert_array_equal([row.b for row in report.items], fit.items.thresholds[:, 0])
    np.testing.assert_array_equal([row.theta for row in report.persons], fit.theta)


@pytest.mark.parametrize("method", ["laplace", "given"])
def test_the_log_likelihood_of_a_testlet_fit_is_that_of_the_table_of_fits(method, rng: np.random.Generator) -> None:
    values = some_responses(rng)
    long = pl.DataFrame(
        [
            {"rater_id": f"P{i:03}", "model": f"m{i}", "item_id": f"I{j + 1}", "testlet_id": "st"[j // 3],
             "is_correct": None if np.isnan(y) else int(y), "status": "ok", "gold_label": None, "answer_label": None}
            for i, row in enumerate(values) for j, y in enumerate(row)
        ],
        schema_overrides={"gold_label": pl.String, "answer_label": pl.String},
    )  # fmt: skip
    options = FitOptions(Options("given" if method == "given" else "laplace"), n_replicates=0, n_draws=0)
    fits = fit_dataset(long, dataset="d", options=options).irt_fits.filter(pl.col("missing_policy") == "omit")
    table = fits.filter(pl.col("is_primary")).row(0, named=True)
    report = fit_matrix(
        responses_from_matrix(values), model="testlet", method=method, testlets=["s", "s", "s", "t", "t", "t"]
    )
    for name in ("log_likelihood", "marginal_log_likelihood", "sd_theta"):
        assert getattr(report.fit, name) == pytest.approx(table[name], abs=1e-6)
    assert report.fit.log_likelihood > report.fit.marginal_log_likelihood


def test_the_marginal_log_likelihood_is_there_where_abilities_are_integrated_out(rng: np.random.Generator) -> None:
    data, testlets = responses_from_matrix(some_responses(rng)), ["s", "s", "s", "t", "t", "t"]
    rasch = fit_matrix(data, model="rasch").fit
    assert rasch.marginal_log_likelihood == rasch.log_likelihood
    assert np.isnan(fit_matrix(data, model="rasch", method="conditional").fit.marginal_log_likelihood)
    exact = fit_matrix(data, model="testlet", method="gauss_hermite", testlets=testlets).fit
    rough = fit_matrix(data, model="testlet", method="marginal_laplace", testlets=testlets).fit
    assert exact.marginal_log_likelihood == exact.log_likelihood > rasch.log_likelihood - 1e-3
    assert exact.log_likelihood == pytest.approx(rough.log_likelihood, abs=3)
    assert (exact.method, rough.method) == ("gauss_hermite", "marginal_laplace")
    with pytest.raises(ValueError, match="repeat the rows"):
        fit_matrix(
            responses_from_matrix(some_responses(rng), weights=[2.0] * 120), model="testlet",
            method="gauss_hermite", testlets=testlets,
        )  # fmt: skip


@pytest.mark.parametrize("method", ["laplace", "gauss_hermite"])
def test_persons_of_a_testlet_fit_have_their_ability_on_both_scales(method, rng: np.random.Generator) -> None:
    data, testlets = responses_from_matrix(some_responses(rng)), ["s", "s", "s", "t", "t", "t"]
    report = fit_matrix(data, model="testlet", method=method, testlets=testlets)
    note = next(finding for finding in report.fit.findings if "averaged out" in finding)
    factor = marginal_factor(float(note.split()[4].rstrip(";")))
    for row in report.persons:
        assert row.theta_marginal == pytest.approx(factor * row.theta, rel=1e-3)
        assert row.theta_marginal_se == pytest.approx(factor * row.theta_se, rel=1e-3)
    rasch = fit_matrix(data, model="rasch").to_dict()["persons"][0]
    assert rasch["theta_marginal"] is None  # there is one scale only


def test_missing_policy_and_method_are_named_and_change_the_fit(rng: np.random.Generator) -> None:
    values = some_responses(rng)
    data = responses_from_matrix(values)
    omit, wrong = (fit_matrix(data, model="rasch", missing=policy) for policy in ("omit", "incorrect"))  # type: ignore[arg-type]
    assert (omit.fit.missing, wrong.fit.missing) == ("omit", "incorrect")
    assert wrong.fit.n_observed == 720 > omit.fit.n_observed
    assert [row.score for row in omit.persons] == [row.score for row in wrong.persons] == np.nansum(values, 1).tolist()
    classical = fit_matrix(data, model="ctt", missing="incorrect")
    assert classical.fit.n_observed == 720
    assert [row.n for row in classical.persons] == [6] * 120
    conditional = fit_matrix(data, model="rasch", method="conditional")
    assert conditional.fit.method == "conditional"
    assert conditional.fit.log_likelihood > omit.fit.log_likelihood


@pytest.mark.parametrize(
    ("model", "method", "estimator"),
    [
        ("ctt", "default", "none"),
        ("rasch", "marginal", "eap"),
        ("rasch", "conditional", "wle"),
        ("3pl", "default", "eap"),
        ("testlet", "laplace", "map"),
        ("testlet", "given", "map"),
        ("testlet", "marginal_laplace", "map"),
        ("testlet", "gauss_hermite", "eap"),
        ("mfrm", "default", "eap"),
    ],
)
def test_the_estimator_of_abilities_is_named(model, method, estimator, rng: np.random.Generator) -> None:
    testlets = ["s", "s", "s", "t", "t", "t"] if model == "testlet" else None
    data = responses_from_matrix(some_responses(rng))
    assert fit_matrix(data, model=model, method=method, testlets=testlets).fit.ability_method == estimator


@pytest.mark.parametrize("model", ["rasch", "testlet", "mfrm"])
def test_what_the_data_cannot_tell_is_said_whatever_is_fitted(model: FitModel, rng: np.random.Generator) -> None:
    values = np.full((42, 40), np.nan)
    values[:20, :20], values[20:40, 20:] = rng.integers(0, 2, (20, 20)), rng.integers(0, 2, (20, 20))
    values[3], values[40] = values[2], np.where(np.arange(40) < 20, 1.0, np.nan)
    testlets = [f"t{j // 5}" for j in range(40)] if model == "testlet" else None
    said = "; ".join(fit_matrix(responses_from_matrix(values), model=model, testlets=testlets).fit.findings)
    assert "into 2 blocks" in said
    assert "1 person(s) repeat a row (P4)" in said
    assert "1 person(s) at an extreme (P41)" in said
    assert "1 person(s) without a response (P42)" in said


def test_a_difficulty_that_rests_on_the_prior_is_named(rng: np.random.Generator) -> None:
    values = some_responses(rng)
    values[:, 2] = 1.0
    report = fit_matrix(responses_from_matrix(values), model="testlet", testlets=["s", "s", "s", "t", "t", "t"])
    assert np.isfinite(report.items[2].b)
    assert report.items[2].reason == "every response is alike: the estimate rests on the prior alone"
    assert all(row.reason == "" for j, row in enumerate(report.items) if j != 2)
    assert any("(I3): the estimate rests on the prior alone" in finding for finding in report.fit.findings)


def test_an_item_against_the_others_is_a_suspect_and_is_not_turned_round(rng: np.random.Generator) -> None:
    values = some_responses(rng)
    values[:, 4] = 1 - values[:, 3]
    classical = fit_matrix(responses_from_matrix(values), model="ctt")
    against = [row.id for row in classical.items if row.item_rest_r < 0]
    assert "I5" in against
    assert any(f"negative item-rest correlation ({', '.join(against)}): key" in said for said in classical.fit.findings)
    slopes = fit_matrix(responses_from_matrix(values), model="2pl")
    turned = [row.id for row in slopes.items if row.a < 0]
    assert any(f"negative ({', '.join(turned)}): key suspect" in said for said in slopes.fit.findings)


def test_a_constant_item_is_null_with_its_reason(rng: np.random.Generator) -> None:
    values = some_responses(rng)
    values[:, 2] = 1.0
    row = fit_matrix(responses_from_matrix(values), model="2pl").to_dict()["items"][2]
    assert row["a"] is None
    assert row["b"] is None
    assert "infinite" in row["reason"]


def test_an_item_with_several_scores_reports_its_thresholds(rng: np.random.Generator) -> None:
    values = rng.integers(0, [2, 4, 3], (200, 3))
    rows = fit_matrix(responses_from_matrix(values), model="pcm").items
    assert [len(row.thresholds) for row in rows] == [0, 3, 2]
    assert [bool(np.isfinite(row.b)) for row in rows] == [True, False, False]
    assert all(error > 0 for row in rows[1:] for error in row.thresholds_se)


def test_weighted_rows_of_classical_statistics_equal_repeated_rows(rng: np.random.Generator) -> None:
    values, weights = some_responses(rng), rng.integers(0, 4, 120)
    weighted = fit_matrix(responses_from_matrix(values, weights=weights), model="ctt")
    repeated = fit_matrix(responses_from_matrix(np.repeat(values, weights, axis=0)), model="ctt")
    for ours, expected in zip(weighted.items, repeated.items, strict=True):
        for name in ("n", "facility", "item_total_r", "item_rest_r"):
            assert getattr(ours, name) == pytest.approx(getattr(expected, name), abs=1e-10)
    assert weighted.fit == repeated.fit
    often = fit_matrix(responses_from_matrix(values, weights=weights * 1e6), model="ctt")
    assert often.fit.n_persons == 1e6 * weights.sum()
    with pytest.raises(ValueError, match=r"whole.*0\.5"):
        fit_matrix(responses_from_matrix(values, weights=np.full(120, 0.5)), model="ctt")


@pytest.mark.parametrize("missing", ["omit", "incorrect"])
def test_sparse_long_data_have_the_classical_statistics_of_the_table(missing, rng: np.random.Generator) -> None:
    persons, items = np.repeat(np.arange(60), 3), np.concatenate([rng.choice(20, 3, replace=False) for _ in range(60)])
    values = rng.integers(0, 3, 180)
    person_ids, rows = first_seen([f"p{60 - i}" for i in persons])
    item_ids, columns = first_seen([f"i{(7 * j) % 20}" for j in items])
    weights = rng.integers(0, 3, 60)
    long = responses_from_long(rows, columns, values, person_ids=person_ids, item_ids=item_ids, weights=weights)
    table = np.full((60, len(item_ids)), np.nan)
    table[rows, columns] = values
    found = fit_matrix(long, model="ctt", missing=missing)
    expected = item_statistics(table, missing_policy=missing, max_score=2.0, weight=weights)
    assert long.dense is None
    assert tuple(row.id for row in found.items) == item_ids
    assert tuple(row.id for row in found.persons) == person_ids
    for name, ours in (("n_raters", "n"), *((name, name) for name in ("facility", "item_total_r", "item_rest_r"))):
        given = [getattr(row, ours) for row in found.items]
        np.testing.assert_allclose(given, getattr(expected, name), rtol=0, atol=1e-12)
    assert [row.reason or None for row in found.items] == list(expected.undefined_reason)
    assert [row.score for row in found.persons] == np.nansum(table, axis=1).tolist()
    assert {row.n for row in found.persons} == {3 if missing == "omit" else len(item_ids)}


@pytest.mark.parametrize(("missing", "share"), [("omit", 1 / 10), ("incorrect", 3 / 8)])
def test_memory_of_sparse_classical_statistics_is_far_below_the_table(missing, share, rng: np.random.Generator) -> None:
    def some_cells(n_persons: int, n_items: int, each: int = 5) -> Responses:
        rows = np.repeat(np.arange(n_persons), each)
        items = np.concatenate([rng.choice(n_items, each, replace=False) for _ in range(n_persons)])
        values = rng.integers(0, 2, len(rows))
        return responses_from_long(rows, items, values, person_ids=range(n_persons), item_ids=range(n_items))

    fit_matrix(some_cells(200, 40), model="ctt", missing=missing)  # compiles what is compiled
    data = some_cells(5000, 2000)
    tracemalloc.start()
    fit_matrix(data, model="ctt", missing=missing)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # five cells a person are 1/400 of the table of floats, kept some ten times over, and there is the report of 5000
    # persons; where missing cells count, the report looks at persons x items in one byte a cell, and at which are right
    assert peak < share * 8 * data.n_persons * data.n_items


def test_long_ratings_report_their_facets(rng: np.random.Generator) -> None:
    person, rater = np.repeat(np.arange(40), 3), np.tile(["x", "y", "z"], 40)
    grades = rng.integers(0, 3, 120)
    report = fit_ratings(ratings_from_labels(person.tolist(), {"rater": rater.tolist()}, grades))
    assert [row.id for row in report.facets] == ["x", "y", "z"]
    assert len(report.persons) == 40
    assert report.persons[0].score == grades[:3].sum()


def test_wrong_calls_name_what_is_allowed(rng: np.random.Generator) -> None:
    data = responses_from_matrix(some_responses(rng))
    with pytest.raises(ValueError, match="mfrm"):
        fit_matrix(data, model="4pl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gauss_hermite"):
        fit_matrix(data, model="2pl", method="conditional")
    with pytest.raises(ValueError, match="testlet of each item"):
        fit_matrix(data, model="testlet")
    weights = np.where(np.arange(120) == 7, 0.0, 1.0)
    with pytest.raises(ValueError, match="weights above 0; person 'P8' has 0"):
        fit_matrix(
            responses_from_matrix(some_responses(rng), weights=weights), model="testlet", testlets=["s", "t"] * 3
        )
    with pytest.raises(ValueError, match="2 testlets for 6"):
        fit_matrix(data, model="mfrm", testlets=["a", "b"])
