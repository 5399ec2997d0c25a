"""Search for the mode and the standard deviations of the testlet model with a model facet.

Holds the packed data, Newton's method for the mode and the outer search. Does not hold the linear algebra of a step
(`testlet_facet_system`) or the public fit (`testlet_facet`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from analytics.irt.testlet_facet_quadrature import ItemCorrection, correct_items
from analytics.irt.testlet_facet_system import FacetPoint, FacetScales, FacetSystem
from analytics.irt.testlet_laplace import Batch, make_batches
from analytics.irt.testlet_pack import Cells, pack_cells
from analytics.irt.testlet_point import Point, Scales
from analytics.irt.testlet_result import LARGEST_SD, SMALLEST_SD
from analytics.matrix import FloatArray, IntArray

_LARGEST_STEP, _MAX_ITERATIONS = 1.5, 100
_SMALLEST_GAIN = 1e-5  # in marginal log-likelihood: standard deviations within half a hundredth of their errors
TOLERANCE = 1e-8
"""Largest absolute derivative of the penalised objective at convergence."""


@dataclass(frozen=True, slots=True)
class FacetData:
    """Responses packed by testlet: right and seen are (n_items, n_raters); members are the raters of each model."""

    cells: Cells
    right: FloatArray
    seen: FloatArray
    members: list[IntArray]
    model: IntArray


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
    """Pack responses (n_raters, n_items), items sorted by testlet."""
    x = np.asarray(responses, dtype=np.float64)
    cells = pack_cells(x, item_testlet, int(np.max(item_testlet)) + 1, np.ones(len(x)))
    packed = x.T[cells.order]
    members = [np.flatnonzero(model == m) for m in range(n_models)]
    return FacetData(cells, np.nan_to_num(packed), (~np.isnan(packed)).astype(np.float64), members, model)


def start_facet(data: FacetData) -> FacetPoint:
    """Every effect at 0 and every difficulty at the logit of the overall failure rate."""
    mean = float(np.log((np.sum(data.seen - data.right) + 0.5) / (data.right.sum() + 0.5)))
    n_items, n_models = len(data.right), len(data.members)
    return FacetPoint(
        theta=np.zeros(data.model.size),
        u=np.zeros(data.cells.n_rt.shape),
        d=np.full((n_items, n_models), mean),
        b=np.full(n_items, mean),
        mean_b=mean,
    )


def _batches(data: FacetData, scales: FacetScales, point: FacetPoint) -> list[Batch]:
    """Cell information; the difficulty that a rater meets depends on its model."""
    plain = Scales(scales.theta, scales.b, scales.u)
    s = point.theta + point.u
    batches = make_batches(data.cells, plain, Point(point.theta, point.u, point.b, point.mean_b))
    moved = []
    for batch in batches:
        logit = s[batch.testlets][:, None, :] - point.d[batch.items][:, :, data.model]
        p = 1.0 / (1.0 + np.exp(-logit))
        w = p * (1.0 - p) * data.seen[batch.items]
        kept = 1.0 / (1.0 + scales.u**2 * w.sum(axis=1))
        moved.append(replace(batch, w=w, slope=w * (1.0 - 2.0 * p), kept=kept, spread=scales.u**2 * kept))
    return moved


def _gradient(data: FacetData, scales: FacetScales, point: FacetPoint) -> FacetPoint:
    """Gradient of the penalised objective."""
    logit = _logit(data, point)
    residual = data.right - data.seen / (1.0 + np.exp(-logit))
    starts = data.cells.starts[:-1]
    by_testlet = np.add.reduceat(residual, starts, axis=0)
    by_model = np.stack([residual[:, own].sum(axis=1) for own in data.members], axis=1)
    v, deviation = (point.d - point.b[:, None]) / scales.v**2, (point.b - point.mean_b) / scales.b**2
    return FacetPoint(
        theta=point.theta / scales.theta**2 - by_testlet.sum(axis=0),
        u=point.u / scales.u**2 - by_testlet if scales.u > 0 else np.zeros(point.u.shape),
        d=by_model + v,
        b=deviation - v.sum(axis=1),
        mean_b=-float(deviation.sum()),
    )


def _logit(data: FacetData, point: FacetPoint) -> FloatArray:
    s = np.repeat(point.theta + point.u, np.diff(data.cells.starts), axis=0)
    return s - point.d[:, data.model]


def _largest(point: FacetPoint) -> float:
    return max(float(np.max(np.abs(part))) for part in (point.theta, point.u, point.d, point.b, [point.mean_b]))


def solve_facet(data: FacetData, scales: FacetScales, start: FacetPoint) -> FacetState:
    """Newton from `start`; the objective is convex, so that a small gradient is the proof of convergence."""
    point = start if scales.u > 0 else replace(start, u=np.zeros(start.u.shape))
    for iteration in range(_MAX_ITERATIONS + 1):
        g = _gradient(data, scales, point)
        system = FacetSystem(_batches(data, scales, point), scales, data.members, len(data.right))
        norm = _largest(g)
        if norm <= TOLERANCE or iteration == _MAX_ITERATIONS:
            break
        step = system.solve(g)
        scale = _LARGEST_STEP / max(_largest(step), _LARGEST_STEP)
        point = FacetPoint(
            theta=point.theta - scale * step.theta,
            u=point.u - scale * step.u,
            d=point.d - scale * step.d,
            b=point.b - scale * step.b,
            mean_b=point.mean_b - scale * step.mean_b,
        )
    logit = _logit(data, point)
    log_likelihood = float(np.sum(data.right * logit - data.seen * np.logaddexp(0.0, logit)))
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
        slope = FacetPoint(
            theta=slope.theta - 2.0 * items.slope.theta,
            u=slope.u - 2.0 * items.slope.u,
            d=slope.d - 2.0 * items.slope.d,
            b=slope.b - 2.0 * items.slope.b,
            mean_b=slope.mean_b - 2.0 * items.slope.mean_b,
        )
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
    """Maximise the marginal likelihood, items by quadrature; the flag says whether the search ended well."""
    with_u = state.scales.u > 0
    best, highest = state, -np.inf

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, highest
        sds = np.exp(x)
        current = solve_facet(data, FacetScales(sds[0], sds[1], sds[2] if with_u else 0.0, sds[3]), best.point)
        items = correction(data, current)
        value = current.marginal + items.value
        if value > highest:
            best, highest = current, value
        return -value / scale, -marginal_gradient(data, current, items) / scale

    # the search sees a gradient of order one, so that its first step is not thrown to the bounds
    scale = max(1.0, float(np.max(np.abs(marginal_gradient(data, state)))))
    start = np.log([state.scales.theta, state.scales.b, state.scales.u or 1.0, state.scales.v])
    low, high = np.log(SMALLEST_SD), np.log(LARGEST_SD)
    bounds = [(low, high)] * 4
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-3 / scale})
    # with many items the sum rounds too roughly for the last line search: then the gain still in sight decides
    free = np.where((found.x > low) & (found.x < high), found.jac, 0.0)
    gain = 0.5 * scale * float(free @ found.hess_inv.matvec(free))
    return best, bool(found.success) or gain < _SMALLEST_GAIN
