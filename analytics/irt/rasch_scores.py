"""The Rasch model on complete data, where persons with one sum score and items with one sum are alike.

Holds the likelihood over distinct sums: the data are read once, and an evaluation costs distinct scores x nodes plus
distinct sums x nodes. It has the maximum of the general pass, by exact Newton steps: the missing information is of low
rank, because the item response functions are smooth, so its inverse comes from Woodbury's identity.
"""

from dataclasses import dataclass

import numpy as np

from analytics.irt.quadrature import Quadrature, gauss_hermite, normal_grid, step_for
from analytics.irt.responses import CodeArray, FloatArray, IntArray

BASIS = 60  # functions that span the item response functions at the nodes to about 1e-8
BLOCK = 256  # sums handled at once: their block of probabilities stays in the processor's cache
MAX_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class SumScores:
    """Sufficient statistics of complete 0/1 data.

    Attributes
    ----------
    scores, weights
        Distinct sum scores of persons and the weight of each, shape (n_scores,).
    sums, multiplicity
        Distinct weighted sums of items and how many items have each, shape (n_sums,).
    score_of_person, sum_of_item
        Position of each person's and each item's sum among the distinct ones.
    """

    scores: FloatArray
    weights: FloatArray
    sums: FloatArray
    multiplicity: FloatArray
    score_of_person: IntArray
    sum_of_item: IntArray


@dataclass(frozen=True, slots=True)
class RaschPoint:
    """The likelihood at one set of parameters.

    Attributes
    ----------
    log_likelihood
        Marginal log-likelihood.
    by_d, by_slope
        Gradient by the intercepts of the distinct sums, shape (n_sums,), and by the slope.
    posterior
        Shape (n_scores, n_nodes).
    p
        P(1 | node) of the distinct sums, shape (n_sums, n_nodes).
    """

    log_likelihood: float
    by_d: FloatArray
    by_slope: float
    posterior: FloatArray
    p: FloatArray


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


def sum_scores(dense: CodeArray, counts: FloatArray, weights: FloatArray) -> SumScores:
    """Return the sufficient statistics of a complete 0/1 table whose item counts are known."""
    scores, of_person = np.unique(dense.sum(axis=1, dtype=np.int64), return_inverse=True)
    sums, of_item = np.unique(counts[:, 1], return_inverse=True)
    return SumScores(
        scores.astype(np.float64),
        np.bincount(of_person, weights=weights).astype(np.float64),
        sums,
        np.bincount(of_item).astype(np.float64),
        of_person.astype(np.int64),
        of_item.astype(np.int64),
    )


def evaluate(data: SumScores, slope: float, d: FloatArray, quadrature: Quadrature) -> RaschPoint:
    """Return likelihood and gradient at a slope and intercepts.

    log L = sum of n s d + sum over scores of w log of the integral of exp(score a theta - sum of n log(1 + exp(a theta
    + d))): no exponential per cell, since exp(a theta + d) is a product.
    """
    nodes = quadrature.nodes
    odds_of_node, odds_of_sum = np.exp(slope * nodes), np.exp(d)
    p = np.empty((len(d), len(nodes)))
    log_total = np.zeros(len(nodes))
    for start in range(0, len(d), BLOCK):
        part = slice(start, start + BLOCK)
        odds = odds_of_sum[part, None] * odds_of_node
        above = odds + 1.0
        np.divide(odds, above, out=p[part])
        np.log(above, out=above)
        log_total += data.multiplicity[part] @ above
    posterior = np.outer(data.scores, slope * nodes)
    posterior += quadrature.log_weights - log_total
    peak = posterior.max(axis=1)
    posterior -= peak[:, None]
    np.exp(posterior, out=posterior)
    mass = posterior.sum(axis=1)
    posterior /= mass[:, None]
    value = data.weights @ (np.log(mass) + peak) + np.sum(data.multiplicity * data.sums * d)
    node_mass = data.weights @ posterior
    by_d = data.multiplicity * (data.sums - p @ node_mass)
    right = (data.weights * data.scores) @ posterior - (data.multiplicity @ p) * node_mass
    return RaschPoint(float(value), by_d, float(right @ nodes), posterior, p)


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
        own = data.scores[:, None] * nodes - theta_p
        own_mean = np.einsum("rq,rq->r", posterior, own)
        kappa = basis.T @ ((w[:, None] * posterior * own).sum(axis=0)) - mean.T @ (w * own_mean)
        missing = np.sum(w * (np.einsum("rq,rq->r", posterior, own**2) - own_mean**2))
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
        step = inverse.times(gradient)
        if step @ gradient <= 0 or not np.all(np.isfinite(step)):
            step = gradient / np.append(inverse.c[:-1], max(abs(point.by_slope) * 10, 1.0))
        # the Newton decrement is in standard errors: how far the maximum still is along the best direction
        norm = float(np.sqrt(step @ gradient))
        if norm < tolerance or iteration == max_iterations:
            break
        for _ in range(MAX_HALVINGS):
            trial = evaluate(data, slope + step[-1], d + step[:-1], quadrature)
            if trial.log_likelihood >= point.log_likelihood - 1e-9 * abs(point.log_likelihood):
                break
            step = step / 2
        slope, d, point = slope + float(step[-1]), d + step[:-1], trial
    return RaschSolution(slope, d, inverse, point, quadrature, norm, iteration)


def _rule(data: SumScores, slope: float, d: FloatArray, n_hermite: int | None) -> Quadrature:
    """Return the rule for a slope and intercepts."""
    if n_hermite is not None:
        return gauss_hermite(n_hermite)
    z = slope * np.linspace(-4, 4, 33) + d[:, None]
    p = 1 / (1 + np.exp(-z))
    return normal_grid(step_for(float(slope**2 * (data.multiplicity @ (p * (1 - p))).max())))
