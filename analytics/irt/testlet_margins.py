"""What the testlet model needs of responses besides the single cells: order, weights, and sums over cells.

Holds the record that both layouts of the cells share, and the two arrangements of rater x testlet pairs. Does not hold
the cells: `testlet_pack` keeps a full table, `testlet_listed` the observed cells alone.
"""

from dataclasses import dataclass

import numpy as np

from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Pairs:
    """How an array with one number for each rater x testlet pair is laid out.

    Beside a full table every pair is there, and such an array has shape (n_testlets, n_raters). Beside listed cells
    only observed pairs are, and it has shape (n_pairs,).

    Attributes
    ----------
    n_raters, n_testlets
        How many there are.
    rater, testlet
        Of each pair that is there, shape (n_pairs,); None where all are.
    codes
        The caller's code of each testlet, ascending, shape (n_testlets,); None where they are 0, 1, 2, ...
    """

    n_raters: int
    n_testlets: int
    rater: IntArray | None = None
    testlet: IntArray | None = None
    codes: IntArray | None = None

    def of_rater(self, values: FloatArray) -> FloatArray:
        """Return raters' values (n_raters,) in a shape that goes with arrays of pairs."""
        return values if self.rater is None else values[self.rater]

    def by_rater(self, values: FloatArray) -> FloatArray:
        """Sum an array of pairs over testlets, shape (n_raters,)."""
        if self.rater is None:
            return np.asarray(values.sum(axis=0))
        return np.asarray(np.bincount(self.rater, values, self.n_raters), dtype=np.float64)

    def squares_by_rater(self, values: FloatArray) -> FloatArray:
        """Sum the squares of an array of pairs over testlets without an array of squares, shape (n_raters,)."""
        return self.by_rater(values**2) if self.rater is not None else np.einsum("tr,tr->r", values, values)

    def by_testlet(self, values: FloatArray) -> FloatArray:
        """Sum an array of pairs over raters, shape (n_testlets,)."""
        if self.testlet is None:
            return np.asarray(values.sum(axis=1))
        return np.asarray(np.bincount(self.testlet, values, self.n_testlets), dtype=np.float64)

    def table(self, values: FloatArray) -> FloatArray:
        """Return an array of pairs with a row for each rater and a column for each code, NaN for pairs not there."""
        table = values.T
        if self.rater is not None and self.testlet is not None:
            table = np.full((self.n_raters, self.n_testlets), np.nan)
            table[self.rater, self.testlet] = values
        if self.codes is None:
            return table
        wide = np.full((self.n_raters, int(self.codes[-1]) + 1), np.nan)
        wide[:, self.codes] = table
        return wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """Order, weights and sums of responses; items are packed, which is sorted by testlet.

    Attributes
    ----------
    order
        Original column of each packed item, shape (n_items,).
    starts
        First packed item of each testlet and the end, shape (n_testlets + 1,).
    pairs
        Layout of arrays of rater x testlet pairs.
    right_rt, n_rt
        Number of right answers, and of observed cells, of each pair.
    right_item
        Weighted number of right answers, shape (n_items,).
    n_item, weight_item
        Number of observed cells, and the weight of their raters, shape (n_items,).
    weight
        Weight of each rater, shape (n_raters,).
    is_complete
        Whether every cell is observed.
    """

    order: IntArray
    starts: IntArray
    pairs: Pairs
    right_rt: FloatArray
    n_rt: FloatArray
    right_item: FloatArray
    n_item: FloatArray
    weight_item: FloatArray
    weight: FloatArray
    is_complete: bool

    @property
    def n_testlets(self) -> int:
        """Number of testlets."""
        return self.starts.size - 1


def packed_order(item_testlet: IntArray, n_testlets: int) -> tuple[IntArray, IntArray]:
    """Return `order` and `starts` of items that are sorted by testlet, their own order kept within one."""
    order = np.argsort(item_testlet, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(item_testlet, minlength=n_testlets))]).astype(np.int64)
    return order, starts
