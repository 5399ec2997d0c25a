"""The maximum of the Rasch likelihood over distinct sums: the same as that of the general pass, by exact Newton steps.

Holds the search and the inverse of the observed information: the missing information is of low rank, because the item
response functions are smooth, so its inverse comes from Woodbury's identity. Does not hold the likelihood
(`rasch_likelihood`).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from analytics.irt.marginal import STEEPEST
from analytics.irt.quadrature import Quadrature, gauss_hermite, normal_grid, step_for
from analytics.irt.rasch_likelihood import RaschPoint, SumScores, evaluate
from analytics.irt.responses import FloatArray

BASIS = 60  # functions that span the item response functions at the nodes to about 1e-8
MAX_HALVINGS = 20
LARGEST_STEP = 3.0  # in logits: a Newton step from where the likelihood is flat would overshoot


@dataclass(frozen=True, slots=True)
class RaschSolution:
    """Maximum of the likelihood over distinct sums.

    Attributes
    ----------
    slope, d
        Common slope, and the intercept of each distinct sum.
    inverse
        Inverse of the observed information.
    point, quadrature
        The likelihood there, and the rule.
    gradient_norm, n_iterations
        As in :class:`analytics.irt.marginal.Solution`.
    """

    slope: float
    d: FloatArray
    inverse: "LowRankInverse"
    point: RaschPoint
    quadrature: Quadrature
    gradient_norm: float
    n_iterations: int


@dataclass(frozen=True, slots=True)
class LowRankInverse:
    """Inverse of diag(c) - Y M Y' over (intercepts, slope), never formed.

    Attributes
    ----------
    c
        Complete-data information of the intercepts, and 1 for the slope, shape (n_sums + 1,).
    scaled, core
        D^-1 Y, and M (1 - Y' D^-1 Y M)^-1.
    is_slope_free
        Whether the slope is a parameter; if not, its row and column are those of the unit matrix.
    """

    c: FloatArray
    scaled: FloatArray
    core: FloatArray
    is_slope_free: bool

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the product with a vector."""
        return np.asarray(vector / self.c + self.scaled @ (self.core @ (self.scaled.T @ vector)))

    def diagonal(self) -> FloatArray:
        """Return the diagonal."""
        return np.asarray(1 / self.c + np.einsum("ij,ij->i", self.scaled @ self.core, self.scaled))


def inverse_information(
    data: SumScores, point: RaschPoint, nodes: FloatArray, *, is_slope_free: bool
) -> LowRankInverse:
    """Return the inverse of the observed information (Louis 1982: complete minus missing).

    The missing part is the posterior covariance of -n P(theta) and of score theta - theta sum n P(theta). P is
    projected on an orthonormal basis of its own mixtures at the nodes.
    """
    n, w, p, posterior = data.multiplicity, data.weights, point.p, point.posterior
    mixtures = np.eye(len(n)) if len(n) <= BASIS else np.random.default_rng(0).standard_normal((len(n), BASIS))
    basis, _ = np.linalg.qr(p.T @ mixtures)
    x = n[:, None] * (p @ basis)
    mass = w @ posterior
    mean = posterior @ basis
    k = basis.T @ (mass[:, None] * basis) - mean.T @ (w[:, None] * mean)
    spread = p * (1 - p)
    c = n * (spread @ mass)
    rank = basis.shape[1]
    if not is_slope_free:
        y, m = np.concatenate([x, np.zeros((1, rank))]), k
    else:
        theta_p = nodes * (n @ p)
        own_mean, own_by_node, missing = _slope_scores(posterior, data.scores, w, nodes, theta_p)
        kappa = basis.T @ own_by_node - mean.T @ (w * own_mean)
        alpha = np.sum((n @ spread) * mass * nodes**2) - missing
        cross = n * (spread @ (mass * nodes)) + x @ kappa
        y = np.zeros((len(n) + 1, rank + 2))
        y[:-1, :rank], y[-1, rank], y[:-1, rank + 1] = x, 1.0, cross
        m = np.zeros((rank + 2, rank + 2))
        m[:rank, :rank] = k
        m[rank, rank], m[rank, rank + 1], m[rank + 1, rank] = 1 - alpha, -1.0, -1.0
    c = np.append(c, 1.0)
    scaled = y / c[:, None]
    core = np.linalg.solve((np.eye(len(m)) - m @ (y.T @ scaled)), m)
    return LowRankInverse(c, scaled, (core + core.T) / 2, is_slope_free)


def maximise_scores(
    data: SumScores,
    *,
    is_slope_free: bool,
    tolerance: float,
    max_iterations: int,
    n_hermite: int | None = None,
) -> RaschSolution:
    """Maximise by Newton steps, halved until the likelihood rises; the rule is refined with the slope.

    Parameters
    ----------
    data
        Sufficient statistics, no sum at an extreme.
    is_slope_free
        Whether the slope is estimated or is 1.
    tolerance, max_iterations
        As in :func:`analytics.irt.marginal.maximise`.
    n_hermite
        Number of Gauss-Hermite nodes; None is the grid that the sharpest posterior needs.
    """
    total = float(data.weights.sum())
    slope, d = 1.0, 1.2 * np.log((data.sums + 0.5) / (total - data.sums + 0.5))
    quadrature = _rule(data, slope, d, n_hermite)
    point = evaluate(data, slope, d, quadrature)
    norm = np.inf
    iteration = 0
    for iteration in range(max_iterations + 1):
        needed = _rule(data, slope, d, n_hermite)
        if needed.step < 0.9 * quadrature.step:
            quadrature = needed
            point = evaluate(data, slope, d, quadrature)
        inverse = inverse_information(data, point, quadrature.nodes, is_slope_free=is_slope_free)
        gradient = np.append(point.by_d, point.by_slope if is_slope_free else 0.0)
        step, is_uphill = _uphill(inverse, gradient)
        # the Newton decrement is in standard errors: how far the maximum still is along the best direction
        norm = float(np.sqrt(max(step @ gradient, 0.0)))
        if (norm < tolerance and is_uphill) or iteration == max_iterations or slope > STEEPEST:
            break
        step = step * min(1.0, LARGEST_STEP / float(np.max(np.abs(step))))
        for _ in range(MAX_HALVINGS):
            # a slope below 0 is the same likelihood with abilities mirrored: the search stays on this side
            trial = evaluate(data, abs(slope + float(step[-1])), d + step[:-1], quadrature)
            if trial.log_likelihood >= point.log_likelihood - 1e-9 * abs(point.log_likelihood):
                break
            step = step / 2
        slope, d, point = abs(slope + float(step[-1])), d + step[:-1], trial
    return RaschSolution(slope, d, inverse, point, quadrature, norm, iteration)


def _uphill(inverse: LowRankInverse, gradient: FloatArray) -> tuple[FloatArray, bool]:
    """Return the Newton step, and whether it leads to a maximum.

    Given the slope the likelihood is log-concave in the intercepts, so only the slope's own curvature can have the
    wrong sign, as near a slope of 0 that is a minimum. There the slope's part of the step is turned round.
    """
    step = inverse.times(gradient)
    if not inverse.is_slope_free:
        return step, True
    by_slope = inverse.times(np.append(np.zeros(len(step) - 1), 1.0))
    if by_slope[-1] > 0:
        return step, True
    return step - by_slope * (2.0 * step[-1] / by_slope[-1]), False


@njit(cache=True, error_model="numpy")
def _slope_scores(
    posterior: FloatArray, scores: FloatArray, weights: FloatArray, nodes: FloatArray, theta_p: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return mean over the posterior of g = score theta - sum n theta P, its sum by node, and its total variance."""
    means, by_node, variance = np.zeros(len(scores)), np.zeros(len(nodes)), 0.0
    for r in range(len(scores)):
        row, mean = posterior[r], 0.0
        for q in range(len(nodes)):
            if row[q] > 0.0:
                g = scores[r] * nodes[q] - theta_p[q]
                mean += row[q] * g
                by_node[q] += weights[r] * row[q] * g
        means[r] = mean
        for q in range(len(nodes)):
            if row[q] > 0.0:
                variance += weights[r] * row[q] * (scores[r] * nodes[q] - theta_p[q] - mean) ** 2
    return means, by_node, variance


def _rule(data: SumScores, slope: float, d: FloatArray, n_hermite: int | None) -> Quadrature:
    """Return the rule for a slope and intercepts."""
    if n_hermite is not None:
        return gauss_hermite(n_hermite)
    z = slope * np.linspace(-4, 4, 33) + d[:, None]
    p = 1 / (1 + np.exp(-z))
    return normal_grid(step_for(float(slope**2 * (data.multiplicity @ (p * (1 - p))).max())))
