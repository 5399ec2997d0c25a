"""A point of the penalised 1PL testlet model: what it consists of, its penalty, its gradient, where a search starts.

Holds the algebra at one point. Does not hold the search for the mode (`testlet_mode`).
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.testlet_cells import CellSums
from analytics.irt.testlet_margins import Margins
from analytics.matrix import FloatArray

LARGEST_STEP = 1.5  # logits; a full Newton step from a flat tail would overshoot
_SPREAD = np.pi**2 / 3.0  # variance of the logistic distribution: what mixing over effects does to a logit


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
        One for each rater x testlet pair, see `testlet_margins.Pairs`.
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
        """Ability of each rater in each testlet, theta + u, shape (n_testlets, n_raters); beside a full table only."""
        return self.theta + self.u


def start_point(cells: Margins) -> Point:
    """Every effect at 0 and every difficulty at the logit of the overall failure rate."""
    n_seen, n_right = float(cells.n_rt.sum()), float(cells.right_rt.sum())
    mean_b = float(np.log((n_seen - n_right + 0.5) / (n_right + 0.5)))
    return Point(np.zeros(cells.weight.size), np.zeros(cells.n_rt.shape), np.full(cells.n_item.size, mean_b), mean_b)


def rough_point(cells: Margins, scales: Scales) -> Point:
    """Abilities and difficulties from logits of the shares of right answers; testlet effects at 0.

    Each logit is stretched by what mixing over the other effects took from it, and shrunken by what its responses tell
    against its prior, as in the normal approximation of the Rasch model (Cohen 1979).
    """
    n_right = cells.pairs.by_rater(cells.right_rt)
    n_seen = np.full(n_right.size, float(cells.order.size)) if cells.is_complete else cells.pairs.by_rater(cells.n_rt)
    wrong_item = cells.weight_item - cells.right_item
    by_rater = np.log((n_right + 0.5) / (n_seen - n_right + 0.5))
    by_item = np.log((wrong_item + 0.5) / (cells.right_item + 0.5))
    overall = np.log((wrong_item.sum() + 0.5) / (cells.right_item.sum() + 0.5))
    theta, b, u = scales.theta**2, scales.b**2, scales.u**2
    mean_b = float(overall * np.sqrt(1.0 + (theta + b + u) / _SPREAD))
    told_rater, told_item = (n_right * (1 - n_right / np.maximum(n_seen, 1)), cells.right_item * wrong_item)
    told_item = told_item / np.maximum(cells.weight_item, 1e-300)
    deviation = by_item * np.sqrt(1.0 + (theta + u) / _SPREAD) - mean_b
    ability = by_rater * np.sqrt(1.0 + (b + u) / _SPREAD) + mean_b
    return Point(
        theta=ability * theta * told_rater / (1.0 + theta * told_rater),
        u=np.broadcast_to(0.0, cells.n_rt.shape),  # a view: a large table of zeros costs time
        b=mean_b + deviation * b * told_item / (1.0 + b * told_item),
        mean_b=mean_b,
    )


def penalty(cells: Margins, scales: Scales, point: Point) -> float:
    """Penalty of `point`: half the weighted sums of squares over the variances."""
    raters = scales.theta_precision * point.theta**2 + scales.u_precision * cells.pairs.squares_by_rater(point.u)
    items = scales.b_precision * (point.b - point.mean_b) ** 2
    return 0.5 * float(np.sum(cells.weight * raters) + np.sum(items))


def gradient(cells: Margins, scales: Scales, point: Point, sums: CellSums) -> Point:
    """Gradient of the penalised objective, rater parts per unit of the rater's weight."""
    residual = cells.right_rt - sums.expected_rt
    deviation = scales.b_precision * (point.b - point.mean_b)
    return Point(
        theta=scales.theta_precision * point.theta - residual.sum(axis=0),
        u=(scales.u_precision * point.u - residual) if scales.u > 0 else np.zeros_like(point.u),
        b=deviation + cells.right_item - sums.expected_item,
        mean_b=-float(deviation.sum()),
    )


def step_raters(scales: Scales, point: Point, sums: CellSums, g: Point) -> Point:
    """Take one Newton step of every rater against the gradient `g`: theta by the Schur complement of its u, then u."""
    kept = 1.0 / (1.0 + scales.u**2 * sums.info_rt)  # share of the information that is left to theta
    spread = scales.u**2 * kept
    information = scales.theta_precision + np.sum(sums.info_rt * kept, axis=0)
    d_theta = (np.sum(sums.info_rt * spread * g.u, axis=0) - g.theta) / information
    d_u = -spread * (g.u + sums.info_rt * d_theta)
    longest = np.maximum(np.abs(d_theta), np.max(np.abs(d_u), axis=0))
    scale = LARGEST_STEP / np.maximum(longest, LARGEST_STEP)
    return Point(point.theta + scale * d_theta, point.u + scale * d_u, point.b, point.mean_b)
