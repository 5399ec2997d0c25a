"""Difficulty bins: equal counts, ties together, order without effect."""

import numpy as np
import pytest

from analytics.difficulty import difficulty_bins


def test_distinct_values_give_equal_counts() -> None:
    assert np.bincount(difficulty_bins(np.arange(20.0)))[1:].tolist() == [4, 4, 4, 4, 4]
    assert difficulty_bins(np.arange(20.0)).tolist() == sorted(difficulty_bins(np.arange(20.0)).tolist())


def test_tied_items_share_a_bin_even_when_the_group_is_larger_than_a_bin() -> None:
    # middle rank of the four tied items: (1 + 2) / 9 of the way, bin 1 + floor(5 / 3)
    bins = difficulty_bins(np.array([1, 1, 1, 1, 5, 2, 3, 4, 0], dtype=float))
    assert bins.tolist() == [2, 2, 2, 2, 5, 4, 4, 5, 1]


def test_ties_are_seen_through_rounding_noise() -> None:
    bins = difficulty_bins(np.array([0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 2.0]), 2)
    assert len(set(bins[1:4])) == 1


def test_order_does_not_matter(rng) -> None:
    b = np.round(rng.normal(size=101), 1)
    order = rng.permutation(101)
    np.testing.assert_array_equal(difficulty_bins(b[order]), difficulty_bins(b)[order])


def test_items_without_an_estimate_are_in_no_bin() -> None:
    assert difficulty_bins(np.array([np.nan, 1.0, 2.0]), 2).tolist() == [0, 1, 2]
    assert difficulty_bins(np.full(3, np.nan)).tolist() == [0, 0, 0]


def test_all_tied_go_to_the_middle() -> None:
    assert set(difficulty_bins(np.zeros(10))) == {3}


def test_one_bin_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        difficulty_bins(np.zeros(3), 1)
