"""Krippendorff's alpha: agreement of any number of raters, with missing ratings.

Holds alpha for the four levels of measurement. Does not hold pairwise kappas (`kappa`).
"""

from typing import Literal

import numpy as np

from analytics.agreement.pairs import Agreement
from analytics.literals import check_option
from analytics.matrix import FloatArray

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
"""What the distance between two values means."""


def krippendorff_alpha(ratings: FloatArray, level: MeasurementLevel = "nominal") -> Agreement:
    """Krippendorff's alpha (2011, Computing Krippendorff's alpha-reliability).

    1 is perfect agreement, 0 is what chance would give, below 0 is systematic disagreement.

    Parameters
    ----------
    ratings
        Values as numbers (labels as codes), shape (n_raters, n_units); NaN is missing. A unit with fewer than two
        ratings pairs with nothing and is dropped.
    level
        Level of measurement of the values; ``ratio`` wants values that are not negative.

    Returns
    -------
    Agreement
        `n` counts pairable ratings, `n_missing` the cells that are not used. NaN when nothing is pairable or only one
        value occurs: agreement beyond chance is then undefined.
    """
    check_option("level", level, MeasurementLevel)
    ratings = np.asarray(ratings, dtype=np.float64)
    used = ~np.isnan(ratings)
    used &= used.sum(axis=0) >= 2
    n, n_missing = int(used.sum()), int(ratings.size - used.sum())
    if n == 0:
        return Agreement(float("nan"), 0, n_missing, "no unit has two ratings")
    values, codes = np.unique(ratings[used], return_inverse=True)
    if values.size == 1:
        return Agreement(float("nan"), n, n_missing, "one value only")
    unit = np.nonzero(used)[1]
    counts = np.bincount(unit * values.size + codes, minlength=ratings.shape[1] * values.size)
    counts = counts.reshape(ratings.shape[1], values.size).astype(np.float64)
    per_unit = counts.sum(axis=1)
    share = np.divide(1.0, per_unit - 1.0, out=np.zeros(per_unit.size), where=per_unit >= 2)
    coincidence = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    marginal = coincidence.sum(axis=1)
    distance = _squared_distance(values, marginal, level)
    observed = float(np.sum(coincidence * distance)) / n
    expected = float(marginal @ distance @ marginal) / (n * (n - 1))
    return Agreement(1.0 - observed / expected, n, n_missing)


def _squared_distance(values: FloatArray, marginal: FloatArray, level: MeasurementLevel) -> FloatArray:
    if level == "nominal":
        return np.asarray(values[:, None] != values, dtype=np.float64)
    if level == "interval":
        return (values[:, None] - values) ** 2
    if level == "ratio":
        total = values[:, None] + values
        relative = np.zeros(total.shape)
        np.divide(values[:, None] - values, total, out=relative, where=total != 0)
        return relative**2
    middle = np.cumsum(marginal) - marginal / 2.0  # ordinal: ratings between two values, half of each end
    return (middle[:, None] - middle) ** 2
