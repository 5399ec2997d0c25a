"""What every item response fit returns.

Holds the frozen result and its plain-text identification. No estimation belongs here.
"""

from dataclasses import dataclass
from typing import Literal

from analytics.irt.design import Finding
from analytics.irt.items import ItemParameters
from analytics.irt.observed_information import SeMethod
from analytics.irt.responses import FloatArray

IrtModel = Literal["rasch", "1pl", "2pl", "3pl", "grm", "pcm", "gpcm"]
"""Item response models of this room that a fit can name."""

IrtMethod = Literal["marginal", "conditional"]
"""Likelihood that was maximised: over a normal ability, or given the sum scores."""

Center = Literal["items", "persons"]
"""Origin of the scale: mean threshold 0, or mean ability 0."""


@dataclass(frozen=True, slots=True)
class IrtFit:
    """A calibration and the abilities that go with it.

    Attributes
    ----------
    irt_model, method, identification
        What was fitted, by which likelihood, and what fixes origin and unit of the scale.
    items
        Slope, thresholds and lower asymptote of each item; NaN with a reason where there is no finite estimate.
    slope_se, lower_se
        Shape (n_items,); NaN where the number is fixed.
    thresholds_se
        Shape (n_items, n_categories - 1).
    item_reason, person_reason
        One text an item or person: why its estimate is NaN, empty where it is not.
    mean_theta, sd_theta, sd_theta_se
        Normal ability distribution of a marginal fit; NaN in a conditional fit, which assumes none.
    log_likelihood
        At the estimates, without any prior. Conditional and marginal values do not compare.
    log_posterior
        The same plus the log prior density (up to its constant); equal where there is no prior.
    n_parameters, n_persons, n_observed
        Free parameters; sum of the weights; weighted number of observed cells.
    se_method, is_converged, message, n_iterations, gradient_norm
        How the search ended; the gradient is in units of standard errors.
    person_ids, theta, theta_se, ability_method
        Abilities in input order, shape (n_persons,), and the estimator that made them.
    findings
        What the data or the fit cannot tell, by name.
    """

    irt_model: IrtModel
    method: IrtMethod
    identification: str
    items: ItemParameters
    slope_se: FloatArray
    thresholds_se: FloatArray
    lower_se: FloatArray
    item_reason: tuple[str, ...]
    mean_theta: float
    sd_theta: float
    sd_theta_se: float
    log_likelihood: float
    log_posterior: float
    n_parameters: int
    n_persons: float
    n_observed: float
    se_method: SeMethod
    is_converged: bool
    message: str
    n_iterations: int
    gradient_norm: float
    person_ids: tuple[str, ...]
    theta: FloatArray
    theta_se: FloatArray
    person_reason: tuple[str, ...]
    ability_method: str
    findings: tuple[Finding, ...]
