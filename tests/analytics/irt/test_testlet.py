"""The penalised testlet fit, its behaviour: odd input, invariance to form, weights, recovery, refusals."""

import numpy as np
import pytest

from analytics.irt import testlet
from analytics.irt.testlet_numba import NumbaPasses
from analytics.irt.testlet_result import TestletOptions as Options
from analytics.irt.testlet_simulation import simulate_testlet

N, J, T = 9, 30, 6
GIVEN = Options(variances="given", sd_theta=1.1, sd_b=1.4, sd_u=0.7, tolerance=1e-10)


def drawn(rng, n=N, j=J, t=T, **how):
    x = simulate_testlet(rng, n_raters=n, n_items=j, n_testlets=t, **{"sd_u": 0.7, "missing": 0.2} | how)
    return x.responses, x.item_testlet


def test_extremes_are_finite_and_flagged(rng) -> None:
    responses, of_item = drawn(rng, missing=0.0)
    responses[:, 3], responses[:, 4], responses[2] = 1.0, 0.0, 1.0
    responses[2, 4] = np.nan
    fit = testlet.fit_testlet(responses, of_item, GIVEN)
    assert np.all(np.isfinite(np.concatenate([fit.theta, fit.theta_se, fit.b, fit.b_se, fit.u.ravel()])))
    assert fit.is_extreme_rater[2]
    assert fit.is_extreme_item[3]
    assert fit.is_extreme_item[4]
    assert fit.theta[2] == fit.theta.max()
    assert fit.b[4] > np.nanmax(fit.b[~fit.is_extreme_item])
    assert fit.b[3] < np.nanmin(fit.b[~fit.is_extreme_item])


def test_every_standard_deviation_at_an_end_of_the_search_is_said() -> None:
    nan = np.nan
    values = np.array([[1, 0, 1, nan], [1, 0, 0, nan], [1, 0, 1, 1], [1, 0, 0, 0]])
    wide = testlet.fit_testlet(values, np.array([0, 0, 1, 1]))
    assert wide.sd_b == pytest.approx(10.0)
    assert any("sd_b is at the largest value looked at, 10" in said for said in wide.warnings)
    even = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]] * 3, dtype=float)
    flat = testlet.fit_testlet(even, np.array([0, 0, 1, 1]))
    assert (flat.sd_theta, flat.sd_b, flat.sd_u) == (0.0, 0.0, 0.0)
    assert [said.split()[0] for said in flat.warnings if "at its boundary" in said] == ["sd_theta", "sd_b", "sd_u"]


def test_a_rater_and_an_item_without_responses_change_nothing_else(rng) -> None:
    responses, of_item = drawn(rng)
    plain = testlet.fit_testlet(responses, of_item)
    wider = np.full((N + 1, J + 1), np.nan)
    wider[:N, :J] = responses
    padded = testlet.fit_testlet(wider, np.append(of_item, 2))
    assert np.isnan([padded.theta[N], padded.theta_se[N], padded.b[J], padded.b_se[J]]).all()
    for name in ("theta", "theta_se"):
        np.testing.assert_allclose(getattr(padded, name)[:N], getattr(plain, name), atol=1e-5)
    for name in ("b", "b_se"):
        np.testing.assert_allclose(getattr(padded, name)[:J], getattr(plain, name), atol=1e-5)
    assert padded.marginal_log_likelihood == pytest.approx(plain.marginal_log_likelihood, abs=1e-6)


def test_results_do_not_depend_on_memory_order_run_or_thread_count(rng, monkeypatch) -> None:
    responses, of_item = drawn(rng)
    first = testlet.fit_testlet(responses, of_item)
    wide = np.full((2 * N, J + 5), 7.0)
    wide[::2, 5:] = responses
    monkeypatch.setattr("analytics.irt.testlet_cells.PARALLEL_CELLS", 1)  # as for large data: in threads
    for other in (responses.copy(), np.asfortranarray(responses), wide[::2, 5:]):
        again = testlet.fit_testlet(other, of_item)
        assert np.array_equal(again.theta, first.theta)
        assert np.array_equal(again.b, first.b)
        assert again.marginal_log_likelihood == first.marginal_log_likelihood


def test_weights_of_any_size_change_no_mode_but_by_the_prior_of_items(rng) -> None:
    responses, of_item = drawn(rng, n=60, j=6, t=3, missing=0.0)
    thousand, million = (
        testlet.fit_testlet(responses, of_item, weight=np.full(60, weight)) for weight in (1e3, 1e6)
    )
    assert thousand.is_converged
    assert million.is_converged
    assert million.n_iterations < 2 * thousand.n_iterations
    np.testing.assert_allclose(million.b, thousand.b, atol=1e-2)


def test_without_testlet_effects_it_does_not_matter_how_items_are_grouped(rng) -> None:
    responses, _ = drawn(rng, sd_u=0.0)
    together, apart = (testlet.fit_testlet(responses, of_item) for of_item in (np.zeros(J, dtype=int), np.arange(J)))
    for name in ("theta", "theta_se", "b", "b_se", "marginal_log_likelihood"):
        np.testing.assert_allclose(getattr(together, name), getattr(apart, name), atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("options", [GIVEN, Options()])
@pytest.mark.parametrize("weight", [None, np.arange(1.0, N + 1)])
def test_passes_that_begin_in_single_precision_end_at_the_same_mode(
    rng, monkeypatch, missing, options, weight
) -> None:
    responses, of_item = drawn(rng, missing=missing)
    precise = testlet.fit_testlet(responses, of_item, options, weight=weight)
    monkeypatch.setattr("analytics.irt.testlet_numba.PARALLEL_CELLS", 1)  # as for large data
    steps = []
    refine = NumbaPasses.refine
    monkeypatch.setattr(NumbaPasses, "refine", lambda passes: (steps.append(passes.is_exact), refine(passes)))
    quick = testlet.fit_testlet(responses, of_item, options, weight=weight)
    assert steps
    assert not any(steps)
    assert quick.is_converged
    for name in ("theta", "b", "u", "sd_theta", "sd_b", "sd_u"):
        np.testing.assert_allclose(getattr(quick, name), getattr(precise, name), atol=1e-6)
    assert quick.log_likelihood == pytest.approx(precise.log_likelihood, abs=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.int64, np.float32])
def test_results_do_not_depend_on_the_number_type(rng, dtype) -> None:
    responses, of_item = drawn(rng, missing=0.0)
    first = testlet.fit_testlet(responses, of_item, GIVEN)
    again = testlet.fit_testlet(responses.astype(dtype), of_item, GIVEN)
    assert np.array_equal(again.theta, first.theta)
    assert np.array_equal(again.b, first.b)


@pytest.mark.parametrize("wrong", [2, -1])
def test_a_whole_number_that_is_no_response_is_refused(rng, wrong) -> None:
    responses, of_item = drawn(rng, missing=0.0)
    responses[3, 5] = wrong
    for dtype in (np.int8, np.int64, np.float64):
        with pytest.raises(ValueError, match=f"0, 1 or missing; found .*{wrong}"):
            testlet.fit_testlet(responses.astype(dtype), of_item, GIVEN)


def test_permuting_raters_items_and_testlets_permutes_the_result(rng) -> None:
    responses, of_item = drawn(rng)
    first = testlet.fit_testlet(responses, of_item, GIVEN)
    rows, columns, names = rng.permutation(N), rng.permutation(J), rng.permutation(T)
    again = testlet.fit_testlet(responses[np.ix_(rows, columns)], names[of_item[columns]], GIVEN)
    np.testing.assert_allclose(again.theta, first.theta[rows], atol=1e-8)
    np.testing.assert_allclose(again.b_se, first.b_se[columns], atol=1e-8)
    np.testing.assert_allclose(again.u[:, names], first.u[rows], atol=1e-8)


@pytest.mark.parametrize("options", [GIVEN, Options()])
def test_a_weight_equals_repeated_raters(rng, options) -> None:
    responses, of_item = drawn(rng)
    times = np.array([1, 2, 3, 1, 1, 2, 1, 4, 1])
    weighted = testlet.fit_testlet(responses, of_item, options, weight=times)
    repeated = testlet.fit_testlet(np.repeat(responses, times, axis=0), of_item, options)
    first = np.cumsum(times) - times
    tolerance = 1e-8 if options is GIVEN else 2e-4  # estimated: as far as the outer search goes
    np.testing.assert_allclose(weighted.theta, repeated.theta[first], atol=tolerance)
    np.testing.assert_allclose(weighted.theta_se, repeated.theta_se[first], atol=tolerance)
    np.testing.assert_allclose(weighted.b_se, repeated.b_se, atol=tolerance)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, abs=1e-6 + 100 * tolerance)
    assert weighted.marginal_log_likelihood == pytest.approx(repeated.marginal_log_likelihood, abs=1e-5)


@pytest.mark.parametrize("options", [GIVEN, Options()])
def test_half_a_weight_on_twice_the_rows_changes_nothing(rng, options) -> None:
    responses, of_item = drawn(rng)
    plain = testlet.fit_testlet(responses, of_item, options)
    halved = testlet.fit_testlet(np.tile(responses, (2, 1)), of_item, options, weight=np.full(2 * N, 0.5))
    tolerance = 1e-8 if options is GIVEN else 2e-4  # estimated: as far as the outer search goes
    for name in ("theta", "theta_se", "u", "u_se"):
        expected = np.tile(getattr(plain, name), (2, 1) if name[0] == "u" else 2)
        np.testing.assert_allclose(getattr(halved, name), expected, atol=tolerance)
    for name in ("b", "b_se", "mean_b", "mean_b_se", "sd_theta", "sd_b", "sd_u"):
        np.testing.assert_allclose(getattr(halved, name), getattr(plain, name), atol=tolerance)
    assert halved.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6 + 100 * tolerance)
    assert halved.marginal_log_likelihood == pytest.approx(plain.marginal_log_likelihood, abs=1e-5)


def test_known_truth_is_recovered(rng) -> None:
    x = simulate_testlet(rng, n_raters=42, n_items=1500, n_testlets=150, sd_u=0.8, missing=0.1)
    theta, b = x.theta, x.b
    fit = testlet.fit_testlet(x.responses, x.item_testlet)
    assert fit.is_converged
    # the drawn abilities' own spread is what can be recovered; u's Laplace bias is known and downwards
    assert fit.sd_theta == pytest.approx(theta.std(), rel=0.1)
    assert fit.sd_b == pytest.approx(b.std(), rel=0.07)
    assert 0.65 < fit.sd_u < 0.85
    assert np.corrcoef(fit.theta, theta)[0, 1] > 0.99
    assert np.corrcoef(fit.b, b)[0, 1] > 0.93
    error = fit.b - b  # the drawn thetas have a mean of their own, which moves every b alike
    inside = np.abs(error - error.mean()) < 1.96 * fit.b_se
    assert 0.92 < inside.mean() < 0.98


def test_without_testlet_effects_in_the_data_sd_u_is_zero_and_says_so() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(4):
        responses, of_item = drawn(rng, 12, 200, 40, sd_u=0.0, missing=0.0)
        found.append(testlet.fit_testlet(responses, of_item))
    zero = [fit for fit in found if fit.sd_u == 0]
    assert zero  # the boundary is hit in about half the samples
    for fit in zero:
        assert fit.is_converged
        assert any("sd_u is at its boundary" in warning for warning in fit.warnings)
        assert np.all(fit.u == 0)


def test_pure_chance_is_found_quickly_to_have_no_variance_at_all(rng) -> None:
    # with every effect tightly held at its mean, the mean itself must not crawl
    fit = testlet.fit_testlet((rng.random((20, 60)) < 0.3).astype(float), np.arange(60) // 10)
    assert fit.is_converged
    assert fit.n_iterations < 300
    assert (fit.sd_theta, fit.sd_b, fit.sd_u) == (0.0, 0.0, 0.0) or max(fit.sd_theta, fit.sd_b, fit.sd_u) < 0.5
    assert fit.mean_b == pytest.approx(np.log(0.7 / 0.3), abs=0.25)


@pytest.mark.parametrize(
    ("of_item", "words"), [(np.zeros(J, dtype=int), "one testlet only"), (np.arange(J), "every testlet has one item")]
)
def test_a_design_that_cannot_show_testlet_effects_says_so(rng, of_item, words) -> None:
    responses, _ = drawn(rng)
    fit = testlet.fit_testlet(responses, of_item)
    assert fit.sd_u == 0
    assert words in fit.warnings[0]


def test_a_search_cut_short_is_not_called_converged(rng) -> None:
    responses, of_item = drawn(rng)
    fit = testlet.fit_testlet(responses, of_item, Options(variances="given", max_iterations=1))
    assert not fit.is_converged
    assert any("not converged" in warning for warning in fit.warnings)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: testlet.fit_testlet(np.full((2, 2), np.nan), np.array([0, 1])), "no response is observed"),
        (lambda: testlet.fit_testlet(np.ones((3, 4)), np.array([0, 0, 1, 1])), "every observed response is 1"),
        (lambda: testlet.fit_testlet(np.array([[0.5, 1.0]]), np.array([0, 1])), "found .*0.5"),
        (lambda: testlet.fit_testlet(np.ones((2, 2)), np.array([0])), "do not fit together"),
        (lambda: testlet.fit_testlet(np.eye(2), np.array([0, 1]), weight=np.array([1.0, 0.0])), "positive"),
        (lambda: Options(variances="free"), "expected one of"),  # type: ignore[arg-type]
        (lambda: Options(sd_b=0.0), "must be positive"),
        (lambda: Options(standard_errors=False), "needs the information"),
    ],
)
def test_bad_input_is_refused_by_name(call, words) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("missing", [0.3, 0.9])
def test_missing_at_random_costs_precision_not_truth(rng, missing) -> None:
    x = simulate_testlet(rng, n_raters=40, n_items=1000, n_testlets=100, sd_u=0.5, missing=missing)
    fit = testlet.fit_testlet(x.responses, x.item_testlet)
    assert fit.is_converged
    assert np.corrcoef(fit.theta, x.theta)[0, 1] > (0.99 if missing < 0.5 else 0.93)
    z = (fit.b - x.b - np.nanmean(fit.b - x.b)) / fit.b_se
    # four responses an item are too few for Laplace: sd_b, and with it every interval, comes out small
    assert (0.92 if missing < 0.5 else 0.86) < np.nanmean(np.abs(z) < 1.96) < 0.98
    assert fit.sd_b == pytest.approx(x.b.std(), rel=0.2)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_codes_of_testlets_may_have_gaps(rng, missing) -> None:
    responses, of_item = drawn(rng, missing=missing)
    plain, wide = testlet.fit_testlet(responses, of_item), testlet.fit_testlet(responses, 3 * of_item + 1)
    np.testing.assert_array_equal(wide.b, plain.b)
    assert wide.sd_u == plain.sd_u
    assert wide.u.shape == (len(responses), 3 * of_item.max() + 2)
    np.testing.assert_array_equal(wide.u[:, 3 * np.arange(of_item.max() + 1) + 1], plain.u)
    np.testing.assert_array_equal(wide.u_se[:, 3 * np.arange(of_item.max() + 1) + 1], plain.u_se)
    assert np.isnan(wide.u[:, 0]).all()


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("seed", range(4))
def test_the_search_for_standard_deviations_ends_whatever_all_raters_weigh(seed, weight) -> None:
    rng = np.random.default_rng([41, seed])
    x = simulate_testlet(rng, n_raters=150, n_items=40, n_testlets=10, sd_u=0.6)
    is_theirs = rng.random((150, 10)).argsort(axis=1) < 3
    responses = np.where(is_theirs[:, x.item_testlet], x.responses, np.nan)
    fit = testlet.fit_testlet(responses, x.item_testlet, weight=np.full(150, weight))
    assert fit.is_converged, fit.warnings
