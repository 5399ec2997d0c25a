"""The 1PL testlet model, logit P = theta_i - b_j + u_it, by penalised likelihood.

Holds the public fit. Does not hold its options and result (`testlet_result`), the search for the mode (`testlet_mode`),
the information (`testlet_laplace`), the choice of the standard deviations (`testlet_variances`) or the marginal fit
with fixed items (`testlet_marginal`). Raters, testlet effects and items are all random: theta ~ N(0, sd_theta^2),
u ~ N(0, sd_u^2), b ~ N(mean_b, sd_b^2) with the mean free.
"""

from dataclasses import replace

import numpy as np

from analytics.irt.responses import Responses
from analytics.irt.testlet_listed import pack_listed
from analytics.irt.testlet_mode import AnyCells
from analytics.irt.testlet_pack import pack_cells
from analytics.irt.testlet_point import Scales
from analytics.irt.testlet_result import DEFAULT_OPTIONS, TestletFit, TestletOptions, make_fit
from analytics.irt.testlet_variances import estimate_scales, solve
from analytics.matrix import FloatArray, IntArray


def fit_testlet(
    responses: FloatArray | Responses,
    item_testlet: IntArray,
    options: TestletOptions = DEFAULT_OPTIONS,
    *,
    weight: FloatArray | None = None,
) -> TestletFit:
    """Fit the 1PL testlet model to raters x items.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1 right, 0 wrong, NaN missing; any memory order. A complete table of one byte a cell
        is read without a copy. Sparse `Responses` of more raters than items are fitted cell by cell, in memory that
        grows with the observed cells and the square of the items; their own weights are not looked at.
    item_testlet
        Testlet of each item as an integer from 0, shape (n_items,); a code may be without items.
    options
        Standard deviations, given or estimated, and tolerances.
    weight
        Times that each rater's row counts, penalty included, shape (n_raters,), all positive: the fit equals that of
        repeated rows. None counts every row once.

    Returns
    -------
    TestletFit
        Estimates are the joint mode; standard errors come from the full information by elimination.

    Raises
    ------
    ValueError
        If no cell is observed or all responses are alike, the shapes disagree, a weight is not positive, or a response
        is neither 0, 1 nor missing.
    """
    item_testlet = np.asarray(item_testlet, dtype=np.int64)
    shape = responses.shape if isinstance(responses, Responses) else np.shape(responses)
    if len(shape) != 2 or item_testlet.shape != shape[1:]:
        raise ValueError(f"responses {shape} and item_testlet {item_testlet.shape} do not fit together")
    weight = np.ones(shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.shape != shape[:1] or not np.all(weight > 0):
        raise ValueError("weights must be positive, one for each rater")
    codes, testlet = np.unique(item_testlet, return_inverse=True)
    cells = _pack(responses, testlet, weight)
    if codes[-1] >= codes.size:  # a testlet without items has no effect, and would be in the way of those that have
        cells = replace(cells, pairs=replace(cells.pairs, codes=codes))
    n_right, n_seen = cells.right_rt.sum(), cells.n_item.sum()
    if n_seen == 0:
        raise ValueError("no response is observed: there is nothing to fit")
    if n_right == 0 or n_right == n_seen:
        raise ValueError(f"every observed response is {int(n_right > 0)}: the mean difficulty has no finite value")
    scales, warnings = _usable_scales(cells, options)
    if options.variances == "given":
        return make_fit(cells, solve(cells, scales, options, None), options, warnings, is_converged=True)
    solution, is_converged = estimate_scales(cells, scales, options)
    return make_fit(cells, solution, options, warnings, is_converged=is_converged)


def _pack(responses: FloatArray | Responses, item_testlet: IntArray, weight: FloatArray) -> AnyCells:
    """List the cells of sparse responses if raters are the long side; pack a table otherwise."""
    n_testlets = int(item_testlet.max()) + 1
    if not isinstance(responses, Responses):
        return pack_cells(np.asarray(responses), item_testlet, n_testlets, weight)
    if responses.dense is None and responses.n_persons > responses.n_items:
        return pack_listed(responses, item_testlet, n_testlets, weight)
    return pack_cells(responses.table(), item_testlet, n_testlets, weight)


def _usable_scales(cells: AnyCells, options: TestletOptions) -> tuple[Scales, list[str]]:
    """Start values; where the design cannot show a testlet effect it is left out, and the result says so."""
    scales = Scales(options.sd_theta, options.sd_b, options.sd_u)
    if options.variances == "given":
        return scales, []
    if cells.n_item.size == 1:
        return replace(scales, u=0.0), ["one item only: it tells nothing of how far abilities or difficulties spread"]
    if cells.n_testlets == 1:
        return replace(scales, u=0.0), ["one testlet only: its effect cannot be told from theta and is left out"]
    if cells.n_rt.max() <= 1:
        return replace(scales, u=0.0), ["every testlet has one item: testlet effects are left out"]
    return scales, []
