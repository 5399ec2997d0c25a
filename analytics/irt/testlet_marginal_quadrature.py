"""Marginal likelihood of the testlet model with fixed items, theta and u integrated by nested Gauss-Hermite rules.

Holds the nested rule and its exact gradient. Does not hold the search over the item parameters (`testlet_marginal`).
Given theta, testlets are independent, so that two rules of K nodes replace one of K ** (1 + n_testlets).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analytics.irt.testlet_pack import Cells
from analytics.matrix import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class _Testlet:
    """One testlet's items and the distinct response patterns to them.

    Attributes
    ----------
    items
        Its packed items.
    right, seen
        1 where a pattern is right, and where it is observed, shape (n_patterns, n_items of the testlet).
    pattern
        Pattern of each rater, shape (n_raters,).
    """

    items: slice
    right: FloatArray
    seen: FloatArray
    pattern: IntArray


class QuadratureMarginal:
    """Nested Gauss-Hermite marginal log-likelihood.

    Parameters
    ----------
    cells
        Packed cells, for the order of the items.
    responses
        The same responses, shape (n_raters, n_items), NaN missing.
    n_nodes
        Nodes of each rule.
    """

    def __init__(self, cells: Cells, responses: FloatArray, n_nodes: int) -> None:
        nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
        self._nodes, self._log_weights = nodes, np.log(weights / weights.sum())
        packed = responses[:, cells.order]
        self._testlets = [_patterns(packed, slice(first, last)) for first, last in pairwise(cells.starts)]

    def value_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Marginal log-likelihood and gradient at x = (b, log sd_theta, log sd_u).

        By Fisher's identity the gradient is the posterior mean, over the nodes, of the complete-data gradient.
        """
        parts = [self._integrate(x, testlet) for testlet in self._testlets]
        log_joint = self._log_joint([part[0] for part in parts])
        log_like = _log_sum(log_joint)
        posterior = np.exp(log_joint - log_like[:, None])
        gradient, sds = np.zeros(x.size), np.exp(x[-2:])
        for testlet, (integral, inner, p) in zip(self._testlets, parts, strict=True):
            by_pattern = np.zeros(integral.shape)
            np.add.at(by_pattern, testlet.pattern, posterior)
            flat = (by_pattern[:, :, None] * np.exp(inner - integral[:, :, None])).reshape(len(inner), -1)
            residual = testlet.right.T @ flat - (testlet.seen.T @ flat) * p.reshape(len(p), -1)
            gradient[:-2][testlet.items] = -residual.sum(axis=1)
            of_node = residual.sum(axis=0).reshape(self._nodes.size, self._nodes.size)
            gradient[-2] += sds[0] * float(self._nodes @ of_node.sum(axis=1))
            gradient[-1] += sds[1] * float(of_node.sum(axis=0) @ self._nodes)
        return float(log_like.sum()), gradient

    def abilities(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean of theta and its standard deviation, shape (n_raters,) each."""
        log_joint = self._log_joint([self._integrate(x, testlet)[0] for testlet in self._testlets])
        posterior = np.exp(log_joint - _log_sum(log_joint)[:, None])
        theta = np.exp(x[-2]) * self._nodes
        mean = posterior @ theta
        return mean, np.sqrt(np.maximum(posterior @ theta**2 - mean**2, 0.0))

    def _log_joint(self, integrals: list[FloatArray]) -> FloatArray:
        """Log of weight times likelihood for each rater and theta node."""
        total = np.tile(self._log_weights, (self._testlets[0].pattern.size, 1))
        for testlet, integral in zip(self._testlets, integrals, strict=True):
            total += integral[testlet.pattern]
        return total

    def _integrate(self, x: FloatArray, testlet: _Testlet) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log integral over u per pattern and theta node, log integrand, and p of shape (items, theta, u nodes)."""
        s = np.exp(x[-2]) * self._nodes[:, None] + np.exp(x[-1]) * self._nodes
        logit = s - x[:-2][testlet.items, None, None]
        log_wrong = -np.logaddexp(0.0, logit).reshape(len(logit), -1)
        inner = testlet.right @ logit.reshape(len(logit), -1) + testlet.seen @ log_wrong
        inner = inner.reshape(-1, *s.shape) + self._log_weights
        return _log_sum(inner), inner, 1.0 / (1.0 + np.exp(-logit))


def _patterns(packed: FloatArray, items: slice) -> _Testlet:
    """Distinct rows of a testlet's responses: raters that answer it alike share one integral."""
    rows, pattern = np.unique(np.nan_to_num(packed[:, items], nan=-1.0), axis=0, return_inverse=True)
    seen = (rows >= 0).astype(np.float64)
    return _Testlet(items, rows * seen, seen, pattern.ravel().astype(np.int64))


def _log_sum(values: FloatArray) -> FloatArray:
    """Log of the sum of exponentials over the last axis."""
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.sum(np.exp(values - top[..., None]), axis=-1)))
