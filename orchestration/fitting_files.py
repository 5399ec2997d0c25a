"""Reads responses from a file for a fit without the warehouse: CSV or Parquet, wide or long.

Wide: a row per person, the first column is the person, every other column an item. Long: the Item Response Warehouse's
columns ``id``, ``item``, ``resp``, with ``rater`` or ``rater_…`` for the many-facet model. Ids are text. Does not fit
(:mod:`analytics.fit`) and does not print.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analytics.fit import FitMethod, FitModel, fit_matrix, fit_ratings
from analytics.fit_report import FitReport
from analytics.irt.facets import ratings_from_labels
from analytics.irt.logistic import check_lower_prior
from analytics.irt.reading import MAX_SCORE, first_seen, responses_from_long, responses_from_matrix
from analytics.irt.responses import FloatArray, Responses
from analytics.literals import MissingPolicy
from inference.sources.tables import SourceError, some
from orchestration.response_files import ResponseFile, open_file, refuse

LONG = ("id", "item", "resp")
FAMILY = "item_family"
"""Column of the long format with the testlet of each item."""
ALONE = "({} alone)"
"""Name of the testlet of an item whose testlet is blank or NA: it shares its stimulus with no other."""
BINARY: tuple[FitModel, ...] = ("rasch", "2pl", "3pl", "testlet")
"""Models whose only scores are 0 and 1."""


def fit_file(
    path: Path,
    *,
    model: FitModel,
    method: FitMethod = "default",
    missing: MissingPolicy = "omit",
    testlets: Path | None = None,
    weights: str | None = None,
    lower_prior: tuple[float, float] | None = None,
) -> FitReport:
    """Fit a model to the responses in a file.

    Parameters
    ----------
    path
        ``.parquet``, or delimited text (also ``.gz``).
    model, method, missing
        As for :func:`analytics.fit.fit_matrix`.
    testlets
        File with the columns ``item`` and ``testlet`` (or ``item_id`` and ``testlet_id``). A long file may name them
        itself in ``item_family``. An item whose testlet is blank or NA is a testlet of its own.
    weights
        Column with the number of times that a person counts.
    lower_prior
        As for :func:`analytics.fit.fit_matrix`.

    Raises
    ------
    SourceError
        If the file or an option cannot be used; the message names file, line, column, value and what is allowed.
    """
    file = open_file(path)
    raters = [name for name in file.frame.columns if name == "rater" or name.startswith("rater_")]
    try:
        if _is_long(file) and model == "mfrm" and raters:
            check_lower_prior(model, lower_prior)
            refuse(weights is not None, f"{path}: the many-facet model counts every rating once; leave --weights out")
            refuse(missing != "omit", f"{path}: a rating that is not there has no rater; --missing must be omit")
            return _fit_long_ratings(file, raters, testlets)
        data = _long(file, model, weights) if _is_long(file) else _wide(file, model, weights)
        of_item = _testlets_of(file, data.item_ids, testlets, needed=model == "testlet")
        return fit_matrix(data, model=model, method=method, missing=missing, testlets=of_item, lower_prior=lower_prior)
    except SourceError:
        raise
    except ValueError as fault:
        raise SourceError(f"{path}: {fault}") from fault


def _wide(file: ResponseFile, model: FitModel, weights: str | None) -> Responses:
    """Return the responses of a table of persons."""
    person, *others = file.frame.columns
    items = [name for name in others if name != weights]
    refuse(not items, f"{file.path}: the first column is the person, and no other column is an item; add the items")
    persons = file.texts(person)
    remedy = f"give every person one row, put persons first if no column has them, or name columns {', '.join(LONG)}"
    file.refuse_repeated(persons, f"the person {{0!r}} stands twice; {remedy}")
    table = np.stack([file.scores(name, _highest(model)) for name in items], axis=1)
    return responses_from_matrix(table, person_ids=persons, item_ids=items, weights=_weights(file, weights, persons))


def _long(file: ResponseFile, model: FitModel, weights: str | None) -> Responses:
    """Return the responses of a file with a row per person and item."""
    persons, items = file.texts("id"), file.texts("item")
    remedy = "keep one, or fit --model mfrm to several raters (columns rater or rater_…)"
    file.refuse_repeated(list(zip(persons, items, strict=True)), f"person and item {{0}} stand twice; {remedy}")
    person_ids, rows = first_seen(persons)
    item_ids, columns = first_seen(items)
    return responses_from_long(
        rows,
        columns,
        file.scores("resp", _highest(model)),
        person_ids=person_ids,
        item_ids=item_ids,
        weights=_weights(file, weights, persons),
    )


def _fit_long_ratings(file: ResponseFile, raters: Sequence[str], testlets: Path | None) -> FitReport:
    """Fit the many-facet model with the facets item, testlet (where given) and those of the raters."""
    persons, items = file.texts("id"), file.texts("item")
    facets = {"item": items, **{name: file.texts(name) for name in raters}}
    file.refuse_repeated(list(zip(persons, *facets.values(), strict=True)), "{0} stands twice; keep one rating")
    of_item = None if testlets is None else _testlets_of(file, first_seen(items)[0], testlets, needed=True)
    if of_item is not None:
        place = dict(zip(first_seen(items)[0], of_item, strict=True))
        facets["testlet"] = [place[item] for item in items]
    return fit_ratings(ratings_from_labels(persons, facets, file.scores("resp", MAX_SCORE)))


def _weights(file: ResponseFile, name: str | None, persons: Sequence[str]) -> FloatArray | None:
    """Return the weight of each distinct person, in first-seen order."""
    if name is None:
        return None
    refuse(
        name not in file.frame.columns,
        f"{file.path}: no column {name!r} for the weights; it has {some(file.frame.columns)}; correct --weights",
    )
    values = file.numbers(name).fill_null(float("nan")).to_numpy()
    wrong = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if wrong.size:
        value = file.frame[name][int(wrong[0])]
        raise SourceError(
            f"{file.at(wrong[0])}, column {name!r}: {value!r} is not a weight; allowed are numbers from 0; correct it"
        )
    ids, codes = first_seen(persons)
    found = np.zeros(len(ids))
    found[codes] = values
    two = np.flatnonzero(found[codes] != values)
    if two.size:
        raise SourceError(
            f"{file.at(two[0])}, column {name!r}: person {persons[two[0]]!r} has the weights {values[two[0]]:g} and "
            f"{found[codes[two[0]]]:g}; give all rows of a person the same weight"
        )
    return found


def _testlets_of(file: ResponseFile, items: Sequence[str], testlets: Path | None, *, needed: bool) -> list[str] | None:
    """Return the testlet of each item from the file of testlets, or from the long file itself where it is needed."""
    if testlets is not None:
        source = open_file(testlets)
        names = [
            pair for pair in (("item", "testlet"), ("item_id", "testlet_id")) if set(pair) <= set(source.frame.columns)
        ]
        refuse(not names, f"{testlets}: has the columns {some(source.frame.columns)}; it needs 'item' and 'testlet'")
        name, family = names[0]
    elif not needed:
        return None
    elif _is_long(file) and FAMILY in file.frame.columns:
        source, name, family = file, "item", FAMILY
    else:
        raise SourceError(
            f"{file.path}: model 'testlet' needs the testlet of each item; name a file with the columns 'item' and "
            f"'testlet' in --testlets, or give a long file a column {FAMILY!r}"
        )
    place: dict[str, str] = {}
    for row, (item, label) in enumerate(zip(source.texts(name), source.labels(family), strict=True)):
        testlet = ALONE.format(item) if label is None else label
        if place.setdefault(item, testlet) != testlet:
            raise SourceError(
                f"{source.at(row)}: item {item!r} has the testlets {place[item]!r} and {testlet!r}; an item has one"
            )
    without = [item for item in items if item not in place]
    refuse(bool(without), f"{source.path}: no testlet for the item(s) {some(without)}; add a row for each")
    return [place[item] for item in items]


def _is_long(file: ResponseFile) -> bool:
    return set(LONG) <= set(file.frame.columns)


def _highest(model: FitModel) -> int:
    return 1 if model in BINARY else MAX_SCORE
