"""The flat report of a fit: a summary, one row an item, one row a person, ready for JSON or a table.

Holds what a report is. Does not hold its making from each kind of result (`fit_report_making`).
"""

from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from analytics.literals import MissingPolicy


@dataclass(frozen=True, slots=True)
class FitSummary:
    """What was fitted and how it ended; NaN where a model has no such number.

    ``log_likelihood`` is the one of the method: abilities integrated out (marginal methods), given the sum scores
    (conditional), or, for a testlet model with random items, at the joint mode and without penalty, as in
    ``psychometrics.irt_fits``. ``marginal_log_likelihood`` has every random effect integrated out; it alone compares
    models. ``ability_method`` names the estimator of ``theta``: ``eap`` and ``map`` are drawn towards the mean, ``wle``
    is not; ``none`` where there is no ability.
    """

    model: str
    method: str
    missing: MissingPolicy
    identification: str
    log_likelihood: float
    marginal_log_likelihood: float
    n_parameters: int | None
    n_persons: float
    n_items: int
    n_observed: float
    sd_theta: float
    ability_method: str
    is_converged: bool
    message: str
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item: ``b`` is the difficulty of a 0/1 item, ``thresholds`` are those of an item with more scores, in order.

    The one that an item does not have is NaN or empty; what has no finite estimate is NaN with a reason. An estimate
    that rests on the prior alone has a reason too.
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
    """One person, in input order: number of answers, sum of scores, ability with its standard error.

    The testlet model has its ability twice: ``theta`` at testlet effect 0, on the scale of the difficulties, and
    ``theta_marginal`` with testlet effects averaged out; for other models the latter is NaN.
    """

    id: str
    n: int
    score: float
    theta: float
    theta_se: float
    reason: str
    theta_marginal: float = float("nan")
    theta_marginal_se: float = float("nan")


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
        """Return plain dictionaries and lists.

        A number that is not finite becomes None, its reason stays beside it; counts and sums of scores are integers
        unless weights that are no whole numbers make them otherwise.
        """
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain


def _plain(value: object, name: str = "") -> object:
    """Return a value as JSON knows it; its name tells a count from a measure."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {key: _plain(part, key) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    is_count = name in ("n", "score") or name.startswith("n_")
    if is_count and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
