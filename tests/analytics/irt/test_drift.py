"""Drift between calibrations: items that stayed, one that moved, what cannot be linked."""

import numpy as np
import pytest

from analytics.irt.drift import item_drift
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
    drift = item_drift(old, new)
    assert drift.item_ids == tuple(names)
    assert drift.shift == pytest.approx(0.7, abs=0.15)
    assert drift.change[4] == pytest.approx(1.0, abs=0.3)
    assert drift.p_value[4] < 1e-4
    assert np.delete(drift.p_value, 4).min() > 1e-3
    assert np.argmax(np.abs(drift.robust_z)) == 4


def test_what_cannot_be_linked_is_refused(rng: np.random.Generator) -> None:
    values = rng.integers(0, 2, (50, 4))
    fit = fit_rasch(responses_from_matrix(values))
    with pytest.raises(ValueError, match="one model"):
        item_drift(fit, fit_graded(responses_from_matrix(values)))
    with pytest.raises(ValueError, match="0 item"):
        item_drift(fit, fit_rasch(responses_from_matrix(values, item_ids=list("wxyz"))))
