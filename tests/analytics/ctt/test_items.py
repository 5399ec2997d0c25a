"""Item statistics: exactly Pearson, by hand, against stored values, with missing cells, of sparse tables."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from analytics.ctt.items import ItemStatistics, item_statistics
from analytics.literals import MissingPolicy

EXACT = 1e-12
NUMBERS = ("n_raters", "facility", "item_total_r", "item_rest_r")
Table = list[list[int | None]]


def sparse(table: np.ndarray) -> sp.csr_array:
    """Store the cells that are not NaN, zeros too."""
    seen = ~np.isnan(table)
    return sp.csr_array((table[seen], np.nonzero(seen)), shape=table.shape)


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


def test_hand_worked_sparse_table() -> None:
    # A answers items 0 and 1 with 1 0, B items 0 and 2 with 0 1, C items 1 and 2 with 1 1, D item 0 with 1
    cells = sp.csr_array(([1, 0, 0, 1, 1, 1, 1], ([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 2, 1, 2, 0])), shape=(4, 4))
    found = item_statistics(cells)
    assert found.n_raters.tolist() == [3, 2, 2, 0]
    np.testing.assert_allclose(found.facility, [2 / 3, 1 / 2, 1, np.nan], atol=EXACT)
    # mean scores are .5 .5 1 1; item 0: products of deviations 1/6, squares 2/3 and 1/6, r = 1/6 / sqrt(1/9) = 1/2
    np.testing.assert_allclose(found.item_total_r, [1 / 2, 1, np.nan, np.nan], atol=EXACT)
    # the others of item 0 are 0 for A, 1 for B, none for D; those of item 1 are 1 for A and C
    np.testing.assert_allclose(found.item_rest_r, [-1, np.nan, np.nan, np.nan], atol=EXACT)
    assert found.undefined_reason == (
        None, "zero variance of the total or rest score", "constant item", "no responses",
    )  # fmt: skip
    wrong = item_statistics(cells, missing_policy="incorrect")
    np.testing.assert_allclose(wrong.facility, [1 / 2, 1 / 4, 1 / 2, 0], atol=EXACT)
    # sums are 1 1 2 1; item 1: products of deviations 3/4, squares 3/4 each; its others are 1 for everybody
    np.testing.assert_allclose(wrong.item_total_r, [-1 / np.sqrt(3), 1, 1 / np.sqrt(3), np.nan], atol=EXACT)
    assert wrong.undefined_reason == (None, "zero variance of the total or rest score", None, "constant item")


def pearson_of(pairs: Sequence[tuple[int, Fraction]]) -> float:
    """Pearson's r in whole numbers and fractions, NaN where a variance is exactly 0."""
    n = len(pairs)
    sum_x, sum_s = sum(x for x, _ in pairs), sum(s for _, s in pairs)
    var_x, var_s = n * sum(x * x for x, _ in pairs) - sum_x**2, n * sum(s * s for _, s in pairs) - sum_s**2
    covariance = n * sum(x * s for x, s in pairs) - sum_x * sum_s
    return float(covariance) / float(var_x * var_s) ** 0.5 if var_x * var_s else float("nan")


def by_definition(table: Table, weight: list[int], policy: MissingPolicy, j: int) -> list[float]:
    """Count, facility and both correlations of item j, from the rows repeated."""
    repeated = [row for row, times in zip(table, weight, strict=True) for _ in range(times)]
    scored = [[0 if x is None and policy == "incorrect" else x for x in row] for row in repeated]
    total, rest = [], []
    for row in scored:
        own, seen = row[j], [x for x in row if x is not None]
        if own is not None:
            total.append((own, Fraction(sum(seen), len(seen))))
            if len(seen) > 1:
                rest.append((own, Fraction(sum(seen) - own, len(seen) - 1)))
    mean = sum(x for x, _ in total) / (3 * len(total)) if total else float("nan")
    return [len(total), mean, pearson_of(total), pearson_of(rest)]


@st.composite
def weighted_tables(draw: st.DrawFn) -> tuple[Table, list[int]]:
    n_rows, n_items = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    row = st.lists(st.none() | st.integers(0, 3), min_size=n_items, max_size=n_items)
    rows = st.lists(row, min_size=n_rows, max_size=n_rows)
    return draw(rows), draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))


def columns_of(found: ItemStatistics) -> np.ndarray:
    return np.stack([getattr(found, name) for name in NUMBERS], axis=1)


@given(weighted_tables(), st.sampled_from(["omit", "incorrect"]))
def test_sparse_and_full_tables_equal_the_definition(drawn, policy) -> None:
    table, weight = drawn
    x = np.array(table, dtype=float)
    full, stored = (
        item_statistics(data, missing_policy=policy, max_score=3.0, weight=weight) for data in (x, sparse(x))
    )
    expected = np.array([by_definition(table, weight, policy, j) for j in range(x.shape[1])])
    np.testing.assert_allclose(columns_of(stored), expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(columns_of(full), columns_of(stored), rtol=0, atol=EXACT)
    for found in (full, stored):
        np.testing.assert_array_equal(found.item_rest_r < 0, expected[:, 3] < 0)  # a zero is no rounding below 0
    assert full.undefined_reason == stored.undefined_reason
    assert [reason is None for reason in stored.undefined_reason] == (~np.isnan(expected).any(axis=1)).tolist()


@pytest.mark.parametrize("step", [1.0, 0.1])
def test_equal_totals_of_many_items_have_no_correlation(rng, step) -> None:
    x = step * np.stack([rng.permutation([1.0] * 5 + [0.0] * 6) for _ in range(40)])  # sums that differ by rounding
    found = item_statistics(x)
    assert np.isnan(found.item_total_r).all()
    assert found.undefined_reason == ("zero variance of the total or rest score",) * 11
    np.testing.assert_allclose(found.item_rest_r, -1.0, atol=EXACT)


def test_a_sparse_table_means_what_it_stores_and_stays_as_it_is() -> None:
    cells = sp.csr_array(([2.0, 1.0, 0.0, 3.0], [1, 1, 0, 0], [0, 3, 4]), shape=(2, 2))  # cell 0, 1 in two parts
    found = item_statistics(cells, max_score=3.0)
    np.testing.assert_array_equal(found.facility, [0.5, 1.0])
    assert cells.data.tolist() == [2.0, 1.0, 0.0, 3.0]


def test_a_sparse_table_that_stores_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="stores NaN; leave out"):
        item_statistics(sp.csr_array(np.array([[1.0, np.nan], [0.0, 1.0]])))
