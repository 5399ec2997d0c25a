"""Whether items kept their place between two calibrations.

Holds the link by a constant and the drift of each item. Scoring on a fixed calibration is ``ability.score_abilities``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from analytics.irt.fit_result import IrtFit
from analytics.irt.responses import FloatArray

FEWEST_ANCHORS = 3


@dataclass(frozen=True, slots=True)
class Drift:
    """Change of the common items from one calibration to the next.

    Attributes
    ----------
    item_ids
        Items estimated in both, in the order of the first.
    shift
        Constant that takes the new difficulties to the scale of the old: old = new + shift.
    change
        Shape (n_items,): new difficulty, put on the old scale, minus the old one. The difficulty of an item with
        several thresholds is their mean.
    z, p_value
        Shape (n_items,): change over its standard error, two-sided normal tail; NaN without standard errors.
    robust_z
        Shape (n_items,): change in units of the interquartile range over 1.349; NaN where that is 0.
    """

    item_ids: tuple[str, ...]
    shift: float
    change: FloatArray
    z: FloatArray
    p_value: FloatArray
    robust_z: FloatArray


def item_drift(old: IrtFit, new: IrtFit) -> Drift:
    """Return the drift of common items after a link by the median difference, which a few drifting items cannot move.

    Parameters
    ----------
    old, new
        Calibrations of one model on separate samples: the errors are taken as independent, and that of the shift,
        small beside an item's own, is left out.

    Raises
    ------
    ValueError
        If the models differ or fewer than 3 items were estimated in both.
    """
    if old.irt_model != new.irt_model:
        raise ValueError(f"drift compares calibrations of one model; got {old.irt_model!r} and {new.irt_model!r}")
    before, after = _difficulties(old), _difficulties(new)
    common = [label for label in before if label in after]
    if len(common) < FEWEST_ANCHORS:
        raise ValueError(f"{len(common)} item(s) estimated in both calibrations; a link needs {FEWEST_ANCHORS}")
    b_old, se_old = np.array([before[label] for label in common]).T
    b_new, se_new = np.array([after[label] for label in common]).T
    shift = float(np.median(b_old - b_new))
    change = b_new + shift - b_old
    z = change / np.hypot(se_old, se_new)
    spread = float(np.subtract(*np.percentile(change, [75, 25]))) / 1.349
    robust = change / spread if spread > 0 else np.full(len(change), np.nan)
    return Drift(tuple(common), shift, change, z, np.asarray(2 * norm.sf(np.abs(z))), robust)


def _difficulties(fit: IrtFit) -> dict[str, tuple[float, float]]:
    """Return mean threshold and its standard error (thresholds as if independent) of each estimated item."""
    found = {}
    for j in np.flatnonzero(fit.items.is_estimated):
        own = np.isfinite(fit.items.thresholds[j])
        error = float(np.sqrt(np.sum(fit.thresholds_se[j, own] ** 2)) / own.sum())
        found[fit.items.item_ids[j]] = (float(fit.items.thresholds[j, own].mean()), error)
    return found
