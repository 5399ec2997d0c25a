"""What goes into a many-facet fit and what comes out.

Holds the records alone; building ratings from labels and fitting belong to ``facets``.
"""

from dataclasses import dataclass
from typing import Literal

from analytics.irt.design import Finding
from analytics.irt.responses import FloatArray, IntArray

FacetsSeMethod = Literal["observed", "cross_product", "none"]
"""Exact second derivatives, outer products of the persons' scores, or no standard errors."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings in long form.

    Attributes
    ----------
    person_ids
        Labels of what is measured.
    persons
        Shape (n_ratings,), position of each rating's person.
    facets
        Names of the facets; the first carries the location of the scale.
    level_ids
        Labels of the levels of each facet.
    codes
        Shape (n_facets, n_ratings), position of each rating's level.
    values
        Shape (n_ratings,), whole grades from 0.
    """

    person_ids: tuple[str, ...]
    persons: IntArray
    facets: tuple[str, ...]
    level_ids: tuple[tuple[str, ...], ...]
    codes: IntArray
    values: IntArray


@dataclass(frozen=True, slots=True)
class FacetEstimates:
    """Levels of one facet: the higher the estimate, the more severe the rater or the harder the item.

    Attributes
    ----------
    name, level_ids
        Facet and its levels.
    estimate, se
        Shape (n_levels,); NaN with a reason.
    n_ratings
        Shape (n_levels,).
    reason
        Why there is no estimate, empty where there is one.
    """

    name: str
    level_ids: tuple[str, ...]
    estimate: FloatArray
    se: FloatArray
    n_ratings: IntArray
    reason: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetsFit:
    """Result of a many-facet fit.

    Attributes
    ----------
    facets
        Estimates, in the order of the input.
    scores
        Original grade of each category; unused grades are left out and named in the findings.
    steps
        Shape (n_scales, n_categories - 1): step difficulties, mean 0 within a scale, NaN-padded.
    sd_theta, sd_theta_se
        Standard deviation of the persons.
    person_ids, person_n, person_score, theta, theta_se
        Number and sum of ratings, posterior mean and standard deviation of each person; NaN without a rating.
    log_likelihood, n_parameters, n_ratings
        Marginal log-likelihood over N(0, sd^2), free parameters and ratings used or at an infinite limit.
    identification, se_method, is_converged, message, n_iterations, gradient_norm, findings
        As in :class:`analytics.irt.fit_result.IrtFit`.
    """

    facets: tuple[FacetEstimates, ...]
    scores: tuple[int, ...]
    steps: FloatArray
    sd_theta: float
    sd_theta_se: float
    person_ids: tuple[str, ...]
    person_n: IntArray
    person_score: FloatArray
    theta: FloatArray
    theta_se: FloatArray
    log_likelihood: float
    n_parameters: int
    n_ratings: int
    identification: str
    se_method: FacetsSeMethod
    is_converged: bool
    message: str
    n_iterations: int
    gradient_norm: float
    findings: tuple[Finding, ...]
