"""Distractor tables and the upper-lower index."""

import numpy as np
import pytest

from analytics.ctt.distractors import MISSING_CHOICE, d_index, distractor_table

CHOICES = np.array([[0, 1, 3], [0, 1, 1], [1, 1, 3], [0, 0, MISSING_CHOICE], [1, 3, 0]])
KEY = np.array([0, 1, 3])


def test_options_never_chosen_keep_their_row() -> None:
    found = distractor_table(CHOICES, KEY, 4)
    assert found.n[0].tolist() == [3, 2, 0, 0]
    assert found.share[2].tolist() == [0.25, 0.25, 0.0, 0.5]  # four answered
    assert np.isnan(found.mean_rest[0, 2])
    assert np.isnan(found.option_rest_r[0, 2])
    assert found.is_key.argmax(axis=1).tolist() == KEY.tolist()


def test_rest_means_by_hand() -> None:
    # item 0, right on the others: 2/2, 1/2, 2/2, 0/1, 0/2; key chosen by raters 0 1 3, option 1 by raters 2 4
    found = distractor_table(CHOICES, KEY, 4)
    assert found.mean_rest[0, :2] == pytest.approx([0.5, 0.5])
    assert found.option_rest_r[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_a_choice_outside_the_options_is_refused() -> None:
    with pytest.raises(ValueError, match="a choice is outside the options -1 to 2"):
        distractor_table(CHOICES, np.array([0, 1, 2]), 3)


def test_upper_lower_index_by_hand() -> None:
    x = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=float)
    np.testing.assert_allclose(d_index(x, 0.4), [1.0, 0.5, 1.0, 0.5])


def test_ties_at_the_edge_enter_with_equal_weight(rng) -> None:
    x = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=float)
    # upper group of one and a half: the first, and a quarter of each of the two in the middle
    np.testing.assert_allclose(d_index(x, 0.375), [(1.25 - 0.25) / 1.5] * 2)
    order = rng.permutation(4)
    np.testing.assert_allclose(d_index(x[order], 0.375), d_index(x, 0.375))


def test_a_share_above_one_half_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(0, 0.5\]"):
        d_index(np.eye(2), 0.6)
