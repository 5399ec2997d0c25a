"""The 1PL testlet model with fixed items: marginal maximum likelihood over theta and u.

Holds the public fit, the search over (b, log sd) and the standard errors. Does not hold the two ways to integrate
(`testlet_marginal_laplace`, `testlet_marginal_quadrature`) or the fit with random items (`testlet`). Which way was
used is part of the result: Laplace biases the standard deviation of u downwards where testlets are short.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from analytics.irt.testlet_marginal_laplace import LaplaceMarginal
from analytics.irt.testlet_marginal_quadrature import QuadratureMarginal
from analytics.irt.testlet_pack import pack_cells
from analytics.irt.testlet_scale import WithMarginalScale
from analytics.literals import check_option
from analytics.matrix import FloatArray, IntArray

Integration = Literal["laplace", "gauss_hermite"]
"""How theta and u are integrated out."""

IDENTIFICATION = "theta and u have mean 0; items are fixed and on their scale"
_STEP = 1e-4  # of the central differences of the gradient that give the information


class Marginal(Protocol):
    """A marginal log-likelihood of x = (b in packed order, log sd_theta, log sd_u)."""

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Marginal log-likelihood and its gradient."""
        ...

    def abilities(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Theta of each rater and its standard deviation given the responses."""
        ...


@dataclass(frozen=True, slots=True)
class TestletMarginalFit(WithMarginalScale):
    """A marginal fit of the 1PL testlet model; input order throughout.

    Attributes
    ----------
    b, b_se
        Difficulty and standard error from the full observed information, shape (n_items,); infinite and NaN for an
        item that everybody answers alike.
    theta, theta_se
        Posterior mode (Laplace) or mean (Gauss-Hermite) and its standard deviation, shape (n_raters,); the prior's
        own for a rater without responses is not given: NaN.
    sd_theta, sd_theta_se, sd_u, sd_u_se
        Standard deviations of ability and of testlet effects.
    log_likelihood
        Marginal log-likelihood.
    method
        ``laplace`` or ``gauss_hermite``.
    n_nodes
        Nodes of each of the two nested rules; 0 for Laplace.
    n_iterations, gradient_norm, is_converged
        How the search ended.
    is_extreme_item, is_extreme_rater
        All observed responses alike.
    identification
        What fixes the origin of the scale.
    """

    b: FloatArray
    b_se: FloatArray
    theta: FloatArray
    theta_se: FloatArray
    sd_theta: float
    sd_theta_se: float
    sd_u: float
    sd_u_se: float
    log_likelihood: float
    method: Integration
    n_nodes: int
    n_iterations: int
    gradient_norm: float
    is_converged: bool
    is_extreme_item: NDArray[np.bool_]
    is_extreme_rater: NDArray[np.bool_]
    identification: str


def fit_testlet_marginal(
    responses: FloatArray, item_testlet: IntArray, *, method: Integration = "gauss_hermite", n_nodes: int = 41
) -> TestletMarginalFit:
    """Fit the testlet model by marginal likelihood, items fixed.

    Parameters
    ----------
    responses
        Shape (n_raters, n_items): 1 right, 0 wrong, NaN missing.
    item_testlet
        Testlet index of each item, shape (n_items,).
    method
        ``laplace``: second-order expansion at each rater's mode. ``gauss_hermite``: for each node of theta the u of
        each testlet is integrated by a rule of its own, which is exact up to the nodes.
    n_nodes
        Nodes of each rule.

    Raises
    ------
    ValueError
        If every item is answered alike, there is one testlet or an item in each, or `method` is unknown.
    """
    check_option("method", method, Integration)
    responses, item_testlet = np.asarray(responses, dtype=np.float64), np.asarray(item_testlet, dtype=np.int64)
    right, seen = np.nansum(responses, axis=0), np.sum(~np.isnan(responses), axis=0)
    varies = (right > 0) & (right < seen)
    if not varies.any():
        raise ValueError("every item is answered alike by everybody: no difficulty is finite")
    _, testlet, sizes = np.unique(item_testlet[varies], return_inverse=True, return_counts=True)
    if sizes.size == 1 or sizes.max() == 1:
        which = "one testlet only" if sizes.size == 1 else "every testlet has one item"
        raise ValueError(f"{which}: testlet effects cannot be told from ability or chance; fit the Rasch model instead")
    used = responses[:, varies]
    cells = pack_cells(used, testlet, int(testlet.max()) + 1, np.ones(len(used)))
    marginal: Marginal = LaplaceMarginal(cells) if method == "laplace" else QuadratureMarginal(cells, used, n_nodes)
    start = np.append(np.log((seen - right + 0.5) / (right + 0.5))[varies][cells.order], [0.0, np.log(0.5)])
    found = minimize(
        lambda x: tuple(-part for part in marginal.value_and_gradient(x)),
        start, jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 500},
    )  # fmt: skip
    x = np.asarray(found.x)
    value, gradient = marginal.value_and_gradient(x)
    se = _standard_errors(marginal, x)
    b, b_se = np.where(right == 0, np.inf, -np.inf), np.full(right.size, np.nan)
    b[np.flatnonzero(varies)[cells.order]], b_se[np.flatnonzero(varies)[cells.order]] = x[:-2], se[:-2]
    b[seen == 0] = np.nan
    theta, theta_se = marginal.abilities(x)
    n_seen, n_right = np.sum(~np.isnan(responses), axis=1), np.nansum(responses, axis=1)
    sds, norm = np.exp(x[-2:]), float(np.max(np.abs(gradient)))
    return TestletMarginalFit(
        b=b,
        b_se=b_se,
        theta=np.where(n_seen == 0, np.nan, theta),
        theta_se=np.where(n_seen == 0, np.nan, theta_se),
        sd_theta=float(sds[0]),
        sd_theta_se=float(sds[0] * se[-2]),
        sd_u=float(sds[1]),
        sd_u_se=float(sds[1] * se[-1]),
        log_likelihood=value,
        method=method,
        n_nodes=n_nodes if method == "gauss_hermite" else 0,
        n_iterations=int(found.nit),
        gradient_norm=norm,
        is_converged=norm <= 1e-3,
        is_extreme_item=(seen > 0) & ~varies,
        is_extreme_rater=(n_seen > 0) & ((n_right == 0) | (n_right == n_seen)),
        identification=IDENTIFICATION,
    )


def _standard_errors(marginal: Marginal, x: FloatArray) -> FloatArray:
    """Root diagonal of the inverse observed information, by central differences of the gradient; NaN if not regular."""
    steps = _STEP * np.eye(x.size)
    columns = [(marginal.value_and_gradient(x + e)[1] - marginal.value_and_gradient(x - e)[1]) for e in steps]
    information = -np.array(columns) / (2.0 * _STEP)
    information = (information + information.T) / 2.0
    if np.min(np.linalg.eigvalsh(information)) <= 0:
        return np.full(x.size, np.nan)
    return np.sqrt(np.diag(np.linalg.inv(information)))
