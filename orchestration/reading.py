"""Questions to the published file: one connection each, read-only, reopened every time.

Holds the queries behind ``status``, ``sql``, ``trace`` and the summary of a run. Does not open the working database,
and does not print.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from orchestration.house import UnknownNameError, unknown
from orchestration.settings import Settings
from orchestration.warehouse import connect, read_frame


class NotPublishedError(RuntimeError):
    """There is no published file yet."""


class QueryError(ValueError):
    """A query that somebody typed and the published file cannot answer; one line."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One cell of the response matrix, from prompt to fit."""

    engine: str
    """What the rater was asked through."""
    response: dict[str, object]
    """Row of core.responses."""
    attempts: pl.DataFrame
    """Every attempt, oldest first, with its messages."""
    item: dict[str, object]
    """Row of core.items."""
    fits: pl.DataFrame
    """Place in each fit: theta of the rater, b of the item."""


def query_published(settings: Settings, query: str, parameters: Sequence[object] = ()) -> pl.DataFrame:
    """Run a query on the analysts' file.

    Raises
    ------
    NotPublishedError
        If nothing has been published yet.
    """
    if not settings.analyst.exists():
        raise NotPublishedError(f"{settings.analyst}: nothing is published yet; run: thetahouse run")
    with connect(settings.analyst, read_only=True) as connection:
        return read_frame(connection, query, parameters)


def answer_typed(settings: Settings, query: str) -> pl.DataFrame:
    """Run a query that somebody typed.

    Raises
    ------
    NotPublishedError
        If nothing has been published yet.
    QueryError
        If there is nothing to run, DuckDB refuses it, or a column is of a kind that cannot be shown.
    """
    try:
        if not duckdb.extract_statements(query):
            raise QueryError('the query is empty; try "from marts.leaderboard"')
        return query_published(settings, query)
    except duckdb.Error as problem:
        # DuckDB repeats the query below an empty line; the person has just typed it
        reason = " ".join(str(problem).split("\n\nLINE ")[0].split())
        raise QueryError(f"{reason}; correct the query (the file is read-only)") from problem
    except pl.exceptions.PolarsError as problem:
        reason = str(problem).splitlines()[0].split(". Hint")[0]
        raise QueryError(f"{reason}; cast that column to varchar in the query") from problem


def asked_landed_parsed(settings: Settings) -> pl.DataFrame:
    """Return per data set: raters, planned requests, landed ones, and how many have each status."""
    return query_published(
        settings,
        "select dataset, count(distinct rater_id) as raters, count(*) as planned, "
        "count(*) filter (status <> 'not_asked') as landed, count(*) filter (status = 'ok') as ok, "
        "count(*) filter (status not in ('ok', 'not_asked', 'not_recorded')) as not_ok, "
        "count(*) filter (status = 'not_recorded') as not_recorded "
        "from core.responses group by dataset order by dataset",
    )


def statuses(settings: Settings) -> pl.DataFrame:
    """Return how many responses have each status, with the reason."""
    return query_published(
        settings,
        "select status, status_reason, count(*) as n from core.responses group by all order by n desc, status",
    )


def leaderboard_top(settings: Settings, shown: int = 3) -> pl.DataFrame:
    """Return the first raters of every data set by theta."""
    return query_published(
        settings,
        "select dataset, rank, rater_id, theta, theta_se, accuracy, coverage from marts.leaderboard "
        "where rank <= ? order by dataset, rank, rater_id",
        [shown],
    )


def unranked(settings: Settings) -> pl.DataFrame:
    """Return the data sets of which no rater has a rank, and why."""
    return query_published(
        settings,
        "select dataset, string_agg(distinct rank_undefined_reason, '; ' order by rank_undefined_reason) as reason "
        "from marts.leaderboard group by dataset having count(rank) = 0 order by dataset",
    )


def _cell(settings: Settings, rater_id: str, item_id: str, dataset: str | None) -> dict[str, object]:
    """Return the one current response that the names stand for."""
    found = query_published(
        settings,
        "select * exclude (text) from core.responses where rater_id = ? and item_id = ? and replicate = 0 "
        "and (?::varchar is null or dataset = ?) order by dataset",
        [rater_id, item_id, dataset, dataset],
    )
    if found.height == 1:
        return found.row(0, named=True)
    if found.height > 1:
        raise UnknownNameError(
            f"item {item_id!r} of rater {rater_id!r} is in {found['dataset'].to_list()}; name one with --dataset"
        )
    raise UnknownNameError(_what_is_unknown(settings, rater_id, item_id, dataset))


def _what_is_unknown(settings: Settings, rater_id: str, item_id: str, dataset: str | None) -> str:
    planned = query_published(settings, "select distinct rater_id, dataset, item_id from core.responses")
    raters = planned["rater_id"].unique().sort().to_list()
    if rater_id not in raters:
        return unknown("rater", rater_id, raters)
    theirs = planned.filter(rater_id=rater_id)
    datasets = theirs["dataset"].unique().sort().to_list()
    if dataset is not None and dataset not in datasets:
        return unknown("data set", dataset, datasets, f" of rater {rater_id!r}")
    here = theirs if dataset is None else theirs.filter(dataset=dataset)
    where = f" of rater {rater_id!r}{'' if dataset is None else f' in {dataset!r}'}"
    return unknown("item", item_id, here["item_id"].unique().sort().to_list(), where)


def read_trace(settings: Settings, *, rater_id: str, item_id: str, dataset: str | None = None) -> Trace:
    """Return everything about one cell of the matrix.

    Raises
    ------
    UnknownNameError
        If rater, item or data set is not there, or if the item is in several data sets and none is named.
    """
    response = _cell(settings, rater_id, item_id, dataset)
    dataset = str(response["dataset"])
    attempts = query_published(
        settings,
        "select * from raw.texts where rater_id = ? and dataset = ? and item_id = ? and replicate = 0 "
        "order by finished_at, attempt",
        [rater_id, dataset, item_id],
    )
    item = query_published(settings, "select * from core.items where dataset = ? and item_id = ?", [dataset, item_id])
    fits = query_published(
        settings,
        "select f.irt_model, f.missing_policy, f.is_primary, r.theta, r.theta_se, i.b, i.b_se, i.difficulty_bin, "
        "e.u, e.u_se, f.fit_id from psychometrics.irt_fits as f "
        "left join psychometrics.irt_raters as r on r.fit_id = f.fit_id and r.rater_id = ? "
        "left join psychometrics.irt_items as i on i.fit_id = f.fit_id and i.item_id = ? "
        "left join psychometrics.irt_testlet_effects as e "
        "on e.fit_id = f.fit_id and e.rater_id = r.rater_id and e.testlet_id = i.testlet_id "
        "where f.dataset = ? order by f.is_primary desc, f.fit_id",
        [rater_id, item_id, dataset],
    )
    engine = query_published(settings, "select engine from core.raters where rater_id = ?", [rater_id]).item()
    return Trace(engine, response, attempts, item.row(0, named=True), fits)
