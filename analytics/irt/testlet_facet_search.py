"""Search for the mode and the standard deviations of the testlet model with a model facet.

Holds the packed data, Newton's method for the mode and the outer search. Does not hold the linear algebra of a step
(`testlet_facet_system`) or the public fit (`testlet_facet`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from analytics.irt.testlet_facet_cells import CellPass, pass_cells
from analytics.irt.testlet_facet_point import FacetPoint, FacetScales
from analytics.irt.testlet_facet_quadrature import ItemCorrection, correct_items
from analytics.irt.testlet_facet_system import FacetSystem
from analytics.irt.testlet_pack import Cells, pack_cells
from analytics.irt.testlet_result import LARGEST_SD, SMALLEST_SD
from analytics.matrix import FloatArray, IntArray

_LARGEST_STEP, _MAX_ITERATIONS = 1.5, 100
_FALL = 0.05  # of the gradient in a step: where it falls by less, a new system is worth its cost
# until variances are within a thousandth of their standard errors, or the likelihood has stopped rising: the
# quadrature's own error, which its derivatives do not follow, lets no line search rise much further. Where sd_v is as
# large as 3 that error is felt: some .01 of log-likelihood may be left
_SEARCH = {"gtol": 1e-3, "ftol": 1e-7, "maxls": 6}
_SMALLEST_GAIN = 1e-3  # in marginal log-likelihood: standard deviations within a twentieth of their errors
TOLERANCE = 1e-8
"""Largest absolute derivative of the penalised objective at convergence."""


@dataclass(frozen=True, slots=True)
class FacetData:
    """Responses packed by testlet, raters in the order of their models.

    Attributes
    ----------
    cells
        The layout: order and sizes.
    right, seen
        1 where right, and where observed, shape (n_items, n_raters).
    order
        Input row of each rater, shape (n_raters,).
    model
        Model of each rater, ascending, shape (n_raters,).
    edges
        First rater of each model and the end, shape (n_models + 1,).
    """

    cells: Cells
    right: FloatArray
    seen: FloatArray
    order: IntArray
    model: IntArray
    edges: IntArray


@dataclass(frozen=True, slots=True)
class FacetState:
    """A mode with its standard deviations, system and likelihoods; `marginal` is Laplace's."""

    scales: FacetScales
    point: FacetPoint
    system: FacetSystem
    n_iterations: int
    gradient_norm: float
    log_likelihood: float
    marginal: float


def pack_facet(responses: FloatArray, item_testlet: IntArray, model: IntArray, n_models: int) -> FacetData:
    """Pack responses (n_raters, n_items): items sorted by testlet, raters by model."""
    order = np.argsort(model, kind="stable")
    x = np.asarray(responses, dtype=np.float64)[order]
    cells = pack_cells(x, item_testlet, int(np.max(item_testlet)) + 1, np.ones(len(x)))
    packed = np.ascontiguousarray(x.T[cells.order])
    edges = np.append(0, np.cumsum(np.bincount(model, minlength=n_models)))
    return FacetData(cells, np.nan_to_num(packed), (~np.isnan(packed)).astype(np.float64), order, model[order], edges)


def start_facet(data: FacetData) -> FacetPoint:
    """Abilities and difficulties at the logits of what raters and items have right, every effect at 0."""
    wrong = data.seen - data.right
    theta, b = (
        np.log((data.right.sum(axis=axis) + 0.5) / (wrong.sum(axis=axis) + 0.5)) * sign
        for axis, sign in ((0, 1), (1, -1))
    )
    return FacetPoint(
        theta=theta - np.mean(theta),
        u=np.zeros(data.cells.n_rt.shape),
        d=np.repeat(b[:, None], data.edges.size - 1, axis=1),
        b=b,
        mean_b=float(np.mean(b)),
    )


def _gradient(cells: CellPass, scales: FacetScales, point: FacetPoint) -> FacetPoint:
    """Gradient of the penalised objective."""
    v, deviation = (point.d - point.b[:, None]) / scales.v**2, (point.b - point.mean_b) / scales.b**2
    return FacetPoint(
        theta=point.theta / scales.theta**2 - cells.by_testlet.sum(axis=0),
        u=point.u / scales.u**2 - cells.by_testlet if scales.u > 0 else np.zeros(point.u.shape),
        d=cells.by_model + v,
        b=deviation - v.sum(axis=1),
        mean_b=-float(deviation.sum()),
    )


def solve_facet(
    data: FacetData, scales: FacetScales, start: FacetPoint, system: FacetSystem | None = None
) -> FacetState:
    """Newton from `start`; the objective is convex, so that a small gradient is the proof of convergence.

    A system serves for as long as the gradient falls well with it, at first the `system` of a mode nearby.
    """
    point, before = start if scales.u > 0 else replace(start, u=np.zeros(start.u.shape)), np.inf
    for iteration in range(_MAX_ITERATIONS + 1):
        cells = pass_cells(data.right, data.seen, data.model, data.cells.starts, point)
        g = _gradient(cells, scales, point)
        norm = g.largest()
        is_mode = norm <= 0.1 * TOLERANCE or (norm <= TOLERANCE and norm > _FALL * before)  # while it falls, it may
        if is_mode or iteration == _MAX_ITERATIONS:
            break
        if system is None or norm > _FALL * before:
            system = FacetSystem(cells.p, scales, data.cells.starts, data.edges)
        step, before = system.solve(g), norm
        point = point.plus(step, -_LARGEST_STEP / max(step.largest(), _LARGEST_STEP))
    system = FacetSystem(cells.p, scales, data.cells.starts, data.edges)
    log_likelihood = float(np.sum(cells.log_likelihood))
    squares = np.sum((point.theta / scales.theta) ** 2) + np.sum(((point.d - point.b[:, None]) / scales.v) ** 2)
    squares += np.sum(((point.b - point.mean_b) / scales.b) ** 2)
    squares += np.sum((point.u / scales.u) ** 2) if scales.u > 0 else 0.0
    marginal = log_likelihood - 0.5 * float(squares) - system.half_log_determinant + 0.5 * float(np.log(2.0 * np.pi))
    return FacetState(scales, point, system, iteration, norm, log_likelihood, marginal)


def correction(data: FacetData, state: FacetState) -> ItemCorrection:
    """Return what the items' exact integrals add to the Laplace marginal log-likelihood."""
    return correct_items(data.right, data.seen, data.model, data.cells.starts, state.scales, state.point)


def marginal_gradient(data: FacetData, state: FacetState, items: ItemCorrection | None = None) -> FloatArray:
    """Differentiate the marginal log-likelihood, that of `items` included, in log sd of theta, b, u and v."""
    point, scales = state.point, state.scales
    variances, slope, _ = state.system.variances(point.u.shape, len(data.right))
    if items is not None:  # the mode moves the correction as well; the log determinant counts by minus a half
        slope = slope.plus(items.slope, -2.0)
    adjoint = state.system.solve(slope)
    parts = []
    for effect, variance, shift, sd in (
        (point.theta, variances.theta, adjoint.theta, scales.theta),
        (point.b - point.mean_b, variances.b, adjoint.b - adjoint.mean_b, scales.b),
        (point.u, variances.u, adjoint.u, scales.u),
        (point.d - point.b[:, None], variances.d, adjoint.d - adjoint.b[:, None], scales.v),
    ):
        parts.append(float(np.sum(effect**2 + variance - sd**2 - effect * shift)) / sd**2 if sd > 0 else 0.0)
    direct = [0.0, items.for_b, 0.0, items.for_v] if items is not None else [0.0] * 4
    return np.array(parts) + direct


def estimate_facet(data: FacetData, state: FacetState) -> tuple[FacetState, bool]:
    """Maximise the marginal likelihood, items by quadrature; the flag says whether the search ended well.

    The search is over the variances in units of their standard errors: there the likelihood is nearly quadratic, also
    towards 0. The errors change much on the way, so that a step comes first and the search begins where it led.
    """
    state = _step(data, state)
    best, highest = state, -np.inf
    first: float | None = None  # the others are counted from it, so that a small gain is not small beside them
    sds, errors = _log_sds(data, state)
    start = 0.5 / errors

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, highest, first
        scales = _scales(state, sds * np.sqrt(x / start))
        current = state if scales == state.scales else solve_facet(data, scales, best.point, best.system)
        items = correction(data, current)
        value = current.marginal + items.value
        if value > highest:
            best, highest = current, value
        first = value if first is None else first
        return first - value, -0.5 * marginal_gradient(data, current, items) / x

    low, high = start * (SMALLEST_SD / sds) ** 2, start * (LARGEST_SD / sds) ** 2
    bounds = np.stack([low, high], axis=1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_SEARCH)
    # with many items the sum rounds too roughly for the last line search: then the gain still in sight decides
    free = np.where((found.x > low) & (found.x < high), found.jac, 0.0)
    gain = 0.5 * float(free @ found.hess_inv.matvec(free))
    return best, bool(found.success) or gain < _SMALLEST_GAIN


def _step(data: FacetData, state: FacetState) -> FacetState:
    """Take Fisher's step over the variances, items by Laplace's method; none changes by a factor of more than nine."""
    sds, errors = _log_sds(data, state)
    ratio = np.clip(1.0 + 2.0 * errors**2 * marginal_gradient(data, state), 1.0 / 9.0, 9.0)
    scales = _scales(state, np.clip(sds * np.sqrt(ratio), SMALLEST_SD, LARGEST_SD))
    return solve_facet(data, scales, state.point, state.system)


def _scales(state: FacetState, sds: FloatArray) -> FacetScales:
    return FacetScales(sds[0], sds[1], sds[2] if state.scales.u > 0 else 0.0, sds[3])


def _log_sds(data: FacetData, state: FacetState) -> tuple[FloatArray, FloatArray]:
    """Return the sds, 1 for one that is left out, and roughly the standard errors of their logs.

    If the data of an effect were normal and its own, they would have the information 2 r^2 on its log sd, r the share
    of its variance that they take away.
    """
    scales, (variances, _, _) = state.scales, state.system.variances(state.point.u.shape, len(data.right))
    sds = np.array([scales.theta, scales.b, scales.u or 1.0, scales.v])
    effects = (variances.theta, variances.b, variances.u, variances.d)
    information = [2.0 * np.sum((1.0 - var / sd**2) ** 2) for var, sd in zip(effects, sds, strict=True)]
    return sds, 1.0 / np.sqrt(np.maximum(information, 1.0))
