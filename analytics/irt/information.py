"""What calibrated items tell about ability, as curves over theta.

Holds item and test information and characteristic curves. Plots belong elsewhere.
"""

import numpy as np

from analytics.irt.items import ItemParameters, category_probabilities
from analytics.irt.responses import FloatArray, IntArray


def category_curves(items: ItemParameters, theta: FloatArray) -> FloatArray:
    """Return P(category | theta), shape (n_items, n_theta, n_categories); NaN for an item without an estimate."""
    probability, _, _ = category_probabilities(items, _codes(items), np.asarray(theta)[None, :])
    probability[~items.is_estimated] = np.nan
    return probability


def expected_scores(items: ItemParameters, theta: FloatArray) -> FloatArray:
    """Return item characteristic curves: the expected category number, shape (n_items, n_theta)."""
    curves = category_curves(items, theta)
    return np.asarray(curves @ np.arange(curves.shape[2]))


def item_information(items: ItemParameters, theta: FloatArray) -> FloatArray:
    """Return Fisher information, sum over categories of P'^2 / P, shape (n_items, n_theta); NaN without estimate."""
    probability, first, _ = category_probabilities(items, _codes(items), np.asarray(theta)[None, :])
    information = np.sum(np.divide(first**2, probability, out=np.zeros_like(first), where=probability > 0), axis=2)
    information[~items.is_estimated] = np.nan
    return np.asarray(information)


def test_information(items: ItemParameters, theta: FloatArray) -> FloatArray:
    """Return the information of all estimated items together, shape (n_theta,)."""
    return np.asarray(np.nansum(item_information(items, theta), axis=0))


def _codes(items: ItemParameters) -> IntArray:
    """Return item positions as a column."""
    return np.arange(len(items.slope))[:, None]


test_information.__test__ = False  # type: ignore[attr-defined]  # a statistic, not a test: pytest must not collect it
