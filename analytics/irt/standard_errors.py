"""Standard errors of slope, thresholds and lower asymptote from the information about the search parameters.

Holds the delta method. The information itself belongs to ``marginal``.
"""

import numpy as np
import scipy.sparse as sp

from analytics.irt.expectation import Rows
from analytics.irt.families import Family
from analytics.irt.items import ItemParameters
from analytics.irt.marginal import STEEPEST, Problem, Solution
from analytics.irt.model_spec import ModelSpec
from analytics.irt.observed_information import SeMethod, information, inverse_information
from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import FloatArray, IntArray

LOWER_BOUNDARY = 1e-4  # a lower asymptote below this is at its boundary, 0


def readable(family: Family, x: FloatArray, n_categories: IntArray, *, is_rescaled: bool) -> ItemParameters:
    """Return x as slope, thresholds and lower asymptote, with numbers for labels."""
    slope, thresholds, lower = family.readable(x, n_categories)
    if is_rescaled:
        slope, thresholds = np.ones_like(slope), thresholds * slope[:, None]
    by_number = {n: tuple(range(n)) for n in np.unique(n_categories).tolist()}
    scores = tuple(by_number[n] for n in n_categories.tolist())
    return ItemParameters(family.response_family, tuple(map(str, range(len(x)))), slope, thresholds, lower, scores)


def _flat(items: ItemParameters) -> FloatArray:
    """Return slope, lower asymptote and thresholds side by side, shape (n_items, 2 + n_thresholds)."""
    return np.concatenate([items.slope[:, None], items.lower[:, None], np.nan_to_num(items.thresholds)], axis=1)


def standard_errors(
    spec: ModelSpec,
    problem: Problem,
    solution: Solution,
    rows: Rows,
    quadrature: Quadrature,
    method: SeMethod,
) -> tuple[FloatArray, float, bool]:
    """Return standard errors laid out as by :func:`_flat`, that of the common slope, and whether they exist.

    A lower asymptote at 0 is taken as known.
    """
    x, n_items, width = solution.x, *solution.x.shape
    missing = np.full((n_items, width + (1 if not spec.has_lower else 0)), np.nan)
    if method == "none":
        return missing, float("nan"), True
    if np.abs(x[:, 0]).max() > STEEPEST:
        return missing, float("nan"), False
    matrix, spread = information(problem, rows, quadrature, x, method)
    known = np.zeros(matrix.shape[0], dtype=bool)
    if spec.has_lower:
        at_zero = np.flatnonzero(x[:, 2] < np.log(LOWER_BOUNDARY)) * width + 2
        known[spread[at_zero].indices] = True
    inverse = inverse_information(matrix[np.ix_(~known, ~known)])
    if inverse is None:
        return missing, float("nan"), False
    spread = spread[:, np.flatnonzero(~known)]
    jacobian = _jacobian(spec, problem, x) @ spread
    if spec.center == "items":
        jacobian = _centred(jacobian, problem.n_categories, missing.shape[1])
    dense = jacobian.toarray()
    variance = np.einsum("ij,ij->i", dense @ inverse, dense).reshape(missing.shape)
    errors = np.sqrt(variance)
    errors[variance == 0] = np.nan
    return errors, float(np.sqrt(inverse[-1, -1])) if spec.slope == "common" else float("nan"), True


def _jacobian(spec: ModelSpec, problem: Problem, x: FloatArray, step: float = 1e-6) -> sp.csr_array:
    """Return the derivative of the readable parameters by x, block-diagonal by item."""
    n_items, width = x.shape
    columns = []
    for h in range(width):
        near = [x.copy(), x.copy()]
        near[0][:, h] += step
        near[1][:, h] -= step
        up, down = (
            _flat(readable(problem.family, v, problem.n_categories, is_rescaled=spec.is_rescaled)) for v in near
        )
        columns.append((up - down) / (2 * step))
    blocks = np.stack(columns, axis=2)  # (items, outputs, parameters)
    n_out = blocks.shape[1]
    target = np.broadcast_to((np.arange(n_items)[:, None] * n_out + np.arange(n_out))[:, :, None], blocks.shape)
    source = np.broadcast_to((np.arange(n_items)[:, None] * width + np.arange(width))[:, None, :], blocks.shape)
    shape = (n_items * n_out, n_items * width)
    return sp.csr_array((blocks.ravel(), (target.ravel(), source.ravel())), shape=shape)


def _centred(jacobian: sp.csr_array, n_categories: IntArray, n_out: int) -> sp.csr_array:
    """Return the derivative of thresholds less their mean."""
    own = np.zeros((len(n_categories), n_out))
    own[:, 2:] = np.arange(n_out - 2)[None, :] < n_categories[:, None] - 1
    chosen = sp.csr_array(own.reshape(1, -1))
    mean = chosen @ jacobian / own.sum()
    return sp.csr_array(jacobian - chosen.T @ mean)
