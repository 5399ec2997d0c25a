"""One pass over the cells of the testlet model: sums of probabilities and of their variances, and the likelihood.

Holds the compiled passes at a given point and their spreading over threads. Does not hold the packed layout
(`testlet_pack`) or the passes that move a point (`testlet_sweep`). With s = theta + u, a cell is
p = 1 / (1 + exp(b) exp(-s)): the exponentials are taken per item and per rater x testlet, never per cell.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_pack import Cells
from analytics.irt.vector_math import FAST, larger, vector_exp
from analytics.matrix import FloatArray, IntArray

# error_model="numpy": the check for division by zero would keep the inner loop from being vectorised.
PARALLEL_CELLS = 2_000_000  # below this, neither threads nor a start in single precision save what they cost
_CHUNKS = 32  # sums over testlets are taken chunk by chunk, so that they do not depend on the number of threads
_LARGEST_LOGIT = 35.0
_LARGEST_LOG = 600.0  # one factor more is e ** 671 at most: no overflow at the clipped logits


@dataclass(frozen=True, slots=True)
class CellSums:
    """Sums of one pass: expected right answers and information.

    Attributes
    ----------
    expected_rt, info_rt
        Sum of p and of p(1 - p) over the items of a testlet, shape (n_testlets, n_raters), unweighted.
    expected_item, info_item
        Weighted sums over raters, shape (n_items,).
    """

    expected_rt: FloatArray
    info_rt: FloatArray
    expected_item: FloatArray
    info_item: FloatArray


def cell_sums(cells: Cells, b: FloatArray, s: FloatArray) -> CellSums:
    """Sum p and p(1 - p) at item difficulties `b` (packed order) and `s` = theta + u, (n_testlets, n_raters)."""
    exp_b, exp_minus_s = np.exp(np.clip(b, -300, 300)), np.ascontiguousarray(np.exp(np.clip(-s, -300, 300)))
    shape = s.shape
    out = CellSums(np.zeros(shape), np.zeros(shape), np.zeros(b.size), np.zeros(b.size))

    def run(first: int, last: int) -> None:
        _sum_cells(
            first, last, cells.starts, exp_b, exp_minus_s, cells.observed, cells.weight,
            out.expected_rt, out.info_rt, out.expected_item, out.info_item,
        )  # fmt: skip

    over_testlets(run, cells.n_testlets, b.size * shape[1])
    return out


def log_likelihood(cells: Cells, b: FloatArray, s: FloatArray) -> float:
    """Weighted log-likelihood of the observed cells at `b` (packed order) and `s` (n_testlets, n_raters)."""
    clipped_b, abilities = np.clip(b, -_LARGEST_LOGIT, _LARGEST_LOGIT), np.ascontiguousarray(s)
    exp_minus_b, edges = np.exp(-clipped_b), chunk_edges(cells)
    parts = np.zeros(edges.size - 1)

    def run(first: int, last: int) -> None:
        _log_likelihoods(
            first, last, edges, cells.starts, exp_minus_b, abilities, cells.observed, cells.weight, cells.right_rt,
            parts,
        )  # fmt: skip

    over_testlets(run, parts.size, b.size * s.shape[1])
    return float(np.sum(parts) - np.sum(cells.right_item * clipped_b))


def chunk_edges(cells: Cells) -> IntArray:
    """Return the first testlet of each chunk, and the end."""
    return np.linspace(0, cells.n_testlets, min(_CHUNKS, cells.n_testlets) + 1).astype(np.int64)


def over_testlets(run: Callable[[int, int], None], n_testlets: int, n_cells: int) -> None:
    """Run over ranges of testlets, in threads where the data are large; each range writes its own rows only.

    ``NUMBA_NUM_THREADS`` says how many threads there are; unless it is set, one for each processor.
    """
    allowed: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # numba sets it as it starts
    threads = min(allowed, n_testlets) if n_cells >= PARALLEL_CELLS else 1
    edges = np.linspace(0, n_testlets, threads + 1).astype(np.int64)
    if threads == 1:
        run(0, n_testlets)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, edges[:-1], edges[1:]))


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _sum_cells(
    first: int,
    last: int,
    starts: IntArray,
    exp_b: FloatArray,
    exp_minus_s: FloatArray,
    observed: NDArray[np.uint8],
    weight: FloatArray,
    expected_rt: FloatArray,
    info_rt: FloatArray,
    expected_item: FloatArray,
    info_item: FloatArray,
) -> None:
    has_missing = observed.shape[0] > 0
    n_raters = exp_minus_s.shape[1]
    mask = np.ones(n_raters)
    for t in range(first, last):
        exp_t, sum_p, sum_w = exp_minus_s[t], expected_rt[t], info_rt[t]
        for j in range(starts[t], starts[t + 1]):
            e, item_p, item_w = exp_b[j], 0.0, 0.0
            if has_missing:
                for i in range(n_raters):
                    mask[i] = observed[j, i]
            for i in range(n_raters):
                p = mask[i] / (1.0 + e * exp_t[i])  # 0 where missing, and so is p(1 - p)
                w = p * (1.0 - p)
                sum_p[i] += p
                sum_w[i] += w
                item_p += weight[i] * p
                item_w += weight[i] * w
            expected_item[j] = item_p
            info_item[j] = item_w


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _log_likelihoods(
    first: int,
    last: int,
    edges: IntArray,
    starts: IntArray,
    exp_minus_b: FloatArray,
    s: FloatArray,
    observed: NDArray[np.uint8],
    weight: FloatArray,
    right_rt: FloatArray,
    out: FloatArray,
) -> None:
    """Write each chunk's weighted sum over raters of (right answers times s) less the logs of 1 + exp(s - b).

    The logs of a rater are taken of products, as long as no product can overflow.
    """
    has_missing = observed.shape[0] > 0
    n_raters = s.shape[1]
    product, exp_s, mask = np.empty(n_raters), np.empty(n_raters), np.ones(n_raters)
    for chunk in range(first, last):
        total, bound, j_end = 0.0, 0.0, starts[edges[chunk + 1]]
        product[:] = 1.0
        for t in range(edges[chunk], edges[chunk + 1]):
            largest = 0.0
            for i in range(n_raters):
                clipped = min(max(s[t, i], -_LARGEST_LOGIT), _LARGEST_LOGIT)
                exp_s[i] = vector_exp(clipped)
                total += weight[i] * right_rt[t, i] * clipped
                largest = larger(largest, exp_s[i])
            for j in range(starts[t], starts[t + 1]):
                e = exp_minus_b[j]
                if has_missing:
                    for i in range(n_raters):
                        mask[i] = observed[j, i]
                for i in range(n_raters):
                    product[i] *= 1.0 + mask[i] * e * exp_s[i]
                bound += np.log(1.0 + e * largest)
                if bound > _LARGEST_LOG or j == j_end - 1:
                    for i in range(n_raters):
                        total -= weight[i] * np.log(product[i])
                        product[i] = 1.0
                    bound = 0.0
        out[chunk] = total
