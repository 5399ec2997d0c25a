"""Pictures with a row or a dot per rater: leaderboard, excess slopes, ability, person fit, coverage.

Frames in, charts out. Does not read files and computes no statistics; what is undefined is left out and counted in the
subtitle.
"""

from typing import Any

import altair as alt
import polars as pl

from orchestration.plots.style import GREY, STATUS_COLOURS, colour_by, heading

Z = 1.96
"""Standard errors on either side of an interval that covers 95 %."""
MOST_ROWS = 60
"""Raters that one picture shows; more rows could not be read."""
ROW_HEIGHT = 17
_ZERO = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x="zero:Q")


def _first_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    if frame.height <= MOST_ROWS:
        return frame, ""
    return frame.head(MOST_ROWS), f"the first {MOST_ROWS} of {frame.height:,} raters are shown"


def _undefined(frame: pl.DataFrame, column: str) -> tuple[pl.DataFrame, str]:
    defined = frame.drop_nulls(column)
    n = frame.height - defined.height
    return defined, f"{n} raters without {column.replace('_', ' ')} are left out" if n else ""


def _span(counts: pl.Series) -> str:
    """Write a range of counts as one number where there is only one."""
    low, high = int(counts.to_numpy().min()), int(counts.to_numpy().max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _dots_with_intervals(frame: pl.DataFrame, x: str, x_title: str, low: str, high: str, title: alt.TitleParams) -> Any:
    """Draw one row per rater, in the order of the frame: a dot and its interval."""
    order = frame["rater_id"].to_list()
    families = sorted(frame["family"].unique())
    base = alt.Chart(frame).encode(
        y=alt.Y("rater_id:N", sort=order, title=None, axis=alt.Axis(grid=True, labelOverlap=False)),
        color=colour_by(families, "family", "family"),
    )
    rules = base.mark_rule(strokeWidth=2).encode(x=alt.X(f"{low}:Q", title=x_title), x2=f"{high}:Q")
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(
        x=f"{x}:Q",
        tooltip=[alt.Tooltip(name, format=".3f") if frame[name].dtype.is_float() else name for name in frame.columns],
    )
    return (_ZERO + rules + dots).properties(width=460, height=max(ROW_HEIGHT * frame.height, 60), title=title)


def leaderboard(frame: pl.DataFrame, subject: str) -> Any:
    """Draw abilities with 95 % intervals, best first.

    Parameters
    ----------
    frame
        rater_id, family, theta, theta_se, n (responses behind theta), best first.
    subject
        Data set and fit, in words.
    """
    defined, left_out = _undefined(frame, "theta")
    n = _span(defined["n"])
    rows, cut = _first_rows(defined.with_columns(
        low=pl.col("theta") - Z * pl.col("theta_se"), high=pl.col("theta") + Z * pl.col("theta_se")
    ))  # fmt: skip
    title = heading(
        "Ability of each rater",
        subject,
        f"{defined.height:,} raters, n = {n} scored responses each; bars are theta ± 1.96 SE",
        cut,
        left_out,
    )
    return _dots_with_intervals(rows, "theta", "theta (logits)", "low", "high", title)


def excess_slopes(frame: pl.DataFrame, subject: str) -> Any:
    """Draw how much less accuracy falls with difficulty than ability implies, most robust first.

    Parameters
    ----------
    frame
        rater_id, family, bin_source, n, excess_slope and its interval excess_slope_ci_low, excess_slope_ci_high.
    subject
        Data set and fit, in words.
    """
    defined, left_out = _undefined(frame, "excess_slope")
    ordered = defined.sort("excess_slope", "rater_id", descending=[True, False])
    rows, cut = _first_rows(ordered)
    title = heading(
        "Robustness to difficulty beyond ability",
        subject,
        f"{defined.height:,} raters, n = {_span(defined['n'])} responses each; bars are 95 % intervals (clustered)",
        bins_in_words(frame),
        cut,
        left_out,
    )
    x_title = "excess slope (accuracy per bin; right of 0 holds up better than its ability implies)"
    return _dots_with_intervals(rows, "excess_slope", x_title, "excess_slope_ci_low", "excess_slope_ci_high", title)


def bins_in_words(frame: pl.DataFrame) -> str:
    """Say where the difficulty bins of a frame come from."""
    sources = set(frame["bin_source"].drop_nulls())
    if sources == {"leave_model_out"}:
        return "bins from fits without the rater's own model"
    return "bins from this fit, which the rater itself took part in"


def ability_accuracy(frame: pl.DataFrame, subject: str) -> Any:
    """Draw theta against accuracy: where the two disagree, raters answered different items.

    Parameters
    ----------
    frame
        rater_id, family, theta, theta_se, n, accuracy.
    subject
        Data set and fit, in words.
    """
    defined, left_out = _undefined(frame, "theta")
    families = sorted(defined["family"].unique())
    rows = defined.with_columns(
        low=pl.col("theta") - Z * pl.col("theta_se"), high=pl.col("theta") + Z * pl.col("theta_se")
    )
    base = alt.Chart(rows).encode(
        y=alt.Y("accuracy:Q", title="accuracy over scored responses", scale=alt.Scale(zero=False)),
        color=colour_by(families, "family", "family"),
    )
    bars = base.mark_rule(opacity=0.45).encode(x=alt.X("low:Q", title="theta (logits)"), x2="high:Q")
    dots = base.mark_point(filled=True, size=60, opacity=0.9).encode(
        x="theta:Q",
        tooltip=["rater_id", "n", alt.Tooltip("theta", format=".3f"), alt.Tooltip("accuracy", format=".3f")],
    )
    title = heading(
        "Ability against accuracy",
        subject,
        f"{defined.height:,} raters, n = {_span(defined['n'])} scored responses each; bars are theta ± 1.96 SE",
        left_out,
    )
    return (bars + dots).properties(width=460, height=340, title=title)


def person_fit(frame: pl.DataFrame, subject: str) -> Any:
    """Draw infit and outfit over ability: above 1 a rater is more erratic than the model says, below 1 more regular.

    Parameters
    ----------
    frame
        rater_id, family, theta, infit, outfit, n.
    subject
        Data set and fit, in words.
    """
    defined, left_out = _undefined(frame, "infit")
    families = sorted(defined["family"].unique())
    parts = [defined.with_columns(statistic=pl.lit(name), mean_square=pl.col(name)) for name in ("infit", "outfit")]
    expected = alt.Chart(pl.DataFrame({"one": [1.0]})).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y="one:Q")
    dots = (
        alt.Chart(pl.concat(parts))
        .mark_point(filled=True, size=55, opacity=0.85)
        .encode(
            x=alt.X("theta:Q", title="ability theta (logits)", scale=alt.Scale(zero=False)),
            y=alt.Y("mean_square:Q", title="mean square of the residuals", scale=alt.Scale(zero=False)),
            color=colour_by(families, "family", "family"),
            shape=alt.Shape("statistic:N", title="statistic", scale=alt.Scale(range=["circle", "triangle-up"])),
            tooltip=["rater_id", "statistic", "n", alt.Tooltip("mean_square", format=".3f")],
        )
    )
    title = heading(
        "Person fit: infit and outfit of each rater",
        subject,
        f"{defined.height:,} raters, n = {_span(defined['n'])} responses each; high is erratic",
        "with few raters even 1 is high: their own responses made the fit",
        left_out,
    )
    return (expected + dots).properties(width=460, height=340, title=title)


def coverage(frame: pl.DataFrame, subject: str) -> Any:
    """Draw what became of each rater's requests, as stacked shares; least complete first.

    Parameters
    ----------
    frame
        rater_id, status, n, share.
    subject
        Data set, in words.
    """
    statuses = [status for status in STATUS_COLOURS if status in set(frame["status"])]
    ok_share = pl.col("share").filter(pl.col("status") == "ok").sum().alias("ok")
    by_rater = frame.group_by("rater_id").agg(ok_share, pl.col("n").sum()).sort("ok", "rater_id")
    shown, cut = _first_rows(by_rater)
    order = {status: position for position, status in enumerate(statuses)}
    rows = frame.join(shown.select("rater_id"), on="rater_id", how="semi").with_columns(
        position=pl.col("status").replace_strict(order, return_dtype=pl.Int64)
    )
    n_ok, n = frame.filter(pl.col("status") == "ok")["n"].sum(), frame["n"].sum()
    title = heading(
        "What became of the requests",
        subject,
        f"{by_rater.height:,} raters, n = {_span(by_rater['n'])} requests each; {n_ok:,} of {n:,} have an answer",
        cut,
    )
    colours = alt.Scale(domain=statuses, range=[STATUS_COLOURS[status] for status in statuses])
    return (
        alt.Chart(rows)
        .mark_bar(stroke="#9A9A9A", strokeWidth=0.3)
        .encode(
            y=alt.Y("rater_id:N", sort=shown["rater_id"].to_list(), title=None, axis=alt.Axis(labelOverlap=False)),
            x=alt.X("share:Q", title="share of requests", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("status:N", scale=colours, title="status"),
            order=alt.Order("position:Q"),
            tooltip=["rater_id", "status", "n", alt.Tooltip("share", format=".1%")],
        )
        .properties(width=460, height=max(ROW_HEIGHT * shown.height, 60), title=title)
    )
