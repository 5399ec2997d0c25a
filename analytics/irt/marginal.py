"""Marginal maximum likelihood for every item family: one likelihood, one optimiser.

Holds the objective with its gradient and the quasi-Newton search. Labels, dropped items and what the reader is told
belong to ``fitting``, the information matrix to ``observed_information``.

The gradient is Fisher's identity, d log L = E[d log P(x, theta) | x] (Dempster, Laird & Rubin 1977).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from analytics.irt.expectation import Expectation
from analytics.irt.families import Family, parameters_in_use
from analytics.irt.quadrature import Quadrature
from analytics.irt.responses import FloatArray, IntArray

SlopeRole = Literal["free", "common", "fixed"]
"""A slope per item, one for all items, or the starting value kept."""

_MOST_STEPS_BY_GRADIENT = 20

STEEPEST = 20.0  # a slope this steep sorts persons like a step: the likelihood has no finite maximum

Pass = Callable[[FloatArray, Quadrature], Expectation]
"""The E step: log category probabilities in, log-likelihood and expected counts out."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be maximised.

    Attributes
    ----------
    family
        Item family.
    slope
        Role of column 0.
    n_categories
        Shape (n_items,).
    start
        Shape (n_items, n_parameters), 0 in columns that an item lacks.
    lower_prior
        Parameters (alpha, beta) of a beta density for the lower asymptote in column 2, or None.
    """

    family: Family
    slope: SlopeRole
    n_categories: IntArray
    start: FloatArray
    lower_prior: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """Where the search ended.

    Attributes
    ----------
    x
        Shape (n_items, n_parameters).
    log_likelihood, log_posterior
        Marginal log-likelihood, and the same plus the log prior density.
    gradient_norm
        Largest absolute gradient, each direction in units of a complete-data standard error.
    n_iterations
        Quasi-Newton iterations.
    """

    x: FloatArray
    log_likelihood: float
    log_posterior: float
    gradient_norm: float
    n_iterations: int


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Search coordinates: free columns turned by the Cholesky factor of each item's complete-data information.

    Attributes
    ----------
    start
        Shape (n_items, n_parameters).
    in_use
        1 where a number is a parameter of its item.
    slope
        Role of column 0.
    factors
        Shape (n_items, n_free, n_free), lower triangular.
    common_scale
        Square root of the common slope's complete-data information.
    """

    start: FloatArray
    in_use: FloatArray
    slope: SlopeRole
    factors: FloatArray
    common_scale: float

    @property
    def first(self) -> int:
        """First column with a value of its own per item."""
        return 0 if self.slope == "free" else 1

    def to_parameters(self, y: FloatArray) -> FloatArray:
        """Return x of shape (n_items, n_parameters) at the search point y."""
        x = self.start.copy()
        n_items, n_free = len(x), self.factors.shape[1]
        moves = y[: n_items * n_free].reshape(n_items, n_free, 1)
        x[:, self.first :] += np.linalg.solve(self.factors.transpose(0, 2, 1), moves)[:, :, 0]
        if self.slope == "common":
            x[:, 0] += y[-1] / self.common_scale
        return x

    def to_gradient(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient by y from the gradient by x."""
        own = np.linalg.solve(self.factors, (gradient * self.in_use)[:, self.first :, None]).ravel()
        return np.asarray(own if self.slope != "common" else np.append(own, gradient[:, 0].sum() / self.common_scale))


def objective(problem: Problem, run: Pass, quadrature: Quadrature, x: FloatArray) -> tuple[float, float, FloatArray]:
    """Return log-likelihood, log posterior and the gradient of the latter by x."""
    logs, slopes = problem.family.tables(x, quadrature.nodes, problem.n_categories)
    result = run(logs, quadrature)
    gradient = np.einsum("jkq,jkqm->jm", result.counts, slopes, optimize=True)
    prior, by_logit = _prior(problem, x)
    if problem.lower_prior is not None:
        gradient[:, 2] += by_logit
    return result.log_likelihood, result.log_likelihood + prior, gradient


def maximise(problem: Problem, run: Pass, quadrature: Quadrature, tolerance: float, max_iterations: int) -> Solution:
    """Search for the maximum by L-BFGS in coordinates in which every item's information is the identity.

    Parameters
    ----------
    problem, run, quadrature
        The objective.
    tolerance
        The search ends when no gradient component, in units of a standard error, exceeds it.
    max_iterations
        Most quasi-Newton iterations.
    """
    coordinates = _coordinates(problem, run, quadrature)
    last: dict[str, float] = {}

    def negative(y: FloatArray) -> tuple[float, FloatArray]:
        log_likelihood, log_posterior, gradient = objective(problem, run, quadrature, coordinates.to_parameters(y))
        last.update(log_likelihood=log_likelihood, log_posterior=log_posterior)
        return -log_posterior, -coordinates.to_gradient(gradient)

    def stop_without_maximum(y: FloatArray) -> None:
        if np.abs(coordinates.to_parameters(y)[:, 0]).max() > STEEPEST:
            raise StopIteration

    size = coordinates.factors.shape[0] * coordinates.factors.shape[1] + (problem.slope == "common")
    found = minimize(
        negative,
        np.zeros(size),
        jac=True,
        method="L-BFGS-B",
        callback=stop_without_maximum,
        options={"maxcor": 30, "gtol": tolerance, "ftol": 0.0, "maxiter": max_iterations, "maxfun": 3 * max_iterations},
    )
    y = _by_gradient(lambda point: negative(point)[1], found.x, found.hess_inv.matvec, tolerance)
    _, by_y = negative(y)
    return Solution(
        x=coordinates.to_parameters(y),
        log_likelihood=last["log_likelihood"],
        log_posterior=last["log_posterior"],
        gradient_norm=float(np.max(np.abs(by_y), initial=0.0)),
        n_iterations=int(found.nit),
    )


def _by_gradient(
    gradient: Callable[[FloatArray], FloatArray],
    y: FloatArray,
    inverse_hessian: Callable[[FloatArray], FloatArray],
    tolerance: float,
) -> FloatArray:
    """Go on from where a line search ended, by the gradient alone, as long as that shrinks.

    Close to the maximum a log-likelihood of single precision is rounded by more than there is left to gain; its
    gradient, which is a difference of counts, is not.
    """
    by_y, share = gradient(y), 1.0
    for _ in range(_MOST_STEPS_BY_GRADIENT):
        if np.max(np.abs(by_y), initial=0.0) <= tolerance:
            break
        further = y - share * inverse_hessian(by_y)
        by_further = gradient(further)
        if by_further @ by_further < by_y @ by_y:
            y, by_y = further, by_further
        else:
            share /= 2.0
    return y


def cells_in_use(problem: Problem) -> FloatArray:
    """Return 1 where a cell of x is a parameter; every column of a logistic item is one."""
    if problem.family.response_family == "logistic":
        return np.ones_like(problem.start)
    return parameters_in_use(problem.n_categories, problem.start.shape[1])


def _coordinates(problem: Problem, run: Pass, quadrature: Quadrature) -> Coordinates:
    """Return search coordinates from the complete-data information at the start."""
    x, in_use = problem.start, cells_in_use(problem)
    logs, slopes = problem.family.tables(x, quadrature.nodes, problem.n_categories)
    answered = run(logs, quadrature).counts.sum(axis=1)
    in_item = np.arange(logs.shape[1])[None, :] < problem.n_categories[:, None]
    expected = np.exp(logs) * in_item[:, :, None] * answered[:, None, :]
    blocks = np.einsum("jkq,jkqm,jkqn->jmn", expected, slopes, slopes, optimize=True)
    diagonal = np.arange(x.shape[1])
    blocks[:, diagonal, diagonal] += prior_curvature(problem, x)
    blocks[:, diagonal, diagonal] += 1e-6 * blocks[:, diagonal, diagonal] + np.where(in_use > 0, 1e-9, 1.0)
    common = float(np.sqrt(blocks[:, 0, 0].sum()))
    first = 0 if problem.slope == "free" else 1
    return Coordinates(x, in_use, problem.slope, np.linalg.cholesky(blocks[:, first:, first:]), common)


def _prior(problem: Problem, x: FloatArray) -> tuple[float, FloatArray]:
    """Return the log beta density of the lower asymptotes, up to a constant, and its gradient by their logits."""
    if problem.lower_prior is None:
        return 0.0, np.zeros(0)
    alpha, beta = problem.lower_prior
    c = expit(x[:, 2])
    density = (alpha - 1) * log_expit(x[:, 2]) + (beta - 1) * log_expit(-x[:, 2])
    return float(density.sum()), (alpha - 1) * (1 - c) - (beta - 1) * c


def prior_curvature(problem: Problem, x: FloatArray) -> FloatArray:
    """Return minus the second derivative of the log prior by each number of x, shape as x."""
    curvature = np.zeros_like(x)
    if problem.lower_prior is not None:
        alpha, beta = problem.lower_prior
        c = expit(x[:, 2])
        curvature[:, 2] = (alpha + beta - 2) * c * (1 - c)
    return curvature
