"""Item statistics: exactly Pearson, by hand, against stored values, and with missing cells."""

import numpy as np
import polars as pl
import pytest

from analytics.ctt.items import item_statistics

EXACT = 1e-12


def test_hand_worked_matrix() -> None:
    rows = np.array([[int(c) for c in row] for row in ["1110", "1100", "1001", "0100", "0000", "1111"]], dtype=float)
    found = item_statistics(rows)
    np.testing.assert_allclose(found.facility, [4 / 6, 4 / 6, 2 / 6, 2 / 6], atol=EXACT)
    np.testing.assert_allclose(found.item_rest_r, [0.625, 0.2132, 0.625, 0.2132], atol=5e-5)
    np.testing.assert_allclose(found.item_total_r, [0.8216, 0.5477, 0.8216, 0.5477], atol=5e-5)


@pytest.mark.parametrize("policy", ["omit", "incorrect"])
def test_equals_pearson_of_explicit_rest_scores(rng, policy) -> None:
    x = (rng.random((30, 12)) < 0.6).astype(float)
    x[rng.random(x.shape) < 0.3] = np.nan
    found = item_statistics(x, missing_policy=policy)
    scored = np.nan_to_num(x) if policy == "incorrect" else x
    for j in range(12):
        seen = ~np.isnan(scored[:, j])
        rest = np.nanmean(np.delete(scored, j, axis=1), axis=1) * 12
        total = np.nanmean(scored, axis=1) * 12
        assert found.item_rest_r[j] == pytest.approx(np.corrcoef(scored[seen, j], rest[seen])[0, 1], abs=EXACT)
        assert found.item_total_r[j] == pytest.approx(np.corrcoef(scored[seen, j], total[seen])[0, 1], abs=EXACT)
        assert found.facility[j] == pytest.approx(scored[seen, j].mean(), abs=EXACT)


def test_undefined_is_nan_with_its_reason() -> None:
    nan = np.nan
    x = np.array([[1, 0, nan, nan, 1], [1, 1, nan, 1, 0], [1, 1, nan, nan, 1]])
    found = item_statistics(x)
    assert found.undefined_reason[0] == "constant item"
    assert found.undefined_reason[2:4] == ("no responses", "one response")
    assert np.isnan(found.item_rest_r[[0, 2, 3]]).all()
    assert found.facility[0] == 1.0
    assert np.isnan(found.facility[2])
    assert found.n_raters.tolist() == [3, 3, 0, 1, 3]


def test_raters_who_all_score_alike_have_no_correlation() -> None:
    found = item_statistics(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))  # every total is 2
    assert np.isnan(found.item_total_r).all()
    assert found.undefined_reason == ("zero variance of the total or rest score",) * 3
    np.testing.assert_allclose(found.item_rest_r, -1.0, atol=EXACT)


def test_a_wrongly_keyed_item_is_reported_negative() -> None:
    x = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1]] * 2, dtype=float)
    assert item_statistics(x).item_rest_r[3] < 0


def test_missing_as_incorrect_lowers_facility() -> None:
    x = np.array([[1.0, np.nan], [1.0, 1.0], [0.0, 0.0]])
    assert item_statistics(x).facility[1] == 0.5
    assert item_statistics(x, missing_policy="incorrect").facility[1] == pytest.approx(1 / 3, abs=EXACT)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_large_scores_keep_their_digits(rng, offset) -> None:
    x = rng.normal(offset, 1.0, (200, 6))
    found = item_statistics(x)
    rest = x.sum(axis=1) - x[:, 0]
    assert found.item_rest_r[0] == pytest.approx(np.corrcoef(x[:, 0], rest)[0, 1], abs=1e-8 if offset else EXACT)


def test_lsat7_equals_two_reference_packages(reference_dir) -> None:
    folder = reference_dir / "psychometrics"
    patterns = pl.read_csv(folder / "LSAT7_patterns_mirt.csv")
    stored = pl.read_csv(folder / "LSAT7_mirt_itemstats.csv")
    count = patterns.columns[-1]
    items = patterns.select(pl.exclude(count)).to_numpy()[:, -5:].astype(float)
    found = item_statistics(np.repeat(items, patterns[count].to_numpy(), axis=0))
    np.testing.assert_allclose(found.facility, stored["mean"], atol=5e-4)
    np.testing.assert_allclose(found.item_total_r, stored["total.r"], atol=5e-4)
    np.testing.assert_allclose(found.item_rest_r, stored["total.r_if_rm"], atol=5e-4)


def test_lsat6_equals_ltm(reference_dir) -> None:
    folder = reference_dir / "psychometrics"
    patterns = pl.read_csv(folder / "LSAT6_patterns_ltm.csv")
    stored = pl.read_csv(folder / "LSAT6_ltm_descript.csv")
    items = patterns[:, 1:6].to_numpy().astype(float)
    found = item_statistics(np.repeat(items, patterns["n"].to_numpy(), axis=0))
    np.testing.assert_allclose(found.facility, stored["1"], atol=EXACT)
    np.testing.assert_allclose(found.item_total_r, stored["bisCorr"], atol=1e-9)
    np.testing.assert_allclose(found.item_rest_r, stored["ExBisCorr"], atol=1e-9)


def test_attitude_equals_psych(reference_dir) -> None:
    folder = reference_dir / "psychometrics"
    stored = pl.read_csv(folder / "attitude_psych_alpha_itemstats.csv")
    found = item_statistics(pl.read_csv(folder / "attitude_data.csv")[:, 1:].to_numpy().astype(float))
    np.testing.assert_array_equal(found.n_raters, stored["n"])
    np.testing.assert_allclose(found.facility, stored["mean"], atol=1e-9)  # of a highest score of 1
    np.testing.assert_allclose(found.item_total_r, stored["raw.r"], atol=1e-9)
    np.testing.assert_allclose(found.item_rest_r, stored["r.drop"], atol=1e-9)


def test_an_unknown_policy_names_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown missing_policy 'zero'; expected one of \('omit', 'incorrect'\)"):
        item_statistics(np.ones((2, 2)), missing_policy="zero")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_of_bytes_gives_the_numbers_of_a_table_of_floats(rng, dtype, order) -> None:
    x = (rng.random((300, 40)) < rng.random(40)).astype(float)
    x[:, 3], x[:, 4] = 1.0, 0.0
    ours, expected = item_statistics(np.asarray(x, dtype=dtype, order=order)), item_statistics(x)
    for name in ("n_raters", "facility", "item_total_r", "item_rest_r"):
        np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), atol=1e-12)
    assert ours.undefined_reason == expected.undefined_reason
    assert ours.undefined_reason[3] == "constant item"


def test_bytes_that_are_no_binary_responses_are_scores(rng) -> None:
    x = rng.integers(0, 4, (50, 5)).astype(np.uint8)
    ours, expected = item_statistics(x, max_score=3.0), item_statistics(x.astype(float), max_score=3.0)
    np.testing.assert_allclose(ours.item_rest_r, expected.item_rest_r, atol=1e-12)
    np.testing.assert_array_equal(ours.facility, expected.facility)


@pytest.mark.parametrize("policy", ["omit", "incorrect"])
def test_a_weight_is_the_row_repeated(rng, policy) -> None:
    x, weight = rng.integers(0, 4, (60, 8)).astype(float), rng.integers(0, 6, 60)
    x[rng.random(x.shape) < 0.3] = np.nan
    x[:, 5], x[weight > 0, 6] = 1.0, 2.0  # constant, and constant but for rows that count 0 times
    x[:, 7] = np.nan
    x[np.flatnonzero(weight == 1)[0], 7] = 1.0
    repeated = np.repeat(x, weight, axis=0)
    ours, expected = (
        item_statistics(table, missing_policy=policy, max_score=3.0, weight=times)
        for table, times in ((x, weight), (repeated, None))
    )
    assert ours.undefined_reason == expected.undefined_reason
    for name in ("n_raters", "facility", "item_total_r", "item_rest_r"):
        np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_equal_weights_of_any_size_change_counts_alone(rng, dtype) -> None:
    x = (rng.random((50, 6)) < 0.6).astype(dtype)
    once, often = item_statistics(x), item_statistics(x, weight=np.full(50, 10**6))
    np.testing.assert_array_equal(often.n_raters, once.n_raters * 10**6)
    for name in ("facility", "item_total_r", "item_rest_r"):
        np.testing.assert_allclose(getattr(often, name), getattr(once, name), rtol=0, atol=1e-10)


@pytest.mark.parametrize("weight", [[1.0, 0.5], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_a_weight_that_is_no_number_of_rows_is_refused(weight) -> None:
    with pytest.raises(ValueError, match=f"must be whole numbers; got {weight[1]:g}"):
        item_statistics(np.eye(2), weight=weight)
    with pytest.raises(ValueError, match=r"2 rows need 2 weights; got shape \(3,\)"):
        item_statistics(np.eye(2), weight=[1, 1, 1])
