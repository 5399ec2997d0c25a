"""Statistical checks on the tables of a refresh: each is one query that returns what is wrong, a line per finding.

dbt tests what a table must be; these checks say what a person should look at. Holds queries and their severity.
Does not stop a refresh.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
from dagster import (
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    ResourceParam,
    multi_asset_check,
)

from orchestration.assets.raw import POOL_WAREHOUSE
from orchestration.house import House
from orchestration.warehouse import connect

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Check:
    """One question to the tables."""

    name: str
    """Name in Dagster."""
    table: str
    """Table that it is shown on, ``schema.table``."""
    is_error: bool
    """Whether a finding is an error rather than a warning."""
    description: str
    """What a finding means."""
    query: str
    """SQL with one text column: a line per finding."""


CHECKS = (
    Check(
        "raters_are_covered",
        "marts.coverage",
        False,
        "Every rater has a usable response for at least 95 % of the items it was asked about.",
        "select dataset || ': ' || rater_id || ' has usable responses for ' || round(100 * coverage, 1) || ' %' "
        "from marts.leaderboard where coverage < 0.95 order by dataset, rater_id",
    ),
    Check(
        "responses_can_be_read",
        "marts.rater_usage",
        False,
        "At most 5 % of what a rater said is cut off or holds no answer that the parser can read.",
        "with said as (select dataset, rater_id, count(*) as n, "
        "count(*) filter (where status = 'truncated' or is_truncated) as n_cut, "
        "count(*) filter (where status = 'invalid') as n_invalid "
        "from core.responses where status not in ('not_asked', 'not_recorded', 'error') group by dataset, rater_id) "
        "select dataset || ': ' || rater_id || ': ' || round(100 * (n_cut + n_invalid) / n, 1) || ' % of ' || n "
        "|| ' responses are truncated (' || n_cut || ') or invalid (' || n_invalid || ')' "
        "from said where n_cut + n_invalid > 0.05 * n order by dataset, rater_id",
    ),
    Check(
        "raters_differ",
        "core.response_matrix",
        False,
        "No two raters of a data set give the same response everywhere: they would count twice as evidence.",
        "with patterns as (select dataset, rater_id, hash(list(coalesce(is_correct, -1) order by item_id)) as pattern, "
        "count(is_correct) as n from core.response_matrix group by all) "
        "select dataset || ': ' || string_agg(rater_id, ' = ' order by rater_id) from patterns where n > 0 "
        "group by dataset, pattern having count(*) > 1 order by 1",
    ),
    Check(
        "fits_converged",
        "psychometrics.irt_fits",
        True,
        "Every fit that was attempted has converged.",
        "select dataset || ': ' || irt_model || ' with missing as ' || missing_policy || ' did not converge' "
        "from psychometrics.irt_fits where not is_converged and undefined_reason is null order by 1",
    ),
    Check(
        "one_primary_fit",
        "psychometrics.irt_fits",
        True,
        "Every data set has exactly one primary fit.",
        "select dataset || ': ' || count(*) filter (is_primary) || ' primary fits' from psychometrics.irt_fits "
        "group by dataset having count(*) filter (is_primary) <> 1 order by 1",
    ),
    Check(
        "abilities_are_reliable",
        "psychometrics.irt_raters",
        False,
        "The variance of ability estimates that is not error is at least 0.7 of all: raters can be told apart.",
        "select dataset || ': the items ' || if(sd_theta = 0, 'cannot tell the raters apart: sd_theta is 0', "
        "'hardly tell the raters apart: separation reliability ' "
        "|| if(avg(theta_se ** 2) > var_samp(theta), 'below 0', "
        "round(1 - avg(theta_se ** 2) / var_samp(theta), 2)::varchar)) "
        "from psychometrics.irt_raters join psychometrics.irt_fits using (fit_id, dataset) where is_primary "
        "group by dataset, sd_theta having sd_theta = 0 "
        "or count(theta) > 2 and 1 - avg(theta_se ** 2) / var_samp(theta) < 0.7 order by 1",
    ),
    Check(
        "raters_beat_the_majority_label",
        "marts.leaderboard",
        False,
        "Every rater is right more often than one that always gives the most frequent gold.",
        "with golds as (select dataset, coalesce(gold_label, answer_key) as gold, count(*) as n from core.items "
        "where split = 'test' and coalesce(gold_label, answer_key) is not null group by all), "
        "majority as (select dataset, max(n) / sum(n) as share from golds group by dataset) "
        "select dataset || ': ' || rater_id || ' is right in ' || round(100 * accuracy, 1) "
        "|| ' %, the majority label in ' || round(100 * share, 1) || ' %' "
        "from marts.leaderboard join majority using (dataset) where accuracy <= share order by dataset, rater_id",
    ),
    Check(
        "metrics_stay",
        "marts.refresh_diff",
        False,
        "No rater's accuracy or ability (by more than its standard error) differs from the refresh before.",
        "select dataset || ': ' || rater_id || ': accuracy ' "
        "|| ifnull(round(accuracy_before, 3)::varchar, 'undefined') || ' to ' "
        "|| ifnull(round(accuracy_after, 3)::varchar, 'undefined') || ', theta ' "
        "|| ifnull(round(theta_before, 2)::varchar, 'undefined') || ' to ' "
        "|| ifnull(round(theta_after, 2)::varchar, 'undefined') from marts.refresh_diff "
        "where change = 'changed' and (accuracy_after is distinct from accuracy_before "
        "or (theta_after is null) <> (theta_before is null) or abs(theta_after - theta_before) > theta_se_before) "
        "order by dataset, rater_id",
    ),
)


def findings(connection: duckdb.DuckDBPyConnection, check: Check) -> list[str]:
    """Return what a check finds, a line each."""
    return [str(row[0]) for row in connection.execute(check.query).fetchall()]


def _result(check: Check, found: list[str]) -> AssetCheckResult:
    return AssetCheckResult(
        passed=not found,
        asset_key=check.table.split("."),
        check_name=check.name,
        severity=AssetCheckSeverity.ERROR if check.is_error else AssetCheckSeverity.WARN,
        description="; ".join(found[:SHOWN]) or None,
        metadata={"findings": len(found)},
    )


def statistical_checks() -> AssetChecksDefinition:
    """Return all checks as one step that runs after the tables are built."""
    specs = [
        AssetCheckSpec(
            name=check.name,
            asset=check.table.split("."),
            description=check.description,
            additional_deps=[AssetKey(["marts", "leaderboard"])] if check.table != "marts.leaderboard" else None,
        )
        for check in CHECKS
    ]

    @multi_asset_check(name="statistical_checks", specs=specs, pool=POOL_WAREHOUSE)
    def statistical(house: ResourceParam[House]) -> Iterator[AssetCheckResult]:
        with connect(house.settings.warehouse, read_only=True) as connection:
            found = {check: findings(connection, check) for check in CHECKS}
        yield from (_result(check, lines) for check, lines in found.items())

    return statistical
