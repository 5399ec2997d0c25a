"""The 1PL testlet model, logit P = theta_i - b_j + u_it, by penalised likelihood.

Holds the public fit: options, result, the choice of the standard deviations and the warnings that belong to a result.
Does not hold the search for the mode (`testlet_mode`), the information (`testlet_laplace`) or the marginal fit with
fixed items (`testlet_marginal`). Raters, testlet effects and items are all random: theta ~ N(0, sd_theta^2),
u ~ N(0, sd_u^2), b ~ N(mean_b, sd_b^2) with the mean free.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from analytics.irt.testlet_cells import Cells, log_likelihood, pack_cells
from analytics.irt.testlet_laplace import Information, information
from analytics.irt.testlet_mode import Mode, Scales, find_mode, penalty, start_point
from analytics.literals import check_option
from analytics.matrix import FloatArray, IntArray

Variances = Literal["given", "laplace"]
"""Whether the standard deviations are taken as given or maximise the Laplace marginal likelihood."""

IDENTIFICATION = "theta and u have prior mean 0; the mean of b is free"

_SMALLEST_SD, _LARGEST_SD = 0.01, 10.0  # bounds of the search; a value at the lower one is reported as 0
_MODE_TOLERANCE = 1e-9  # inner search of the marginal likelihood: its noise must not reach the outer gradient


@dataclass(frozen=True, slots=True)
class TestletOptions:
    """What to fit.

    Attributes
    ----------
    variances
        ``given``: use the three standard deviations. ``laplace``: start from them and maximise the Laplace marginal
        likelihood, in which the mean of b is integrated under a flat prior (as restricted likelihood does).
    sd_theta, sd_b, sd_u
        Standard deviations; ``sd_u = 0`` leaves the testlet effects out.
    max_iterations
        Sweeps allowed for one mode.
    tolerance
        Largest absolute derivative of the penalised objective at convergence.
    """

    variances: Variances = "laplace"
    sd_theta: float = 1.0
    sd_b: float = 1.5
    sd_u: float = 0.5
    max_iterations: int = 1000
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        check_option("variances", self.variances, Variances)
        if self.sd_theta <= 0 or self.sd_b <= 0 or self.sd_u < 0:
            raise ValueError(f"sd_theta and sd_b must be positive and sd_u not negative; got {self}")


@dataclass(frozen=True, slots=True)
class TestletFit:
    """A penalised fit of the 1PL testlet model; input order throughout.

    Attributes
    ----------
    theta, theta_se
        Ability and standard error, shape (n_raters,); NaN for a rater without responses.
    b, b_se
        Difficulty and standard error, shape (n_items,); NaN for an item without responses.
    u, u_se
        Testlet effects, shape (n_raters, n_testlets); NaN where the rater answered nothing of the testlet.
    mean_b, mean_b_se
        Mean of the difficulties.
    sd_theta, sd_b, sd_u
        Standard deviations used; 0 where the estimate is at its boundary.
    log_likelihood
        Without penalty, at the mode.
    penalised_objective
        Negative log-likelihood plus penalty, at its minimum.
    marginal_log_likelihood
        Laplace approximation, random effects and mean of b integrated.
    n_iterations, gradient_norm, is_converged
        Sweeps in all, and how the search ended; `is_converged` asks it of the standard deviations too.
    is_extreme_rater, is_extreme_item
        All observed responses right, or all wrong; shape (n_raters,) and (n_items,).
    method
        ``penalised`` with given, ``laplace`` with estimated standard deviations.
    identification
        What fixes the origin of the scale.
    warnings
        What a reader must know before using the numbers.
    """

    theta: FloatArray
    theta_se: FloatArray
    b: FloatArray
    b_se: FloatArray
    u: FloatArray
    u_se: FloatArray
    mean_b: float
    mean_b_se: float
    sd_theta: float
    sd_b: float
    sd_u: float
    log_likelihood: float
    penalised_objective: float
    marginal_log_likelihood: float
    n_iterations: int
    gradient_norm: float
    is_converged: bool
    is_extreme_rater: NDArray[np.bool_]
    is_extreme_item: NDArray[np.bool_]
    method: str
    identification: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Solution:
    mode: Mode
    scales: Scales
    information: Information
    objective: float
    marginal: float


def fit_testlet(
    responses: FloatArray, item_testlet: IntArray, options: TestletOptions = TestletOptions()
) -> TestletFit:
    """Fit the 1PL testlet model to raters x items.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1 right, 0 wrong, NaN missing; any memory order.
    item_testlet
        Testlet of each item as an integer from 0, shape (n_items,).
    options
        Standard deviations, given or estimated, and tolerances.

    Returns
    -------
    TestletFit
        Estimates are the joint mode; standard errors come from the full information by elimination.

    Raises
    ------
    ValueError
        If no cell is observed, the shapes disagree or a response is neither 0, 1 nor missing.
    """
    responses, item_testlet = np.asarray(responses, dtype=np.float64), np.asarray(item_testlet, dtype=np.int64)
    if responses.ndim != 2 or item_testlet.shape != (responses.shape[1],):
        raise ValueError(f"responses {responses.shape} and item_testlet {item_testlet.shape} do not fit together")
    if np.isnan(responses).all():
        raise ValueError("no response is observed: there is nothing to fit")
    cells = pack_cells(responses, item_testlet, int(item_testlet.max()) + 1, np.ones(responses.shape[0]))
    scales, warnings = _usable_scales(cells, options)
    if options.variances == "given":
        return _result(cells, _solve(cells, scales, options, None), options, warnings, is_converged=True)
    solution, is_converged = _estimate(cells, scales, options)
    return _result(cells, solution, options, warnings, is_converged=is_converged)


def _usable_scales(cells: Cells, options: TestletOptions) -> tuple[Scales, list[str]]:
    """Start values; where the design cannot show a testlet effect it is left out, and the result says so."""
    scales = Scales(options.sd_theta, options.sd_b, options.sd_u)
    if options.variances == "given":
        return scales, []
    if cells.n_testlets == 1:
        return replace(scales, u=0.0), ["one testlet only: its effect cannot be told from theta and is left out"]
    if cells.n_rt.max() <= 1:
        return replace(scales, u=0.0), ["every testlet has one item: testlet effects are left out"]
    return scales, []


def _solve(cells: Cells, scales: Scales, options: TestletOptions, start: Mode | None) -> _Solution:
    tolerance = options.tolerance if options.variances == "given" else min(options.tolerance, _MODE_TOLERANCE)
    point = start.point if start is not None else start_point(cells)
    mode = find_mode(cells, scales, point, tolerance=tolerance, max_iterations=options.max_iterations)
    info = information(cells, scales, mode.point)
    objective = penalty(cells, scales, mode.point) - log_likelihood(cells, mode.point.b, mode.point.s)
    marginal = -objective - info.half_log_determinant + 0.5 * float(np.log(2.0 * np.pi))
    return _Solution(mode, scales, info, objective, marginal)


def _estimate(cells: Cells, start: Scales, options: TestletOptions) -> tuple[_Solution, bool]:
    """Maximise the Laplace marginal likelihood in the log standard deviations, and look at the boundary sd_u = 0."""
    with_u = start.u > 0
    best = _solve(cells, start, options, None)
    n_sweeps = best.mode.n_iterations

    def loss(log_sd: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, n_sweeps
        sds = np.exp(log_sd)
        current = _solve(cells, Scales(sds[0], sds[1], sds[2] if with_u else 0.0), options, best.mode)
        n_sweeps += current.mode.n_iterations
        if current.marginal >= best.marginal:
            best = current
        return -current.marginal, -current.information.gradient[: log_sd.size]

    initial = np.log([start.theta, start.b] + ([start.u] if with_u else []))
    bounds = [(np.log(_SMALLEST_SD), np.log(_LARGEST_SD))] * initial.size
    found = minimize(loss, initial, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-5})
    if with_u and best.scales.u < 5.0 * _SMALLEST_SD:
        without = _solve(cells, replace(best.scales, u=0.0), options, best.mode)
        best = without if without.marginal >= best.marginal - 1e-6 else best
    gradient = best.information.gradient
    flat = np.abs(gradient) <= 1e-3 * np.maximum(1.0, abs(best.marginal) * 1e-3)
    at_bound = np.array([best.scales.theta, best.scales.b, best.scales.u or _SMALLEST_SD]) <= _SMALLEST_SD * 1.001
    best = replace(best, mode=replace(best.mode, n_iterations=n_sweeps))
    return best, bool(found.success or np.all(flat | at_bound))


def _result(
    cells: Cells, solution: _Solution, options: TestletOptions, warnings: list[str], *, is_converged: bool
) -> TestletFit:
    mode, info, point = solution.mode, solution.information, solution.mode.point
    back = np.argsort(cells.order)
    no_rater, no_item, no_pair = cells.n_rt.sum(axis=0) == 0, cells.n_item == 0, cells.n_rt.T == 0
    reported = {}
    for name in ("theta", "b", "u"):
        sd = getattr(solution.scales, name)
        is_boundary = options.variances == "laplace" and sd <= _SMALLEST_SD * 1.001
        reported[name] = 0.0 if is_boundary else float(sd)
        if is_boundary and not (name == "u" and warnings):
            warnings.append(f"sd_{name} is at its boundary and reported as 0")
    is_converged = is_converged and mode.is_converged
    if not is_converged:
        warnings.append(f"not converged: gradient norm {mode.gradient_norm:.2e} after {mode.n_iterations} sweeps")
    right, seen = cells.right_rt.sum(axis=0), cells.n_rt.sum(axis=0)
    extreme_item = (cells.n_item > 0) & ((cells.right_item == 0) | (cells.right_item == cells.n_item))
    return TestletFit(
        theta=np.where(no_rater, np.nan, point.theta),
        theta_se=np.where(no_rater, np.nan, np.sqrt(info.var_theta)),
        b=np.where(no_item, np.nan, point.b)[back],
        b_se=np.where(no_item, np.nan, np.sqrt(info.var_b))[back],
        u=np.where(no_pair, np.nan, point.u.T),
        u_se=np.where(no_pair, np.nan, np.sqrt(info.var_u).T),
        mean_b=point.mean_b,
        mean_b_se=float(np.sqrt(info.var_mean_b)),
        sd_theta=reported["theta"],
        sd_b=reported["b"],
        sd_u=reported["u"],
        log_likelihood=log_likelihood(cells, point.b, point.s),
        penalised_objective=solution.objective,
        marginal_log_likelihood=solution.marginal,
        n_iterations=mode.n_iterations,
        gradient_norm=mode.gradient_norm,
        is_converged=is_converged,
        is_extreme_rater=(seen > 0) & ((right == 0) | (right == seen)),
        is_extreme_item=extreme_item[back],
        method="penalised" if options.variances == "given" else "laplace",
        identification=IDENTIFICATION,
        warnings=tuple(warnings),
    )
