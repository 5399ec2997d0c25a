"""What the testlet model with a model facet estimates: standard deviations and effects.

Holds the two records. Does not hold what is done with them.
"""

from dataclasses import dataclass

import numpy as np

from analytics.matrix import FloatArray


@dataclass(frozen=True, slots=True)
class FacetScales:
    """Standard deviations of theta, b, u and v; `u` may be 0."""

    theta: float
    b: float
    u: float
    v: float


@dataclass(frozen=True, slots=True)
class FacetPoint:
    """A point of the parameter space, or a direction in it, items in packed order.

    Attributes
    ----------
    theta
        Shape (n_raters,).
    u
        Shape (n_testlets, n_raters).
    d
        Difficulty of each item for each model, shape (n_items, n_models).
    b
        Difficulty, shape (n_items,).
    mean_b
        Mean of b.
    """

    theta: FloatArray
    u: FloatArray
    d: FloatArray
    b: FloatArray
    mean_b: float

    def plus(self, step: "FacetPoint", scale: float) -> "FacetPoint":
        """Return the point moved by `scale` times `step`."""
        return FacetPoint(
            theta=self.theta + scale * step.theta,
            u=self.u + scale * step.u,
            d=self.d + scale * step.d,
            b=self.b + scale * step.b,
            mean_b=self.mean_b + scale * step.mean_b,
        )

    def largest(self) -> float:
        """Return the largest absolute coordinate."""
        return max(float(np.max(np.abs(part))) for part in (self.theta, self.u, self.d, self.b, [self.mean_b]))
