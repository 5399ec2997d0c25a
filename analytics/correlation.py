"""Pearson's correlation of two lists of numbers, undefined where it is undefined.

Holds the one function that every unweighted correlation goes through. Correlations of all items at once are in
`ctt.items`, weighted ones in `resampling.ranks`.
"""

import numpy as np

from analytics.matrix import FloatArray

NO_SPREAD = 1e-9
"""Range up to which numbers count as equal: rounding, not spread."""


def pearson(x: FloatArray, y: FloatArray) -> float:
    """Correlate x and y, both of shape (n,) without NaN; NaN below two pairs, or where a side has no spread."""
    if x.size < 2 or np.ptp(x) <= NO_SPREAD or np.ptp(y) <= NO_SPREAD:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
