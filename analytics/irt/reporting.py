"""From estimates to the result that people read: labels, reasons, identification, findings.

Holds the assembly of :class:`analytics.irt.fit_result.IrtFit` for marginal fits. No estimation belongs here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from analytics.irt.design import Finding, some
from analytics.irt.fit_result import IrtFit
from analytics.irt.items import ItemParameters
from analytics.irt.marginal import STEEPEST, Solution
from analytics.irt.model_spec import MarginalOptions, ModelSpec, Selection
from analytics.irt.responses import FloatArray, IntArray, Responses
from analytics.irt.standard_errors import LOWER_BOUNDARY

FEWEST_FOR_SLOPES = 100
NO_SPREAD = 1e-3  # a standard deviation of ability up to this is 0: no likelihood tells them apart


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates for the kept items, on N(0, 1) abilities before any rescaling of persons.

    Attributes
    ----------
    items
        Readable parameters, numbers for labels.
    errors
        Standard errors of slope, lower asymptote and thresholds side by side, shape (n_kept, 2 + n_thresholds).
    common_slope, common_se
        Slope of the first item, and its standard error where all share it.
    has_errors
        False where the information matrix has no inverse.
    eap, eap_sd
        Posterior moments of each person, shape (n_persons,).
    """

    items: ItemParameters
    errors: FloatArray
    common_slope: float
    common_se: float
    has_errors: bool
    eap: FloatArray
    eap_sd: FloatArray


def report(
    responses: Responses,
    selection: Selection,
    spec: ModelSpec,
    options: MarginalOptions,
    solution: Solution,
    estimates: Estimates,
) -> IrtFit:
    """Put estimates, errors, abilities and findings under the labels of the input."""
    if not _is_identified(spec, selection):  # the information is singular, whatever rounding makes of it
        nothing = np.full_like(estimates.errors, np.nan)
        estimates = replace(estimates, errors=nothing, common_se=float("nan"), has_errors=False)
    items, errors, scores, kept = estimates.items, estimates.errors, selection.scores, selection.kept
    has_spread = spec.slope != "common" or estimates.common_slope > NO_SPREAD
    sd = (estimates.common_slope if has_spread else 0.0) if spec.is_rescaled else 1.0
    shift = -float(np.nanmean(items.thresholds)) if spec.center == "items" else 0.0
    unanswered = np.flatnonzero(selection.data.answered == 0)
    theta, theta_se = estimates.eap * sd + shift, estimates.eap_sd * (sd if has_spread else np.nan)
    theta[unanswered], theta_se[unanswered] = np.nan, np.nan
    has_maximum = bool(np.abs(solution.x[:, 0]).max() <= STEEPEST)
    is_converged = has_maximum and solution.gradient_norm <= max(10 * options.search_tolerance, 1e-4)
    message = (
        f"gradient {solution.gradient_norm:.2g} standard errors from 0"
        if has_maximum
        else "a slope has no finite maximum"
    )
    rows_of = expander(len(responses.item_ids), kept)
    return IrtFit(
        irt_model=spec.irt_model,
        method="marginal",
        identification=_identification(spec),
        items=ItemParameters(
            items.family,
            responses.item_ids,
            rows_of(items.slope),
            rows_of(items.thresholds + shift),
            rows_of(items.lower),
            scores,
        ),
        slope_se=rows_of(errors[:, 0]) if not spec.is_rescaled else np.full(len(scores), np.nan),
        lower_se=rows_of(errors[:, 1]),
        thresholds_se=rows_of(np.where(np.isnan(items.thresholds), np.nan, errors[:, 2:])),
        item_reason=item_reasons(scores),
        mean_theta=shift,
        sd_theta=sd,
        sd_theta_se=estimates.common_se if spec.is_rescaled and has_spread else float("nan"),
        log_likelihood=solution.log_likelihood,
        log_posterior=solution.log_posterior,
        n_parameters=_n_parameters(spec, selection),
        n_persons=float(responses.weights.sum()),
        n_observed=selection.n_observed,
        se_method=options.se_method,
        is_converged=is_converged,
        message="converged" if is_converged else message,
        n_iterations=solution.n_iterations,
        gradient_norm=solution.gradient_norm,
        person_ids=responses.person_ids,
        theta=theta,
        theta_se=theta_se,
        person_reason=person_reasons(responses.n_persons, unanswered, has_spread=has_spread),
        ability_method="eap",
        findings=selection.findings + _fit_findings(spec, responses, selection, solution, estimates.has_errors),
    )


def _fit_findings(
    spec: ModelSpec, responses: Responses, selection: Selection, solution: Solution, has_errors: bool
) -> tuple[Finding, ...]:
    """Return what the fit itself cannot tell."""
    kept, found = selection.kept, []
    if spec.has_lower:
        at_zero = np.flatnonzero(solution.x[:, 2] < np.log(LOWER_BOUNDARY))
        names = tuple(responses.item_ids[kept[j]] for j in at_zero)
        if names:
            said = f"lower asymptote of {len(names)} item(s) at its boundary, 0: no standard error for it"
            found.append(Finding("boundary", names, said))
    if spec.lower_prior is not None:
        alpha, beta = spec.lower_prior
        said = (
            f"lower asymptotes have the prior Beta({alpha:g}, {beta:g}), most likely value "
            f"{(alpha - 1) / (alpha + beta - 2):.2g}: what was maximised is the log posterior, "
            f"{solution.log_posterior:.4f}; log_likelihood is without the prior"
        )
        found.append(Finding("prior", (), said))
    n_persons = int(np.count_nonzero(responses.answered))
    if spec.slope == "free" and responses.weights.sum() < FEWEST_FOR_SLOPES:
        said = (
            f"{n_persons} persons, fewer than {FEWEST_FOR_SLOPES}, are few for a slope per item: prefer the Rasch model"
        )
        found.append(Finding("few_persons", (), said))
    if spec.slope == "common" and abs(solution.x[0, 0]) <= NO_SPREAD:
        said = "the variance of ability is at its boundary, 0: the responses do not tell persons apart"
        found.append(Finding("boundary", (), said))
    against = [responses.item_ids[kept[j]] for j in np.flatnonzero(solution.x[:, 0] < 0)]
    if against:
        said = f"slope of {len(against)} item(s) negative ({some(against)}): key suspect"
        found.append(Finding("key_suspect", tuple(against), said))
    steep = np.flatnonzero(np.abs(solution.x[:, 0]) > STEEPEST)
    if len(steep):
        names = tuple(responses.item_ids[kept[j]] for j in steep)
        of = "common slope" if spec.slope == "common" else f"slope of {len(names)} item(s) ({some(names)})"
        said = f"{of} beyond {STEEPEST:g}: no finite maximum"
        found.append(Finding("boundary", names, said))
    if not _is_identified(spec, selection):
        patterns = math.prod(len(selection.scores[j]) for j in kept)
        said = (
            f"{_n_parameters(spec, selection)} parameters, {patterns} possible patterns of responses: not identified, "
            "many other values have the same likelihood"
        )
        found.append(Finding("information", (), said))
    if not has_errors:
        why = "is not that of a maximum" if len(steep) else "is not positive definite"
        said = f"the information matrix {why}: no standard errors"
        found.append(Finding("information", (), said))
    return tuple(found)


def _is_identified(spec: ModelSpec, selection: Selection) -> bool:
    """Whether the items have enough patterns of responses for the parameters; with one or two items they may not."""
    patterns = math.prod(len(selection.scores[j]) for j in selection.kept)
    return _n_parameters(spec, selection) < patterns


def _identification(spec: ModelSpec) -> str:
    """Return in words what fixes origin and unit."""
    if spec.center == "items":
        return "mean threshold 0, slopes 1, theta ~ N(mean, sd^2)"
    if spec.is_rescaled:
        return "theta ~ N(0, sd^2), slopes 1"
    slopes = {"free": "one slope an item", "common": "one slope for all items", "fixed": "slopes 1"}[spec.slope]
    return f"theta ~ N(0, 1), {slopes}"


def _n_parameters(spec: ModelSpec, selection: Selection) -> int:
    """Return the number of free parameters."""
    n_items = len(selection.kept)
    slopes = {"free": n_items, "common": 1, "fixed": 0}[spec.slope]
    return sum(len(selection.scores[j]) - 1 for j in selection.kept) + slopes + (n_items if spec.has_lower else 0)


def expander(n_items: int, kept: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Return a function that puts rows of fitted items into place among all items, NaN elsewhere."""

    def expand(values: FloatArray) -> FloatArray:
        full = np.full((n_items, *values.shape[1:]), np.nan)
        full[kept] = values
        return full

    return expand


def item_reasons(scores: tuple[tuple[int, ...], ...]) -> tuple[str, ...]:
    """Return for each item why it has no estimate, given its scores in use; empty text where it has one."""
    texts = {0: "no response", 1: "every response is {}: the estimate is infinite"}
    return tuple(texts[len(found)].format(*found) if len(found) < 2 else "" for found in scores)


def person_reasons(n_persons: int, unanswered: IntArray, *, has_spread: bool = True) -> tuple[str, ...]:
    """Return for each person why there is no ability, or no standard error of it where abilities have no spread."""
    without = set(unanswered.tolist())
    said = "" if has_spread else "the variance of ability is 0: everybody has the mean, without a standard error"
    return tuple("no response to an estimated item" if i in without else said for i in range(n_persons))
