"""Alpha, omega, split halves: stored references, hand-worked numbers and the awkward cases."""

import numpy as np
import polars as pl
import pytest

from analytics.ctt.reliability import omega_total, reliability, spearman_brown, split_half

EXACT = 1e-12


def _floats(path) -> np.ndarray:
    return pl.read_csv(path)[:, 1:].to_numpy().astype(float)


def test_alpha_by_hand() -> None:
    # item variances 1/3 1/3 1/4; totals 3 2 0 0, variance 27/12: 3/2 (1 - (11/12) / (27/12)) = 3/2 * 16/27 = 8/9
    found = reliability(np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=float))
    assert found.alpha == pytest.approx(8 / 9, abs=EXACT)
    assert found.sem == pytest.approx(np.sqrt(27 / 12 / 9), abs=EXACT)


def test_attitude_equals_psych(reference_dir) -> None:
    folder = reference_dir / "psychometrics"
    stored = pl.read_csv(folder / "attitude_psych_alpha_total.csv").row(0, named=True)
    data = _floats(folder / "attitude_data.csv")
    found = reliability(data)
    assert found.alpha == pytest.approx(stored["raw_alpha"], abs=1e-10)
    assert found.alpha_se == pytest.approx(stored["ase"], abs=1e-10)
    assert found.standardised_alpha == pytest.approx(stored["std.alpha"], abs=1e-10)
    assert found.average_r == pytest.approx(stored["average_r"], abs=1e-10)
    dropped = pl.read_csv(folder / "attitude_psych_alpha_drop.csv")["raw_alpha"]
    np.testing.assert_allclose(found.alpha_if_deleted, dropped, atol=1e-10)
    assert omega_total(data) == pytest.approx(0.8509925, abs=1e-6)


def test_lsat7_and_lsat6_equal_their_references(reference_dir) -> None:
    folder = reference_dir / "psychometrics"
    patterns = pl.read_csv(folder / "LSAT7_patterns_mirt.csv")
    count = patterns.columns[-1]
    items = patterns.select(pl.exclude(count)).to_numpy()[:, -5:].astype(float)
    found = reliability(np.repeat(items, patterns[count].to_numpy(), axis=0))
    overall = pl.read_csv(folder / "LSAT7_mirt_itemstats_overall.csv").row(0, named=True)
    assert found.alpha == pytest.approx(overall["alpha"], abs=1e-9)
    assert found.sem == pytest.approx(overall["SEM.alpha"], abs=1e-9)
    stored = pl.read_csv(folder / "LSAT7_mirt_itemstats.csv")["alpha_if_rm"]
    np.testing.assert_allclose(found.alpha_if_deleted, stored, atol=1e-9)
    patterns = pl.read_csv(folder / "LSAT6_patterns_ltm.csv")
    items = patterns[:, 1:6].to_numpy().astype(float)
    found = reliability(np.repeat(items, patterns["n"].to_numpy(), axis=0))
    assert found.alpha == pytest.approx(0.2950, abs=5e-5)  # as printed by ltm
    stored = pl.read_csv(folder / "LSAT6_ltm_descript.csv")["alphaExcl"]
    np.testing.assert_allclose(found.alpha_if_deleted, stored, atol=1e-9)


def test_a_constant_item_counts_and_alpha_without_it_stands_beside(rng) -> None:
    x = (rng.random((40, 1)) + rng.random((40, 4)) > 1).astype(float)
    wider = np.column_stack([x, np.ones(40)])
    found = reliability(wider)
    assert found.n_constant_items == 1
    assert found.alpha_without_constants == pytest.approx(reliability(x).alpha, abs=EXACT)
    assert found.alpha == pytest.approx(5 / 4 * 3 / 4 * reliability(x).alpha, abs=EXACT)  # k / (k - 1) changes alone


def test_equal_totals_leave_alpha_undefined_with_the_reason() -> None:
    found = reliability(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert np.isnan(found.alpha)
    assert found.undefined_reason == "every total is equal"
    assert reliability(np.ones((1, 3))).undefined_reason == "fewer than two raters"
    assert reliability(np.ones((3, 1))).undefined_reason == "fewer than two items"


def test_a_reversed_item_is_not_turned_round(rng) -> None:
    x = (rng.random((60, 1)) + rng.random((60, 4)) > 1).astype(float)
    turned = x.copy()
    turned[:, 3] = 1 - turned[:, 3]
    assert reliability(turned).alpha < reliability(x).alpha - 0.1


def test_missing_policies_differ_and_are_named() -> None:
    x = np.array([[1, np.nan], [1, 1], [0, 0], [1, np.nan]])
    omit, wrong = reliability(x), reliability(x, missing_policy="incorrect")
    assert (omit.missing_policy, wrong.missing_policy) == ("omit", "incorrect")
    # omit: item variances 1/4 and 1/2 over observed cells; totals 2 2 0 2, variance 1: 2 (1 - 3/4) = 1/2
    assert omit.alpha == pytest.approx(0.5, abs=EXACT)
    # incorrect: item variances 1/4 and 1/4, totals 1 2 0 1, variance 2/3: 2 (1 - 3/4) = 1/2 as well, but not the SEM
    assert wrong.alpha == pytest.approx(0.5, abs=EXACT)
    assert (omit.sem, wrong.sem) == pytest.approx((np.sqrt(1 / 2), np.sqrt(1 / 3)))


def test_split_halves_average_near_alpha_and_repeat_with_their_seed(rng) -> None:
    x = (rng.normal(size=(300, 1)) + rng.normal(size=(300, 20)) > 0).astype(float)
    found = split_half(x, n_splits=200, seed=3)
    assert found.mean() == pytest.approx(reliability(x).alpha, abs=0.01)
    np.testing.assert_array_equal(found, split_half(x, n_splits=200, seed=3))
    assert not np.array_equal(found, split_half(x, n_splits=200, seed=4))


def test_spearman_brown() -> None:
    assert spearman_brown(0.5) == pytest.approx(2 / 3, abs=EXACT)
    assert np.isnan(spearman_brown(-1.0))


def test_omega_recovers_known_loadings_and_needs_three_items(rng) -> None:
    loading = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    x = rng.normal(size=(40000, 1)) * loading + rng.normal(size=(40000, 5)) * np.sqrt(1 - loading**2)
    unique = np.sum(1 - loading**2)
    assert omega_total(x) == pytest.approx(loading.sum() ** 2 / (loading.sum() ** 2 + unique), abs=0.01)
    assert np.isnan(omega_total(x[:, :2]))
