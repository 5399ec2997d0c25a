"""Drift between two calibrations of the same items.

Holds the comparison of difficulties that an anchored scale asks for when its calibration is renewed. Does not hold
calibration or anchored scoring (`testlet_anchor`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.matrix import FloatArray

_SUSPECT = 3.0  # standardised drift beyond which an item is named
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Drift:
    """How difficulties moved from one calibration to the next.

    Attributes
    ----------
    shift
        Common shift, new less old, from the items that did not drift: the constant between the two scales.
    drift
        New less old less the shift, shape (n_items,); NaN for items of one calibration only.
    z
        Drift over its standard error, shape (n_items,).
    is_suspect
        Whether |z| exceeds 3, shape (n_items,).
    rms
        Root mean squared drift of the common items.
    pearson_r
        Correlation of the two calibrations; NaN with fewer than three common items.
    n_common
        Items in both.
    """

    shift: float
    drift: FloatArray
    z: FloatArray
    is_suspect: NDArray[np.bool_]
    rms: float
    pearson_r: float
    n_common: int


def calibration_drift(old_b: FloatArray, old_se: FloatArray, new_b: FloatArray, new_se: FloatArray) -> Drift:
    """Compare two calibrations item by item.

    The shift is the precision-weighted mean difference of the items that are not suspect, found by repeating the
    exclusion until it settles. Standard errors are added as if the calibrations were independent; where they share
    raters, z is too small and the test too mild.

    Parameters
    ----------
    old_b, old_se, new_b, new_se
        Difficulties and standard errors in one item order, shape (n_items,); NaN where an item is absent.

    Raises
    ------
    ValueError
        If no item is in both.
    """
    difference, variance = new_b - old_b, old_se**2 + new_se**2
    common = ~np.isnan(difference) & ~np.isnan(variance)
    if not common.any():
        raise ValueError("the calibrations have no item in common")
    kept, shift = common.copy(), 0.0
    z = np.full(difference.size, np.nan)
    for _ in range(_ROUNDS):
        shift = float(np.average(difference[kept], weights=1.0 / variance[kept]))
        z[common] = (difference[common] - shift) / np.sqrt(variance[common])
        again = common & (np.abs(np.nan_to_num(z)) <= _SUSPECT)
        if np.array_equal(again, kept) or not again.any():
            break
        kept = again
    drift = difference - shift
    has_spread = common.sum() > 2 and np.ptp(old_b[common]) > 0 and np.ptp(new_b[common]) > 0
    return Drift(
        shift=shift,
        drift=drift,
        z=z,
        is_suspect=common & (np.abs(np.nan_to_num(z)) > _SUSPECT),
        rms=float(np.sqrt(np.mean(drift[common] ** 2))),
        pearson_r=float(np.corrcoef(old_b[common], new_b[common])[0, 1]) if has_spread else float("nan"),
        n_common=int(common.sum()),
    )
