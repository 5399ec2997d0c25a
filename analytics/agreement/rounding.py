"""One rounding rule for "nearest whole class": halves go away from zero.

The same rule as SQL's ``round``; numpy's own goes to the even neighbour and would move half of all .5 grades. That
other rule is here too, by its name, because published kappas were computed with it.
"""

from typing import Literal

import numpy as np

from analytics.literals import check_option
from analytics.matrix import FloatArray

Halves = Literal["away", "even"]
"""Where 2.5 goes: to 3, the rule of every table and default of every function, or to 2."""


def nearest_class(values: FloatArray, halves: Halves = "away") -> FloatArray:
    """Round to whole classes by a rule that is named.

    Parameters
    ----------
    values
        Any shape; NaN stays NaN.
    halves
        See :data:`Halves`.

    Raises
    ------
    ValueError
        If the rule is unknown.
    """
    check_option("halves", halves, Halves)
    exact: FloatArray = np.asarray(values, dtype=np.float64)
    return round_half_away(exact) if halves == "away" else np.asarray(np.round(exact), dtype=np.float64)


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
