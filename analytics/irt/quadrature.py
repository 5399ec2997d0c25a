"""Nodes and weights that stand for a normal ability distribution.

Holds the two rules and the choice of how fine a rule must be. No likelihood belongs here.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analytics.irt.responses import FloatArray

QuadratureRule = Literal["grid", "gauss_hermite"]
"""Equally spaced nodes as fine as the sharpest posterior needs, or Gauss-Hermite nodes of a given number."""

GRID_LIMIT = 6.0
STEP_IN_POSTERIOR_SDS = 0.9
COARSEST_STEP = 0.25
FINEST_STEP = 0.003  # a sharper posterior belongs to a slope that has run away


@dataclass(frozen=True, slots=True)
class Quadrature:
    """A rule for expectations over N(0, 1).

    Attributes
    ----------
    nodes, log_weights
        Shape (n_nodes,); the weights sum to 1.
    step
        Distance of neighbouring nodes of an equally spaced rule, NaN for another rule.
    """

    nodes: FloatArray
    log_weights: FloatArray
    step: float


def normal_grid(step: float = COARSEST_STEP) -> Quadrature:
    """Return equally spaced nodes on [-6, 6].

    For a smooth peak of standard deviation s the rectangular rule errs by about exp(-2 (pi s / step)^2), so a step of
    0.9 posterior standard deviations is exact to 1e-10; the mass of N(0, 1) outside is 2e-9.
    """
    half = int(np.ceil(GRID_LIMIT / step))
    nodes = np.arange(-half, half + 1, dtype=np.float64) * (GRID_LIMIT / half)
    log_weights = -0.5 * nodes**2
    return Quadrature(nodes, log_weights - np.log(np.sum(np.exp(log_weights))), GRID_LIMIT / half)


def gauss_hermite(n_nodes: int) -> Quadrature:
    """Return the Gauss-Hermite rule for N(0, 1) with `n_nodes` nodes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    shares: FloatArray = np.asarray(weights / weights.sum(), dtype=np.float64)
    return Quadrature(np.asarray(nodes, dtype=np.float64), np.log(shares), float("nan"))


def step_for(information: float) -> float:
    """Return the step that suits posteriors of standard deviation ``1 / sqrt(1 + information)``."""
    return float(np.clip(STEP_IN_POSTERIOR_SDS / np.sqrt(1.0 + information), FINEST_STEP, COARSEST_STEP))
