"""One rounding rule for "nearest whole class": halves go away from zero.

The same rule as SQL's ``round``; numpy's own goes to the even neighbour and would move half of all .5 grades.
"""

import numpy as np

from analytics.matrix import FloatArray


def round_half_away(values: FloatArray) -> FloatArray:
    """Round to whole numbers, halves away from zero: 2.5 to 3, -2.5 to -3.

    Parameters
    ----------
    values
        Any shape; NaN stays NaN.
    """
    values = np.asarray(values, dtype=np.float64)
    whole: FloatArray = np.trunc(values)
    # adding 0.5 first would round 0.49999999999999994 up
    away: FloatArray = np.sign(values) * (np.abs(values - whole) >= 0.5)
    return whole + away
