"""From the result of a fit to the flat report, one function for each kind of result.

Holds the translation only. No estimation belongs here, and what a report is stands in `fit_report`.
"""

from dataclasses import replace

import numpy as np

from analytics.ctt.items import ItemStatistics
from analytics.fit_report import FacetRow, FitReport, FitSummary, ItemRow, PersonRow
from analytics.irt.design import FindingKind, examine, some
from analytics.irt.facets_result import FacetsFit
from analytics.irt.fit_result import IrtFit
from analytics.irt.reporting import person_reasons
from analytics.irt.responses import FloatArray, Responses
from analytics.irt.testlet_marginal import TestletMarginalFit
from analytics.irt.testlet_result import TestletFit
from analytics.irt.testlet_scale import marginal_factor
from analytics.literals import MissingPolicy

NAN = float("nan")
OF_ROWS: tuple[FindingKind, ...] = ("few_responses", "empty_persons", "duplicate_persons")
"""What data tell of rows and thin items whatever is fitted to them."""
ON_PRIOR = "the estimate rests on the prior alone"


def report_irt(fit: IrtFit, data: Responses, missing: MissingPolicy) -> FitReport:
    """Return the report of a Rasch, logistic, graded or partial credit fit."""
    summary = FitSummary(
        model=fit.irt_model,
        method=fit.method,
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        marginal_log_likelihood=NAN if fit.method == "conditional" else fit.log_likelihood,
        n_parameters=fit.n_parameters,
        n_persons=fit.n_persons,
        n_items=data.n_items,
        n_observed=fit.n_observed,
        sd_theta=fit.sd_theta,
        ability_method=fit.ability_method,
        is_converged=fit.is_converged,
        message=fit.message,
        findings=tuple(finding.message for finding in fit.findings),
    )
    n, facility = _facility(data)
    items = tuple(
        ItemRow(
            label, n[j], facility[j], NAN, NAN,
            float(fit.items.slope[j]), float(fit.slope_se[j]), *_places(fit, j),
            float(fit.items.lower[j]), float(fit.lower_se[j]), fit.item_reason[j],
        )
        for j, label in enumerate(data.item_ids)
    )  # fmt: skip
    return FitReport(summary, items, _persons(data, fit.theta, fit.theta_se, fit.person_reason))


def report_testlet(fit: TestletFit, data: Responses, missing: MissingPolicy) -> FitReport:
    """Return the report of a testlet fit; extreme items and persons keep their shrunken, finite estimates."""
    summary = FitSummary(
        model="testlet",
        method=fit.method,
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        marginal_log_likelihood=fit.marginal_log_likelihood,
        n_parameters=None,
        n_persons=float(data.weights.sum()),
        n_items=data.n_items,
        n_observed=float(data.category_counts().sum()),
        sd_theta=fit.sd_theta,
        ability_method="map",
        is_converged=fit.is_converged,
        message="converged" if fit.is_converged else "the search for the standard deviations did not end",
        findings=(
            *fit.warnings,
            *(finding.message for finding in examine(data, constant_item_has=f"{ON_PRIOR}, its size means little")),
            f"sd of difficulties {fit.sd_b:.4g}",
            _scales(fit),
        ),
    )
    n, facility = _facility(data)
    items = tuple(
        ItemRow(
            label, n[j], facility[j], NAN, NAN, 1.0, NAN, float(fit.b[j]), float(fit.b_se[j]), (), (), 0.0, NAN,
            f"every response is alike: {ON_PRIOR}" if fit.is_extreme_item[j]
            else "" if np.isfinite(fit.b[j]) else "no response",
        )
        for j, label in enumerate(data.item_ids)
    )  # fmt: skip
    return FitReport(summary, items, _persons_of_testlets(data, fit))


def report_testlet_marginal(fit: TestletMarginalFit, data: Responses, missing: MissingPolicy) -> FitReport:
    """Return the report of a testlet fit with fixed items; an item that everybody answers alike has no estimate."""
    summary = FitSummary(
        model="testlet",
        method=fit.method if fit.method == "gauss_hermite" else "marginal_laplace",
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        marginal_log_likelihood=fit.log_likelihood,
        n_parameters=int(np.count_nonzero(np.isfinite(fit.b))) + 2,
        n_persons=float(data.n_persons),
        n_items=data.n_items,
        n_observed=float(data.n_observed),
        sd_theta=fit.sd_theta,
        ability_method="eap" if fit.method == "gauss_hermite" else "map",
        is_converged=fit.is_converged,
        message="converged" if fit.is_converged else f"largest gradient {fit.gradient_norm:.2g}",
        findings=(*(finding.message for finding in examine(data)), _scales(fit)),
    )
    n, facility = _facility(data)
    items = tuple(
        ItemRow(label, n[j], facility[j], NAN, NAN, 1.0, NAN, *_place(fit, j), (), (), 0.0, NAN, _why(fit, j))
        for j, label in enumerate(data.item_ids)
    )
    return FitReport(summary, items, _persons_of_testlets(data, fit))


def _scales(fit: TestletFit | TestletMarginalFit) -> str:
    factor = marginal_factor(fit.sd_u)
    bias = "; Laplace's approximation makes it too small, most with few answers in a testlet"
    said = f"sd of testlet effects {fit.sd_u:.4g}; with them averaged out theta and b are {factor:.4g} of theirs here"
    return said + bias * (fit.method == "laplace")


def _place(fit: TestletMarginalFit, j: int) -> tuple[float, float]:
    """Return difficulty of item j and its error; NaN where the estimate is infinite."""
    return (float(fit.b[j]), float(fit.b_se[j])) if np.isfinite(fit.b[j]) else (NAN, NAN)


def _why(fit: TestletMarginalFit, j: int) -> str:
    if np.isfinite(fit.b[j]):
        return ""
    return "no response" if np.isnan(fit.b[j]) else "every response is alike: the estimate is infinite"


def report_ctt(found: ItemStatistics, data: Responses) -> FitReport:
    """Return the report of classical statistics of a table of rows: no likelihood and no ability, the score instead."""
    summary = FitSummary(
        model="ctt",
        method="classical",
        missing=found.missing_policy,
        identification="score metric",
        log_likelihood=NAN,
        marginal_log_likelihood=NAN,
        n_parameters=None,
        n_persons=float(data.weights.sum()),
        n_items=data.n_items,
        n_observed=float(found.n_raters.sum()),
        sd_theta=NAN,
        ability_method="none",
        is_converged=True,
        message="no iteration",
        findings=_classical_findings(found, data),
    )
    items = tuple(
        ItemRow(
            label, float(found.n_raters[j]), float(found.facility[j]), float(found.item_total_r[j]),
            float(found.item_rest_r[j]), NAN, NAN, NAN, NAN, (), (), NAN, NAN, found.undefined_reason[j] or "",
        )
        for j, label in enumerate(data.item_ids)
    )  # fmt: skip
    nothing = np.full(data.n_persons, np.nan)
    reason = ("classical statistics have no ability",) * data.n_persons
    return FitReport(summary, items, _persons(data, nothing, nothing, reason))


def _classical_findings(found: ItemStatistics, data: Responses) -> tuple[str, ...]:
    """Return what to know of the data, and the items that go against the others: nothing is turned round in silence."""
    kinds = ("empty_items", "constant_items", *OF_ROWS)
    said = [f.message for f in examine(data, constant_item_has="no correlation") if f.kind in kinds]
    against = [data.item_ids[j] for j in np.flatnonzero(found.item_rest_r < 0)]
    if against:
        said.append(f"{len(against)} item(s) with a negative item-rest correlation ({some(against)}): key suspect")
    return tuple(said)


def report_facets(fit: FacetsFit, missing: MissingPolicy, data: Responses | None = None) -> FitReport:
    """Return the report of a many-facet fit, of the table `data` if of one; its first facet is also in ``items``."""
    first = fit.facets[0]
    of_rows = () if data is None else tuple(f for f in examine(data) if f.kind in (*OF_ROWS, "extreme_persons"))
    summary = FitSummary(
        model="mfrm",
        method="marginal",
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        marginal_log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        n_persons=float(len(fit.person_ids)),
        n_items=len(first.level_ids),
        n_observed=float(fit.n_ratings),
        sd_theta=fit.sd_theta,
        ability_method="eap",
        is_converged=fit.is_converged,
        message=fit.message,
        findings=tuple(finding.message for finding in (*fit.findings, *of_rows)),
    )
    levels = tuple(
        FacetRow(facet.name, label, int(facet.n_ratings[j]), float(facet.estimate[j]), float(facet.se[j]), why)
        for facet in fit.facets
        for j, (label, why) in enumerate(zip(facet.level_ids, facet.reason, strict=True))
    )
    items = tuple(
        ItemRow(
            row.id, float(row.n), NAN, NAN, NAN, 1.0, NAN, row.estimate, row.estimate_se, (), (), 0.0, NAN, row.reason
        )
        for row in levels
        if row.facet == first.name
    )
    reasons = person_reasons(len(fit.person_ids), np.flatnonzero(fit.person_n == 0), has_spread=fit.sd_theta > 0)
    persons = tuple(
        PersonRow(label, int(n), float(score), float(t), float(se), why)
        for label, n, score, t, se, why in zip(
            fit.person_ids, fit.person_n, fit.person_score, fit.theta, fit.theta_se, reasons, strict=True
        )
    )
    return FitReport(summary, items, persons, levels, tuple(tuple(row.tolist()) for row in fit.steps))


def _facility(data: Responses) -> tuple[list[float], list[float]]:
    """Return each item's weighted number of answers, and mean score over the highest score of the data."""
    counts = data.category_counts()
    n = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        facility = counts @ np.arange(counts.shape[1]) / (n * (counts.shape[1] - 1))
    return n.tolist(), facility.tolist()


def _places(fit: IrtFit, j: int) -> tuple[float, float, tuple[float, ...], tuple[float, ...]]:
    """Return difficulty and its error of item j if it has one threshold (or none), else its thresholds and theirs."""
    n = len(fit.items.scores[j]) - 1
    if n <= 1:
        return float(fit.items.thresholds[j, 0]), float(fit.thresholds_se[j, 0]), (), ()
    return NAN, NAN, tuple(fit.items.thresholds[j, :n].tolist()), tuple(fit.thresholds_se[j, :n].tolist())


def _persons(
    data: Responses, theta: FloatArray, theta_se: FloatArray, reason: tuple[str, ...]
) -> tuple[PersonRow, ...]:
    """Return the rows of the persons."""
    numbers = (data.answered.tolist(), data.sum_scores.tolist(), theta.tolist(), theta_se.tolist())
    return tuple(PersonRow(*column) for column in zip(data.person_ids, *numbers, reason, strict=True))


def _persons_of_testlets(data: Responses, fit: TestletFit | TestletMarginalFit) -> tuple[PersonRow, ...]:
    """Return the rows of the persons, their abilities on both scales."""
    unanswered = np.flatnonzero(np.isnan(fit.theta))
    has_spread = fit.sd_theta > 0
    reasons = person_reasons(data.n_persons, unanswered, has_spread=has_spread)
    se, marginal_se = (x if has_spread else np.full_like(x, NAN) for x in (fit.theta_se, fit.theta_marginal_se))
    rows = _persons(data, fit.theta, se, reasons)
    marginal = zip(rows, fit.theta_marginal.tolist(), marginal_se.tolist(), strict=True)
    return tuple(replace(row, theta_marginal=theta, theta_marginal_se=se) for row, theta, se in marginal)
