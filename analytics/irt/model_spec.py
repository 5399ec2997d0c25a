"""What a marginal model is, how it is computed, and which part of the data it can use.

Holds the small records that travel between the steps of a fit. No numbers are made here.
"""

from dataclasses import dataclass
from typing import Literal

from analytics.irt.design import Finding
from analytics.irt.families import Family
from analytics.irt.fit_result import Center, IrtModel
from analytics.irt.marginal import SlopeRole
from analytics.irt.observed_information import SeMethod
from analytics.irt.quadrature import QuadratureRule
from analytics.irt.responses import FloatArray, IntArray, Responses
from analytics.literals import check_option

Backend = Literal["numpy", "torch"]
"""Who runs the pass over the data."""

FLOAT32_SCALED_GRADIENT = 1e-4
"""Smallest gradient, in standard errors, that float32 can promise."""


@dataclass(frozen=True, slots=True)
class MarginalOptions:
    """How a marginal likelihood is computed and maximised.

    Attributes
    ----------
    quadrature
        ``grid``: equally spaced, refined until no posterior is sharper than the rule; ``gauss_hermite``: fixed.
    n_nodes
        Number of Gauss-Hermite nodes; the grid chooses its own.
    se_method
        See :data:`analytics.irt.observed_information.SeMethod`.
    tolerance
        Largest gradient, in standard errors, at which the search counts as converged.
    max_iterations
        Most quasi-Newton iterations.
    backend
        ``torch`` runs the pass in float32 on the accelerator where there is one; its tolerance is at least 1e-4.
    """

    quadrature: QuadratureRule = "grid"
    n_nodes: int = 21
    se_method: SeMethod = "observed"
    tolerance: float = 1e-5
    max_iterations: int = 1000
    backend: Backend = "numpy"

    def __post_init__(self) -> None:
        check_option("quadrature", self.quadrature, QuadratureRule)
        check_option("se_method", self.se_method, SeMethod)
        check_option("backend", self.backend, Backend)

    @property
    def search_tolerance(self) -> float:
        """The tolerance that the back end's precision can reach."""
        return self.tolerance if self.backend == "numpy" else max(self.tolerance, FLOAT32_SCALED_GRADIENT)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A member of the family of marginal models.

    Attributes
    ----------
    irt_model
        Its name in results.
    family, slope
        Item family and the role of the slope.
    is_rescaled
        Report slopes of 1 and a standard deviation of ability in place of a common slope and N(0, 1).
    center
        Where the origin is put after the fit.
    has_lower
        Whether each item has a lower asymptote.
    lower_prior
        Beta parameters of its prior, or None.
    """

    irt_model: IrtModel
    family: Family
    slope: SlopeRole
    is_rescaled: bool = False
    center: Center = "persons"
    has_lower: bool = False
    lower_prior: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of the data that a model can use.

    Attributes
    ----------
    data
        Responses to the kept items, categories numbered without gaps.
    scores
        Original scores in use of every item.
    kept
        Positions of the kept items.
    counts
        Weighted counts of each score of every item, before any renumbering, shape (n_items, highest score + 1).
    findings
        What :func:`analytics.irt.design.examine` says.
    n_observed
        Weighted number of observed cells of all items.
    """

    data: Responses
    scores: tuple[tuple[int, ...], ...]
    kept: IntArray
    counts: FloatArray
    findings: tuple[Finding, ...]
    n_observed: float
