"""The mode of the penalised 1PL testlet model: block Newton.

Holds the search for theta, u, b and the mean of b with the standard deviations given. Does not hold standard errors
or the choice of the standard deviations. Each sweep solves every rater's arrow-shaped system (theta with its u) and
every item's scalar one, then moves exactly along the directions that the likelihood does not see.
"""

from dataclasses import dataclass, replace

import numpy as np

from analytics.irt.testlet_cells import Cells, CellSums, cell_sums
from analytics.matrix import FloatArray

_LARGEST_STEP = 1.5  # logits; a full Newton step from a flat tail would overshoot


@dataclass(frozen=True, slots=True)
class Scales:
    """Standard deviations of theta, b and u; `u` may be 0 (no testlet effect), the others are positive."""

    theta: float
    b: float
    u: float

    @property
    def theta_precision(self) -> float:
        """Penalty weight on theta."""
        return self.theta**-2

    @property
    def b_precision(self) -> float:
        """Penalty weight on b."""
        return self.b**-2

    @property
    def u_precision(self) -> float:
        """Penalty weight on u; 0 where u is held at 0, because then nothing is left to weigh."""
        return self.u**-2 if self.u > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the parameter space, items in packed order.

    Attributes
    ----------
    theta
        Shape (n_raters,).
    u
        Shape (n_testlets, n_raters).
    b
        Shape (n_items,).
    mean_b
        Mean of the difficulties.
    """

    theta: FloatArray
    u: FloatArray
    b: FloatArray
    mean_b: float

    @property
    def s(self) -> FloatArray:
        """Ability of each rater in each testlet, theta + u, shape (n_testlets, n_raters)."""
        return self.theta + self.u


@dataclass(frozen=True, slots=True)
class Mode:
    """Where the search ended.

    Attributes
    ----------
    point
        The last point.
    gradient_norm
        Largest absolute derivative of the penalised objective there, per unit of rater weight for theta and u.
    n_iterations
        Sweeps done.
    is_converged
        Whether `gradient_norm` is within the tolerance.
    """

    point: Point
    gradient_norm: float
    n_iterations: int
    is_converged: bool


def start_point(cells: Cells) -> Point:
    """Every effect at 0 and every difficulty at the logit of the overall failure rate."""
    n_seen, n_right = float(cells.n_rt.sum()), float(cells.right_rt.sum())
    mean_b = float(np.log((n_seen - n_right + 0.5) / (n_right + 0.5)))
    return Point(np.zeros(cells.weight.size), np.zeros(cells.n_rt.shape), np.full(cells.n_item.size, mean_b), mean_b)


def find_mode(cells: Cells, scales: Scales, start: Point, *, tolerance: float, max_iterations: int) -> Mode:
    """Minimise the penalised negative log-likelihood from `start`.

    The objective is convex, so a small gradient is the whole proof of convergence.
    """
    point = start if scales.u > 0 else replace(start, u=np.zeros_like(start.u))
    norm = np.inf
    for iteration in range(max_iterations + 1):
        sums = cell_sums(cells, point.b, point.s)
        g = gradient(cells, scales, point, sums)
        norm = _largest(g)
        if norm <= tolerance or iteration == max_iterations:
            return Mode(point, norm, iteration, norm <= tolerance)
        point = step_raters(scales, point, sums, g)
        sums = cell_sums(cells, point.b, point.s)
        point = _shift(cells, scales, _step_items(cells, scales, point, sums))
    raise AssertionError("the loop returns")


def penalty(cells: Cells, scales: Scales, point: Point) -> float:
    """Penalty of `point`: half the weighted sums of squares over the variances."""
    raters = scales.theta_precision * point.theta**2 + scales.u_precision * np.sum(point.u**2, axis=0)
    items = scales.b_precision * (point.b - point.mean_b) ** 2
    return 0.5 * float(np.sum(cells.weight * raters) + np.sum(items))


def gradient(cells: Cells, scales: Scales, point: Point, sums: CellSums) -> Point:
    """Gradient of the penalised objective, rater parts per unit of the rater's weight."""
    residual = cells.right_rt - sums.expected_rt
    deviation = scales.b_precision * (point.b - point.mean_b)
    return Point(
        theta=scales.theta_precision * point.theta - residual.sum(axis=0),
        u=(scales.u_precision * point.u - residual) if scales.u > 0 else np.zeros_like(point.u),
        b=deviation + cells.right_item - sums.expected_item,
        mean_b=-float(deviation.sum()),
    )


def _largest(g: Point) -> float:
    """Largest absolute entry of a gradient."""
    return max(float(np.max(np.abs(part))) for part in (g.theta, g.u, g.b, np.array([g.mean_b])))


def step_raters(scales: Scales, point: Point, sums: CellSums, g: Point) -> Point:
    """Take one Newton step of every rater against the gradient `g`: theta by the Schur complement of its u, then u."""
    kept = 1.0 / (1.0 + scales.u**2 * sums.info_rt)  # share of the information that is left to theta
    spread = scales.u**2 * kept
    information = scales.theta_precision + np.sum(sums.info_rt * kept, axis=0)
    d_theta = (np.sum(sums.info_rt * spread * g.u, axis=0) - g.theta) / information
    d_u = -spread * (g.u + sums.info_rt * d_theta)
    longest = np.maximum(np.abs(d_theta), np.max(np.abs(d_u), axis=0))
    scale = _LARGEST_STEP / np.maximum(longest, _LARGEST_STEP)
    return Point(point.theta + scale * d_theta, point.u + scale * d_u, point.b, point.mean_b)


def _step_items(cells: Cells, scales: Scales, point: Point, sums: CellSums) -> Point:
    """Take one Newton step of every item."""
    g_b = scales.b_precision * (point.b - point.mean_b) + cells.right_item - sums.expected_item
    step = np.clip(-g_b / (sums.info_item + scales.b_precision), -_LARGEST_STEP, _LARGEST_STEP)
    return Point(point.theta, point.u, point.b + step, point.mean_b)


def _shift(cells: Cells, scales: Scales, point: Point) -> Point:
    """Minimise the penalty exactly along the moves that leave every logit as it is.

    Testlet t: u_it and b_j both move by c_t. All testlets: theta moves by d, u by -d. Mean of b: m. Only observed
    rater x testlet pairs move; an effect without data stays at 0. Substituting c_t leaves two equations in (d, m).
    Without testlet effects, theta, b and the mean move together.
    """
    seen = (cells.n_rt > 0) * cells.weight  # weight of each u that a shift moves
    rater_seen = (cells.n_rt.sum(axis=0) > 0) * cells.weight
    item_seen = (cells.n_item > 0).astype(np.float64)
    p_theta, p_u, p_b = scales.theta_precision, scales.u_precision, scales.b_precision
    n_theta, sum_theta = rater_seen.sum(), np.sum(rater_seen * point.theta)
    if scales.u == 0:
        d = -sum_theta / max(n_theta, 1e-300)
        b = np.where(item_seen > 0, point.b + d, 0.0)
        mean_b = float(b.sum() / max(item_seen.sum(), 1.0))
        return Point(point.theta + d * (rater_seen > 0), point.u, np.where(item_seen > 0, b, mean_b), mean_b)
    n_u, sum_u = seen.sum(axis=1), np.sum(seen * point.u, axis=1)
    n_b = np.add.reduceat(np.append(item_seen, 0.0), cells.starts[:-1]) * (np.diff(cells.starts) > 0)
    sum_b = np.add.reduceat(np.append(item_seen * point.b, 0.0), cells.starts[:-1]) * (np.diff(cells.starts) > 0)
    hold = np.maximum(n_u * p_u + n_b * p_b, 1e-300)
    # c_t = (alpha_t + p_u n_u d + p_b n_b m) / hold_t, with alpha_t the pull at d = m = 0
    alpha = -(p_u * sum_u + p_b * sum_b)
    u_d, b_m = p_u * n_u, p_b * n_b
    system = np.array(
        [
            [p_theta * n_theta + np.sum(u_d - u_d**2 / hold), -np.sum(u_d * b_m / hold)],
            [-np.sum(u_d * b_m / hold), np.sum(b_m - b_m**2 / hold)],
        ]
    )
    pull = np.array(
        [
            -p_theta * sum_theta + np.sum(p_u * sum_u + u_d * alpha / hold),
            np.sum(p_b * sum_b + b_m * alpha / hold),
        ]
    )
    d, mean_b = np.linalg.solve(system, pull)
    c = (alpha + u_d * d + b_m * mean_b) / hold
    c_item = np.repeat(c, np.diff(cells.starts))
    return Point(
        theta=point.theta + d * (rater_seen > 0),
        u=point.u + np.where(cells.n_rt > 0, c[:, None] - d, 0.0),
        b=np.where(item_seen > 0, point.b + c_item, mean_b),
        mean_b=float(mean_b),
    )
