"""One pass over the cells of the testlet model with a model facet: probabilities, residuals, the likelihood.

Holds the compiled pass at a given point. Does not hold what is made of its sums (`testlet_facet_search`).
"""

from typing import NamedTuple

import numba
import numpy as np

from analytics.irt.testlet_facet_point import FacetPoint
from analytics.irt.vector_math import FAST, larger, vector_exp
from analytics.matrix import FloatArray, IntArray

_AT_ONCE = 512  # raters: a product of so many numbers between 1/2 and 1 does not underflow


class CellPass(NamedTuple):
    """What the pass leaves.

    Attributes
    ----------
    p
        Probability of a right answer, 0 where missing, shape (n_items, n_raters).
    by_testlet, by_model
        Right answers less expected ones, shapes (n_testlets, n_raters) and (n_items, n_models).
    log_likelihood
        Of each item, shape (n_items,).
    """

    p: FloatArray
    by_testlet: FloatArray
    by_model: FloatArray
    log_likelihood: FloatArray


def pass_cells(right: FloatArray, seen: FloatArray, model: IntArray, starts: IntArray, point: FacetPoint) -> CellPass:
    """Pass over the cells, items packed by testlet.

    Parameters
    ----------
    right, seen
        1 where right, and where observed, shape (n_items, n_raters).
    model
        Model of each rater, codes from 0, shape (n_raters,).
    starts
        First item of each testlet and the end.
    point
        Where.
    """
    out = CellPass(np.empty(right.shape), np.zeros(point.u.shape), np.zeros(point.d.shape), np.zeros(len(right)))
    _pass(right, seen, model, starts, point.theta + point.u, point.d, out)
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _pass(
    right: FloatArray, seen: FloatArray, model: IntArray, starts: IntArray, s: FloatArray, d: FloatArray, out: CellPass
) -> None:
    n_raters = model.size
    logit, residual = np.empty(n_raters), np.empty(n_raters)
    for t in range(starts.size - 1):
        ability, by_testlet = s[t], out.by_testlet[t]
        for j in range(starts[t], starts[t + 1]):
            own_right, own_seen, own_d, p, by_model = right[j], seen[j], d[j], out.p[j], out.by_model[j]
            for i in range(n_raters):
                logit[i] = ability[i] - own_d[model[i]]
            for i in range(n_raters):
                p[i] = own_seen[i] / (1.0 + vector_exp(-logit[i]))
                residual[i] = own_right[i] - p[i]
                by_testlet[i] += residual[i]
            for i in range(n_raters):
                by_model[model[i]] += residual[i]
            for low in range(0, n_raters, _AT_ONCE):
                total, product = 0.0, 1.0
                for i in range(low, min(low + _AT_ONCE, n_raters)):
                    total += own_right[i] * logit[i] - own_seen[i] * larger(logit[i], 0.0)
                    product *= larger(p[i], 1.0 - p[i])  # 1 / (1 + exp(-|logit|)), and 1 where missing
                out.log_likelihood[j] += total + np.log(product)
