"""The flat report of a fit: a summary, one row an item, one row a person, ready for JSON or a table.

Holds the report and its making from each kind of result. No estimation belongs here.
"""

from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from analytics.ctt.items import ItemStatistics
from analytics.irt.facets_result import FacetsFit
from analytics.irt.fit_result import IrtFit
from analytics.irt.responses import FloatArray, Responses
from analytics.irt.testlet_result import TestletFit
from analytics.literals import MissingPolicy

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class FitSummary:
    """What was fitted and how it ended; NaN where a model has no such number."""

    model: str
    method: str
    missing: MissingPolicy
    identification: str
    log_likelihood: float
    n_parameters: int | None
    n_persons: float
    n_items: int
    n_observed: float
    sd_theta: float
    is_converged: bool
    message: str
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item: ``b`` is the difficulty of a 0/1 item, ``thresholds`` are those of an item with more scores, in order.

    The one that an item does not have is NaN or empty; what has no finite estimate is NaN with a reason.
    """

    id: str
    n: float
    facility: float
    item_total_r: float
    item_rest_r: float
    a: float
    a_se: float
    b: float
    b_se: float
    thresholds: tuple[float, ...]
    thresholds_se: tuple[float, ...]
    c: float
    c_se: float
    reason: str


@dataclass(frozen=True, slots=True)
class PersonRow:
    """One person, in input order: number of answers, sum of scores, ability with its standard error."""

    id: str
    n: int
    score: float
    theta: float
    theta_se: float
    reason: str


@dataclass(frozen=True, slots=True)
class FacetRow:
    """One level of a facet."""

    facet: str
    id: str
    n: int
    estimate: float
    estimate_se: float
    reason: str


@dataclass(frozen=True, slots=True)
class FitReport:
    """Result of :func:`analytics.fit.fit_matrix`.

    Attributes
    ----------
    fit, items, persons
        Summary and rows.
    facets
        Levels of all facets of a many-facet fit, empty otherwise.
    steps
        Step difficulties of a many-facet fit, empty otherwise.
    """

    fit: FitSummary
    items: tuple[ItemRow, ...]
    persons: tuple[PersonRow, ...]
    facets: tuple[FacetRow, ...] = ()
    steps: tuple[tuple[float, ...], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists; a number that is not finite becomes None, its reason stays beside it."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain


def report_irt(fit: IrtFit, data: Responses, missing: MissingPolicy) -> FitReport:
    """Return the report of a Rasch, logistic, graded or partial credit fit."""
    summary = FitSummary(
        model=fit.irt_model,
        method=fit.method,
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        n_persons=fit.n_persons,
        n_items=data.n_items,
        n_observed=fit.n_observed,
        sd_theta=fit.sd_theta,
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
        log_likelihood=fit.marginal_log_likelihood,
        n_parameters=None,
        n_persons=float(data.weights.sum()),
        n_items=data.n_items,
        n_observed=float(data.category_counts().sum()),
        sd_theta=fit.sd_theta,
        is_converged=fit.is_converged,
        message="converged" if fit.is_converged else "the search for the standard deviations did not end",
        findings=(*fit.warnings, f"sd of testlet effects {fit.sd_u:.4g}, of difficulties {fit.sd_b:.4g}"),
    )
    n, facility = _facility(data)
    items = tuple(
        ItemRow(
            label, n[j], facility[j], NAN, NAN, 1.0, NAN, float(fit.b[j]), float(fit.b_se[j]), (), (), 0.0, NAN,
            "" if np.isfinite(fit.b[j]) else "no response",
        )
        for j, label in enumerate(data.item_ids)
    )  # fmt: skip
    reasons = tuple("" if np.isfinite(value) else "no response" for value in fit.theta)
    return FitReport(summary, items, _persons(data, fit.theta, fit.theta_se, reasons))


def report_ctt(found: ItemStatistics, data: Responses, table: FloatArray) -> FitReport:
    """Return the report of classical statistics of a table of rows: no likelihood and no ability, the score instead."""
    summary = FitSummary(
        model="ctt",
        method="classical",
        missing=found.missing_policy,
        identification="score metric",
        log_likelihood=NAN,
        n_parameters=None,
        n_persons=float(len(table)),
        n_items=data.n_items,
        n_observed=float(np.count_nonzero(~np.isnan(table))),
        sd_theta=NAN,
        is_converged=True,
        message="no iteration",
        findings=(),
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


def report_facets(fit: FacetsFit, missing: MissingPolicy) -> FitReport:
    """Return the report of a many-facet fit; its levels are in ``facets`` and the first facet also in ``items``."""
    first = fit.facets[0]
    summary = FitSummary(
        model="mfrm",
        method="marginal",
        missing=missing,
        identification=fit.identification,
        log_likelihood=fit.log_likelihood,
        n_parameters=fit.n_parameters,
        n_persons=float(len(fit.person_ids)),
        n_items=len(first.level_ids),
        n_observed=float(fit.n_ratings),
        sd_theta=fit.sd_theta,
        is_converged=fit.is_converged,
        message=fit.message,
        findings=tuple(finding.message for finding in fit.findings),
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
    persons = tuple(
        PersonRow(label, int(n), float(score), float(t), float(se), "" if np.isfinite(t) else "no rating")
        for label, n, score, t, se in zip(
            fit.person_ids, fit.person_n, fit.person_score, fit.theta, fit.theta_se, strict=True
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
    rows, _, values = data.triples()
    score = np.bincount(rows, weights=values, minlength=data.n_persons)
    numbers = (data.answered.tolist(), score.tolist(), theta.tolist(), theta_se.tolist())
    return tuple(PersonRow(*column) for column in zip(data.person_ids, *numbers, reason, strict=True))


def _plain(value: object) -> object:
    """Return a value as JSON knows it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(part) for key, part in asdict(value).items()}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
