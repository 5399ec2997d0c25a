"""Rows of the fit with item x model effects, which stands beside the primary fit of a dataset.

Holds when there is such a fit and what it is started from. Does not hold the fit (`irt.testlet_facet`) or the columns
(`fit_rows`).
"""

import numpy as np
import polars as pl

from analytics.difficulty import difficulty_bins
from analytics.fit_rows import FitHead, fit_frame, items_frame, raters_frame
from analytics.irt.testlet_facet import DEFAULT_SCALES, fit_testlet_facet
from analytics.irt.testlet_facet_point import FacetScales
from analytics.irt.testlet_result import SMALLEST_SD, TestletFit, TestletOptions
from analytics.matrix import ResponseMatrix

FACET_CELLS, FACET_TESTLET = 500_000, 300
"""Cells, and items of a testlet, up to which the fit with item x model effects takes seconds and not hours."""


def has_siblings(matrix: ResponseMatrix) -> bool:
    """Whether two models have two raters each, without which item x model effects are not seen."""
    return int(np.sum(np.bincount(matrix.model_codes()) >= 2)) >= 2


def facet_frames(
    head: FitHead, matrix: ResponseMatrix, fit: TestletFit, options: TestletOptions, n_bins: int
) -> dict[str, pl.DataFrame]:
    """Fit the item x model term too, from the standard deviations of the fit without; or say why it is left out."""
    largest = int(np.bincount(matrix.item_testlet).max())
    reason = None
    if matrix.responses.size > FACET_CELLS:
        reason = f"{matrix.responses.size} cells: item x model effects are fitted up to {FACET_CELLS}"
    elif largest > FACET_TESTLET:
        reason = f"a testlet of {largest} items: item x model effects are fitted up to {FACET_TESTLET}"
    if reason is not None:
        return {"irt_fits": fit_frame(head, matrix, None, options, reason)}
    start = FacetScales(max(fit.sd_theta, SMALLEST_SD), max(fit.sd_b, SMALLEST_SD), fit.sd_u, DEFAULT_SCALES.v)
    facet = fit_testlet_facet(
        matrix.responses, matrix.item_testlet, matrix.model_codes(), variances=options.variances, scales=start
    )
    return {
        "irt_fits": fit_frame(head, matrix, facet, options, None),
        "irt_items": items_frame(head, matrix, facet, difficulty_bins(facet.b, n_bins)),
        "irt_raters": raters_frame(head, matrix, facet),
    }
