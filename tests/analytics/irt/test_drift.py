"""Drift between calibrations: items that stayed, one that moved, what cannot be linked."""

import numpy as np
import pytest

from analytics.irt.drift import calibration_drift, item_drift
from analytics.irt.graded import fit_graded
from analytics.irt.items import item_parameters
from analytics.irt.rasch import fit_rasch
from analytics.irt.reading import responses_from_matrix
from tests.analytics.irt.simulate import draw


def test_the_item_that_moved_is_found_whatever_the_origin() -> None:
    rng = np.random.default_rng(2)
    b = np.linspace(-1.5, 1.5, 12)
    moved = b.copy()
    moved[4] += 1.0
    first = draw(item_parameters("logistic", b), rng.normal(size=1500), rng)
    second = draw(item_parameters("logistic", moved), rng.normal(size=1500) + 0.7, rng)  # an abler sample
    names = [f"q{j}" for j in range(12)]
    old = fit_rasch(responses_from_matrix(first, item_ids=names))
    new = fit_rasch(responses_from_matrix(second[:, ::-1], item_ids=names[::-1]))
    found = item_drift(old, new)
    assert found.item_ids == tuple(names)
    assert found.drift.shift == pytest.approx(-0.7, abs=0.15)
    assert found.drift.drift[4] == pytest.approx(1.0, abs=0.3)
    assert np.flatnonzero(found.drift.is_suspect).tolist() == [4]


def test_an_item_of_one_calibration_only_has_no_drift(rng: np.random.Generator) -> None:
    theta, b = rng.normal(size=300), np.linspace(-1, 1, 6)
    values = draw(item_parameters("logistic", b), theta, rng)
    old = fit_rasch(responses_from_matrix(values, item_ids=list("abcdef")))
    new = fit_rasch(responses_from_matrix(values[:, 1:], item_ids=list("bcdef")))
    found = item_drift(old, new)
    assert found.item_ids == tuple("abcdef")
    assert np.isnan(found.drift.drift).tolist() == [True] + [False] * 5
    assert found.drift.n_common == 5
    # the same answers: what is left is the shift of the origin, the difficulties themselves stay
    assert found.drift.rms < 0.05


def test_drift_finds_the_shift_and_the_item_that_moved(rng) -> None:
    old = rng.normal(size=80)
    new = old + 0.7 + rng.normal(0, 0.1, 80)
    new[5] += 2.0
    old[9] = np.nan
    found = calibration_drift(old, np.full(80, 0.1), new, np.full(80, 0.1))
    assert found.shift == pytest.approx(0.7, abs=0.05)
    assert np.flatnonzero(found.is_suspect).tolist() == [5]
    assert found.n_common == 79
    assert np.isnan(found.drift[9])
    with pytest.raises(ValueError, match="no item in common"):
        calibration_drift(np.array([np.nan]), np.ones(1), np.ones(1), np.ones(1))


def test_many_precise_items_that_moved_far_do_not_carry_the_shift_away(rng: np.random.Generator) -> None:
    old, se = rng.normal(size=20), np.full(20, 0.05)
    new = old + 0.3 + rng.normal(0, 0.05, 20)
    new[:7] += 3.0
    se[:7] = 0.01
    found = calibration_drift(old, se, new, se)
    assert found.shift == pytest.approx(0.3, abs=0.05)
    assert np.flatnonzero(found.is_suspect).tolist() == list(range(7))


def test_what_cannot_be_linked_is_refused(rng: np.random.Generator) -> None:
    values = rng.integers(0, 2, (50, 4))
    fit = fit_rasch(responses_from_matrix(values))
    with pytest.raises(ValueError, match="one model"):
        item_drift(fit, fit_graded(responses_from_matrix(values)))
    with pytest.raises(ValueError, match="no item in common"):
        item_drift(fit, fit_rasch(responses_from_matrix(values, item_ids=list("wxyz"))))
