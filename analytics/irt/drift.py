"""Whether items kept their place between two calibrations.

Holds the comparison of difficulties that an anchored scale asks for when its calibration is renewed: on arrays, and for
two labelled fits. Does not hold calibration or anchored scoring (`testlet_anchor`, `ability`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.correlation import pearson
from analytics.irt.fit_result import IrtFit
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


@dataclass(frozen=True, slots=True)
class ItemDrift:
    """Drift with the items it is of: those of the old calibration, in its order."""

    item_ids: tuple[str, ...]
    drift: Drift


def calibration_drift(old_b: FloatArray, old_se: FloatArray, new_b: FloatArray, new_se: FloatArray) -> Drift:
    """Compare two calibrations item by item.

    The shift is the precision-weighted mean difference of the items that are not suspect, found by repeating the
    exclusion until it settles; it starts from the median difference, which a few drifting items cannot move. Standard
    errors are added as if the calibrations were independent; where they share raters, z is too small and the test too
    mild. The error of the shift, small beside an item's own, is left out.

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
    kept, shift = np.zeros_like(common), float(np.median(difference[common]))
    for _ in range(_ROUNDS):
        again = common & (np.abs(np.nan_to_num(difference - shift)) <= _SUSPECT * np.sqrt(np.nan_to_num(variance)))
        if np.array_equal(again, kept) or not again.any():
            break
        kept = again
        shift = float(np.average(difference[kept], weights=1.0 / variance[kept]))
    drift = np.where(common, difference - shift, np.nan)
    z = drift / np.sqrt(variance)
    return Drift(
        shift=shift,
        drift=drift,
        z=z,
        is_suspect=np.abs(np.nan_to_num(z)) > _SUSPECT,
        rms=float(np.sqrt(np.mean(drift[common] ** 2))),
        pearson_r=pearson(old_b[common], new_b[common]) if common.sum() > 2 else float("nan"),
        n_common=int(common.sum()),
    )


def item_drift(old: IrtFit, new: IrtFit) -> ItemDrift:
    """Return the drift of the items of one calibration in a later one of the same model.

    The difficulty of an item with several thresholds is their mean, its error that of independent thresholds.

    Raises
    ------
    ValueError
        If the models differ or no item was estimated in both.
    """
    if old.irt_model != new.irt_model:
        raise ValueError(f"drift compares calibrations of one model; got {old.irt_model!r} and {new.irt_model!r}")
    place = {label: j for j, label in enumerate(new.items.item_ids)}
    found = np.array([place.get(label, -1) for label in old.items.item_ids])
    after = np.where(found >= 0, np.array(_difficulties(new))[:, found], np.nan)
    return ItemDrift(old.items.item_ids, calibration_drift(*_difficulties(old), *after))


def _difficulties(fit: IrtFit) -> tuple[FloatArray, FloatArray]:
    """Return mean threshold and its standard error of each item, NaN where there is no finite estimate."""
    own = np.isfinite(fit.items.thresholds) & fit.items.is_estimated[:, None]
    n = np.where(own.any(axis=1), own.sum(axis=1), np.nan)
    b = np.where(own, fit.items.thresholds, 0.0).sum(axis=1) / n
    return b, np.sqrt(np.where(own, fit.thresholds_se**2, 0.0).sum(axis=1)) / n
