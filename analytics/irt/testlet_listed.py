"""Sparse responses packed for the testlet model: the observed cells alone, listed rater by rater.

Holds the layout, the one reading that fills it, and the log-likelihood. Does not hold the passes that find the mode
(`testlet_listed_passes`), the information (`testlet_listed_items`), or the layout of a full table (`testlet_pack`).
Its memory is in proportion to the observed cells; there is one testlet effect for each pair of a rater and a testlet
that has a cell, and none for the others, which would stay at 0.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.irt.responses import Responses
from analytics.irt.testlet_margins import Margins, Pairs, packed_order
from analytics.irt.testlet_point import Point
from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedCells(Margins):
    """Observed cells, sorted by rater, then by testlet, then by item.

    Attributes
    ----------
    rater_starts
        First pair of each rater and the end, shape (n_raters + 1,).
    pair_starts
        First cell of each pair and the end, shape (n_pairs + 1,).
    item
        Packed item of each cell, shape (n_cells,).
    right
        1 where a cell is right, shape (n_cells,).
    """

    rater_starts: IntArray
    pair_starts: IntArray
    item: IntArray
    right: NDArray[np.int8]

    @property
    def pair_testlet(self) -> IntArray:
        """Testlet of each pair, shape (n_pairs,)."""
        if self.pairs.testlet is None:
            raise AssertionError("listed cells list their pairs")
        return self.pairs.testlet


def pack_listed(responses: Responses, item_testlet: IntArray, n_testlets: int, weight: FloatArray) -> ListedCells:
    """Pack responses of 0 and 1 without making a table of them.

    Parameters
    ----------
    responses
        Sparse or not.
    item_testlet
        Testlet index of each item, shape (n_items,).
    n_testlets
        Number of testlets.
    weight
        Weight of each rater, shape (n_raters,).

    Raises
    ------
    ValueError
        If a response is neither 0 nor 1.
    """
    order, starts = packed_order(item_testlet, n_testlets)
    n_raters, n_items = responses.n_persons, responses.n_items
    rater, column, right = responses.triples()
    if right.max(initial=0) > 1:
        raise ValueError(f"the testlet model takes 0, 1 or missing; found {int(right.max())}")
    item = np.argsort(order)[column]
    sequence = np.argsort(rater * n_items + item, kind="stable")
    rater, item, right = rater[sequence], item[sequence], right[sequence]
    pair_of_cell = rater * n_testlets + item_testlet[order][item]
    is_first = np.append(True, np.diff(pair_of_cell) > 0)[: item.size]
    first = np.flatnonzero(is_first)
    pair_rater, pair_testlet = rater[first], pair_of_cell[first] % n_testlets
    pair, own = np.cumsum(is_first) - 1, weight[rater]
    return ListedCells(
        order=order,
        starts=starts,
        pairs=Pairs(n_raters, n_testlets, pair_rater, pair_testlet),
        right_rt=np.bincount(pair, right, first.size).astype(np.float64),
        n_rt=np.bincount(pair, minlength=first.size).astype(np.float64),
        right_item=np.bincount(item, own * right, n_items).astype(np.float64),
        n_item=np.bincount(item, minlength=n_items).astype(np.float64),
        weight_item=np.bincount(item, own, n_items).astype(np.float64),
        weight=np.ascontiguousarray(weight, dtype=np.float64),
        is_complete=False,
        rater_starts=np.searchsorted(pair_rater, np.arange(n_raters + 1)).astype(np.int64),
        pair_starts=np.append(first, item.size).astype(np.int64),
        item=item,
        right=right,
    )


def log_likelihood_of_listed(cells: ListedCells, point: Point) -> float:
    """Weighted log-likelihood of the observed cells at `point`."""
    return float(
        _log_likelihood(
            cells.rater_starts, cells.pair_starts, cells.item, cells.right, cells.weight, point.theta, point.u, point.b
        )
    )


@numba.njit(cache=True)
def _log_likelihood(
    rater_starts: IntArray,
    pair_starts: IntArray,
    item: IntArray,
    right: NDArray[np.int8],
    weight: FloatArray,
    theta: FloatArray,
    u: FloatArray,
    b: FloatArray,
) -> float:
    total = 0.0
    for i in range(theta.size):
        own = 0.0
        for p in range(rater_starts[i], rater_starts[i + 1]):
            for c in range(pair_starts[p], pair_starts[p + 1]):
                logit = theta[i] + u[p] - b[item[c]]
                against = -logit if right[c] == 1 else logit
                own -= max(against, 0.0) + np.log1p(np.exp(-abs(against)))
        total += weight[i] * own
    return total
