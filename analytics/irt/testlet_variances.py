"""Standard deviations of the testlet model by Laplace marginal likelihood.

Holds the outer search over the three log standard deviations, each step a mode and an elimination. Does not hold
those two (`testlet_mode`, `testlet_laplace`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analytics.irt.testlet_cells import log_likelihood
from analytics.irt.testlet_laplace import Information, information
from analytics.irt.testlet_laplace_items import information_by_items
from analytics.irt.testlet_listed import ListedCells, log_likelihood_of_listed
from analytics.irt.testlet_listed_items import information_of_listed
from analytics.irt.testlet_mode import AnyCells, Mode, find_mode
from analytics.irt.testlet_point import Point, Scales, penalty, rough_point
from analytics.irt.testlet_result import FLOAT32_GRADIENT, LARGEST_SD, SMALLEST_SD, Solution, TestletOptions
from analytics.matrix import FloatArray

_MODE_TOLERANCE = 1e-9  # the inner search's noise must not reach the outer gradient
_MAX_STEPS = 100
_LARGEST_STEP = 0.7  # in log sd: a factor of two
_SMALLEST_GAIN = 1e-8  # in marginal log-likelihood, predicted by the quadratic model
_ROUNDING = 1e-12  # of a likelihood of many or heavy cells: a gain that it swallows is none
_NEAR_ZERO = 5.0 * SMALLEST_SD  # an sd of u below this is compared with leaving u out


def solve(cells: AnyCells, scales: Scales, options: TestletOptions, start: Mode | None) -> Solution:
    """Mode, information and objectives at given standard deviations, starting from another mode if there is one."""
    tolerance = options.tolerance if options.variances == "given" else min(options.tolerance, _MODE_TOLERANCE)
    point = start.point if start is not None else rough_point(cells, scales)
    if options.backend == "torch":
        tolerance = max(tolerance, FLOAT32_GRADIENT)
    most = options.max_iterations
    mode = find_mode(cells, scales, point, tolerance=tolerance, max_iterations=most, backend=options.backend)
    value = _log_likelihood(cells, mode.point)
    objective = penalty(cells, scales, mode.point) - value
    if not options.standard_errors:
        return Solution(mode, scales, None, value, objective, float("nan"))
    info = _eliminate(cells, scales, mode)
    marginal = -objective - info.half_log_determinant + 0.5 * float(np.log(2.0 * np.pi))
    return Solution(mode, scales, info, value, objective, marginal)


def _log_likelihood(cells: AnyCells, point: Point) -> float:
    """Log-likelihood of either layout."""
    if isinstance(cells, ListedCells):
        return log_likelihood_of_listed(cells, point)
    return log_likelihood(cells, point.b, point.s)


def _eliminate(cells: AnyCells, scales: Scales, mode: Mode) -> Information:
    """Eliminate towards the shorter side; cells are listed only where that is the items'."""
    if isinstance(cells, ListedCells):
        return information_of_listed(cells, scales, mode.point)
    if cells.weight.size > cells.n_item.size:
        return information_by_items(cells, scales, mode.point)
    return information(cells, scales, mode.point)


def estimate_scales(cells: AnyCells, start: Scales, options: TestletOptions) -> tuple[Solution, bool]:
    """Maximise the marginal likelihood by BFGS from `start`; the flag says whether it converged.

    The first inverse Hessian is 1 / (2 n_eff) per log sd, n_eff the number of effects that the data determine, which
    is what it would be if the effects were seen.
    """
    current = solve(cells, start, options, None)
    x, g = _log_sd(current.scales), _gradient(current)
    inverse = np.diag(1.0 / _curvature(cells, current))
    n_sweeps, is_converged = current.mode.n_iterations, False
    for _ in range(_MAX_STEPS):
        free = ~_is_held(x, g)
        step = np.where(free, inverse @ np.where(free, g, 0.0), 0.0)
        if step @ g <= 0:  # the quadratic model has gone wrong: start it again
            inverse = np.diag(1.0 / _curvature(cells, current))
            step = np.where(free, np.diag(inverse) * g, 0.0)
        if 0.5 * float(step @ g) < max(_SMALLEST_GAIN, _ROUNDING * abs(current.marginal)):
            is_converged = True
            break
        step *= min(1.0, _LARGEST_STEP / float(np.max(np.abs(step))))
        trial, n_tried = _line_search(cells, options, current, x, step, float(step @ g))
        n_sweeps += n_tried
        if trial is None:
            break
        moved, changed = _log_sd(trial.scales) - x, _gradient(trial) - g
        current, x, g = trial, x + moved, g + changed
        inverse = _bfgs(inverse, moved, -changed)
    current, is_u_zero = _without_u(cells, options, current)
    current = replace(current, mode=replace(current.mode, n_iterations=n_sweeps))
    return current, is_converged or (is_u_zero and bool(np.max(np.abs(_gradient(current))) < 1e-3))


def _line_search(
    cells: AnyCells, options: TestletOptions, current: Solution, x: FloatArray, step: FloatArray, slope: float
) -> tuple[Solution | None, int]:
    """Halve the step until the marginal likelihood rises enough; None when it never does."""
    n_sweeps = 0
    for halvings in range(12):
        sds = np.exp(np.clip(x + step / 2**halvings, np.log(SMALLEST_SD), np.log(LARGEST_SD)))
        trial = solve(cells, Scales(*sds, *([0.0] * (3 - sds.size))), options, current.mode)
        n_sweeps += trial.mode.n_iterations
        if trial.marginal >= current.marginal + 1e-4 * slope / 2**halvings:
            return trial, n_sweeps
    return None, n_sweeps


def _without_u(cells: AnyCells, options: TestletOptions, current: Solution) -> tuple[Solution, bool]:
    """Leave u out where its standard deviation came near 0 and the marginal likelihood does not miss it."""
    if not 0.0 < current.scales.u < _NEAR_ZERO:
        return current, False
    without = solve(cells, replace(current.scales, u=0.0), options, current.mode)
    return (without, True) if without.marginal >= current.marginal - 1e-4 else (current, False)


def _log_sd(scales: Scales) -> FloatArray:
    return np.log([scales.theta, scales.b] + ([scales.u] if scales.u > 0 else []))


def _gradient(solution: Solution) -> FloatArray:
    if solution.information is None:
        raise AssertionError("options ask for the information whenever standard deviations are estimated")
    return solution.information.gradient[: 3 if solution.scales.u > 0 else 2]


def _curvature(cells: AnyCells, solution: Solution) -> FloatArray:
    """Twice the number of effects that the data determine, per log sd; never below 1."""
    info, scales = solution.information, solution.scales
    if info is None:
        raise AssertionError("options ask for the information whenever standard deviations are estimated")
    determined = [
        float(cells.weight @ (1.0 - info.var_theta / scales.theta**2)),
        float(np.sum(1.0 - info.var_b / scales.b**2)),
    ]
    if scales.u > 0:
        determined.append(float(cells.weight @ cells.pairs.by_rater(1.0 - info.var_u / scales.u**2)))
    return 2.0 * np.maximum(determined, 0.5)


def _is_held(x: FloatArray, g: FloatArray) -> NDArray[np.bool_]:
    """Whether a log sd sits at a bound and the gradient pushes it outwards."""
    at_low, at_high = x <= np.log(SMALLEST_SD) + 1e-12, x >= np.log(LARGEST_SD) - 1e-12
    return np.asarray((at_low & (g < 0)) | (at_high & (g > 0)))


def _bfgs(inverse: FloatArray, moved: FloatArray, changed: FloatArray) -> FloatArray:
    """BFGS update of the inverse Hessian of the negative marginal likelihood; skipped without positive curvature."""
    along = float(moved @ changed)
    if along <= 1e-12:
        return inverse
    left = np.eye(moved.size) - np.outer(moved, changed) / along
    return np.asarray(left @ inverse @ left.T + np.outer(moved, moved) / along)
