"""Every picture by name: what it reads from the published file, what draws it, what it is for.

The one place that a new picture is entered. A query takes one parameter: the fit (or the data set, where it is no
matter of a fit).
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from orchestration.house import UnknownNameError
from orchestration.plots import curves, items, raters
from orchestration.plots.style import styled
from orchestration.reading import NotPublishedError, query_published
from orchestration.settings import Settings

BIN_SOURCE = """
qualify bin_source = 'leave_model_out' or bool_and(bin_source = 'own_fit') over (partition by rater_id)
"""
"""Keeps the bins that the rater's own model had no part in, where there are any."""
RATERS = """
select f.rater_id, r.family, f.theta, f.theta_se, f.n_observed as n, f.n_right / nullif(f.n_observed, 0) as accuracy
from psychometrics.irt_raters as f join core.raters as r using (rater_id)
where f.fit_id = ? order by f.theta desc nulls last, f.rater_id
"""


class NothingToDrawError(NotPublishedError):
    """The published file holds no numbers for a picture; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One kind of picture."""

    description: str
    """What it shows, in one line."""
    queries: tuple[str, ...]
    """Queries on the published file with one parameter each, the fit or the data set."""
    chart: Callable[..., Any]
    """Draws the frames of the queries; its last argument is the subject in words."""
    by: Literal["fit", "dataset"] = "fit"
    """What the parameter of the queries is."""


PLOTS: dict[str, Plot] = {
    "leaderboard": Plot("Ability of each rater with 95 % intervals", (RATERS,), raters.leaderboard),
    "accuracy-by-bin": Plot(
        "Accuracy over item difficulty beside what the fit expects, by model",
        (
            "select rater_id, model, bin_source, difficulty_bin, n, accuracy, expected_accuracy "
            f"from marts.rater_robustness where fit_id = ? {BIN_SOURCE} order by rater_id, difficulty_bin",
        ),
        items.accuracy_by_bin,
    ),
    "confusion-by-bin": Plot(
        "Label given for each gold label, by item difficulty",
        (
            "select c.difficulty_bin, c.gold_label, c.answer_label, sum(c.n)::bigint as n "
            "from marts.confusion_by_difficulty as c join core.datasets as d using (dataset) "
            "left join core.labels as g on g.label_set = d.label_set and g.label = c.gold_label "
            "left join core.labels as a on a.label_set = d.label_set and a.label = c.answer_label "
            "where c.fit_id = ? "
            "group by c.difficulty_bin, c.gold_label, c.answer_label, g.position, a.position "
            "order by g.position, c.gold_label, a.position, c.answer_label, c.difficulty_bin",
        ),
        items.confusion_by_bin,
    ),
    "wright-map": Plot(
        "Raters' abilities and items' difficulties on one scale",
        (
            "select theta, is_extreme from psychometrics.irt_raters where fit_id = ? and theta is not null",
            "select b, is_extreme from psychometrics.irt_items where fit_id = ? and b is not null",
        ),
        items.wright_map,
    ),
    "item-curves": Plot(
        "Probability of a right response over ability, by item difficulty",
        (
            "select b, difficulty_bin from psychometrics.irt_items where fit_id = ? and b is not null",
            "select theta from psychometrics.irt_raters where fit_id = ? and theta is not null",
        ),
        curves.item_curves,
    ),
    "information": Plot(
        "What all items together tell about ability, and the standard error that follows",
        (
            "select b from psychometrics.irt_items where fit_id = ? and b is not null",
            "select theta from psychometrics.irt_raters where fit_id = ? and theta is not null",
        ),
        curves.information,
    ),
    "excess-slopes": Plot(
        "How much less accuracy falls with difficulty than ability implies",
        (
            "select s.rater_id, r.family, s.bin_source, s.n, s.excess_slope, s.excess_slope_ci_low, "
            "s.excess_slope_ci_high from marts.rater_slopes as s join core.raters as r using (rater_id) "
            f"where s.fit_id = ? {BIN_SOURCE} order by s.rater_id",
        ),
        raters.excess_slopes,
    ),
    "ability-accuracy": Plot("Ability against accuracy, rater by rater", (RATERS,), raters.ability_accuracy),
    "person-fit": Plot(
        "Whether each rater answers as its ability says: mean squares of the residuals over ability",
        (
            "select f.rater_id, r.family, f.theta, f.infit, f.outfit, f.n_observed as n "
            "from psychometrics.irt_raters as f join core.raters as r using (rater_id) where f.fit_id = ? "
            "order by f.rater_id",
        ),
        raters.person_fit,
    ),
    "coverage": Plot(
        "What became of each rater's requests, by status",
        ("select rater_id, status, n, share from marts.coverage where dataset = ? order by rater_id, status",),
        raters.coverage,
        by="dataset",
    ),
}
"""Every picture by name."""


def draw(settings: Settings, name: str, *, dataset: str | None = None, fit: str | None = None) -> Any:
    """Draw a picture from the published file.

    Parameters
    ----------
    settings
        Installation.
    name
        Key of `PLOTS`.
    dataset
        Data set; may be left out where only one is published, or where a fit is named.
    fit
        Fit; the data set's primary one where none is named.

    Raises
    ------
    UnknownNameError
        If the picture, the data set or the fit does not exist.
    NothingToDrawError
        If there are no numbers for it.
    NotPublishedError
        If nothing has been published yet.
    """
    plot = PLOTS[_known("plot", name, list(PLOTS))]
    found = _fit_of(settings, dataset, fit)
    subject = str(found["title"])
    if plot.by == "fit":
        subject += f"; {found['irt_model']}, missing responses: {found['missing_policy']}"
    parameter = found["fit_id"] if plot.by == "fit" else found["dataset"]
    frames = [query_published(settings, query, [parameter]) for query in plot.queries]
    if any(frame.is_empty() for frame in frames):
        why = found["undefined_reason"] or "the published file has no rows for it"
        raise NothingToDrawError(f"{name}: nothing to draw for data set {found['dataset']!r}: {why}")
    return styled(plot.chart(*frames, subject))


def _fit_of(settings: Settings, dataset: str | None, fit: str | None) -> dict[str, Any]:
    """Return fit, data set and its title; the fit that is named, or the primary one of the data set."""
    fits = query_published(
        settings,
        "select f.fit_id, f.dataset, f.irt_model, f.missing_policy, f.is_primary, f.undefined_reason, d.title "
        "from psychometrics.irt_fits as f join core.datasets as d using (dataset) order by f.dataset, f.fit_id",
    )
    datasets = fits["dataset"].unique(maintain_order=True).to_list()
    if dataset is not None:
        fits = fits.filter(pl.col("dataset") == _known("data set", dataset, datasets))
    elif fit is None and len(datasets) != 1:
        raise UnknownNameError(f"which data set? Name one of {datasets} with --dataset")
    if fit is not None:
        fits = fits.filter(pl.col("fit_id") == _known("fit", fit, fits["fit_id"].to_list()))
    else:
        fits = fits.filter(pl.col("is_primary"))
    return fits.row(0, named=True)


def _known(kind: str, name: str, known: Sequence[str]) -> str:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise UnknownNameError(f"unknown {kind} {name!r}{hint}; expected one of {', '.join(map(repr, known))}")
    return name
