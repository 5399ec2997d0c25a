"""Pictures with difficulty on an axis: accuracy by bin, confusion by bin, the Wright map.

Frames in, charts out. Does not read files and computes no statistics beyond counting into bars.
"""

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from orchestration.plots.raters import bins_in_words
from orchestration.plots.style import BLUE, INK, ORANGE, heading

MOST_PANELS = 12
"""Models that one picture shows, a panel each."""
BAR_LOGITS = 0.25
"""Height of a bar of the Wright map, in logits."""
_BINS = alt.X("difficulty_bin:N", title="difficulty bin (B1 is easiest)", axis=alt.Axis(labelAngle=0))


def accuracy_by_bin(frame: pl.DataFrame, subject: str) -> Any:
    """Draw accuracy over difficulty, a panel per model: its raters, their mean, and the mean that the fit expects.

    Parameters
    ----------
    frame
        rater_id, model, bin_source, difficulty_bin, n, accuracy, expected_accuracy.
    subject
        Data set and fit, in words.
    """
    defined = frame.drop_nulls("accuracy")
    means = pl.col("accuracy").mean().alias("mean"), pl.col("expected_accuracy").mean().alias("expected")
    models = defined.group_by("model").agg(pl.col("accuracy").mean()).sort("accuracy", descending=True)["model"]
    shown = models.head(MOST_PANELS).to_list()
    rows = defined.filter(pl.col("model").is_in(shown))
    average = rows.group_by("model", "difficulty_bin").agg(*means).sort("model", "difficulty_bin")
    drawn = pl.concat([
        rows.select("model", "difficulty_bin", "rater_id", value="accuracy", line=pl.lit("one rater")),
        average.select("model", "difficulty_bin", rater_id=pl.lit("mean"), value="mean", line=pl.lit("mean of raters")),
        average.select(
            "model", "difficulty_bin", rater_id=pl.lit("expected"), value="expected", line=pl.lit("expected by the fit")
        ),
    ])  # fmt: skip
    lines = ["one rater", "mean of raters", "expected by the fit"]
    panel = alt.Chart(drawn).mark_line().encode(
        x=_BINS,
        y=alt.Y("value:Q", title="accuracy", scale=alt.Scale(domain=[0, 1])),
        detail="rater_id:N",
        color=alt.Color("line:N", scale=alt.Scale(domain=lines, range=["#9CC3DE", BLUE, ORANGE]), title=None),
        strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=lines, range=[[1, 0], [1, 0], [5, 3]])),
        strokeWidth=alt.StrokeWidth("line:N", title=None, scale=alt.Scale(domain=lines, range=[1, 2.6, 2])),
        order="difficulty_bin:N",
    )  # fmt: skip
    n_models = len(models)
    title = heading(
        "Accuracy by difficulty",
        subject,
        f"{rows['rater_id'].n_unique():,} raters of {len(shown)} models, n = {rows['n'].sum():,} scored responses",
        bins_in_words(rows),
        f"the first {MOST_PANELS} of {n_models} models are shown" if n_models > MOST_PANELS else "",
    )
    facet = alt.Facet("model:N", sort=shown, title=None)
    return _panels(panel.properties(width=200, height=170), facet, len(shown), title)


def confusion_by_bin(frame: pl.DataFrame, subject: str) -> Any:
    """Draw which label was given for which gold label, a panel per difficulty bin, all raters together.

    Parameters
    ----------
    frame
        difficulty_bin, gold_label, answer_label, n; labels in the order in which they are to stand.
    subject
        Data set and fit, in words.
    """
    labels = list(dict.fromkeys(frame["gold_label"].to_list() + frame["answer_label"].to_list()))
    golds, bins = list(dict.fromkeys(frame["gold_label"])), sorted(frame["difficulty_bin"].unique())
    # a label that was never given for a gold label that occurs is 0 %; a gold label that does not occur has no row
    grid = (
        frame.select("difficulty_bin", "gold_label").unique().join(pl.DataFrame({"answer_label": labels}), how="cross")
    )
    rows = grid.join(frame, on=["difficulty_bin", "gold_label", "answer_label"], how="left").with_columns(
        pl.col("n").fill_null(0)
    )
    rows = rows.with_columns(share=pl.col("n") / pl.col("n").sum().over("difficulty_bin", "gold_label"))
    base = alt.Chart(rows).encode(
        x=alt.X("answer_label:N", sort=labels, title="label given", axis=alt.Axis(labelAngle=-40)),
        y=alt.Y("gold_label:N", sort=golds, title="gold label"),
    )
    tiles = base.mark_rect(stroke="white").encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], scheme="blues"),
            title="share of row",
            legend=alt.Legend(format="%"),
        ),
        tooltip=["difficulty_bin", "gold_label", "answer_label", "n", alt.Tooltip("share", format=".1%")],
    )
    texts = base.mark_text(fontSize=10).encode(
        text=alt.Text("share:Q", format=".0%"),
        color=alt.condition("datum.share > 0.5", alt.value("white"), alt.value(INK)),
    )
    title = heading(
        "Label given for each gold label, by difficulty",
        subject,
        f"all raters together, n = {rows['n'].sum():,} labelled responses; each row of a panel adds up to 100 %",
        "a blank row: no item of the bin has that gold label"
        if grid.height < len(labels) * len(golds) * len(bins)
        else "",
    )
    side = 34
    panel = (tiles + texts).properties(width=side * 1.25 * len(labels), height=side * len(golds))
    facet = alt.Facet("difficulty_bin:N", sort=bins, title="difficulty bin (B1 is easiest)")
    return _panels(panel, facet, len(bins), title)


def _panels(panel: Any, facet: alt.Facet, n: int, title: alt.TitleParams) -> Any:
    """Lay panels out three in a row, each with its own axis, so that none hangs where there is no panel."""
    return panel.facet(facet=facet, columns=min(3, n), title=title).resolve_axis(x="independent")


def wright_map(raters: pl.DataFrame, items: pl.DataFrame, subject: str) -> Any:
    """Draw raters and items on one scale: where items are hard enough to tell raters apart, and where they are not.

    Parameters
    ----------
    raters
        theta.
    items
        b.
    subject
        Data set and fit, in words.
    """
    theta, b = raters["theta"].drop_nulls().to_numpy(), items["b"].drop_nulls().to_numpy()
    both = np.concatenate([theta, b])
    low = np.floor(both.min() / BAR_LOGITS) * BAR_LOGITS
    edges = np.arange(low, both.max() + 2 * BAR_LOGITS, BAR_LOGITS)
    scale = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)
    left = _bars(theta, edges, scale, BLUE, "raters", is_mirrored=True)
    right = _bars(b, edges, scale, ORANGE, "items", is_mirrored=False)
    n_extreme = raters["is_extreme"].to_list().count(True) + items["is_extreme"].to_list().count(True)
    title = heading(
        "Wright map: raters and items on one scale",
        subject,
        f"n = {theta.size:,} raters and {b.size:,} items; lines are their means",
        f"{n_extreme:,} of them are all right or all wrong: their place rests on the prior" if n_extreme else "",
    )
    return alt.hconcat(left, right, spacing=4, title=title).resolve_scale(x="independent")


def _bars(values: np.ndarray, edges: np.ndarray, scale: alt.Scale, colour: str, name: str, *, is_mirrored: bool) -> Any:
    counts, _ = np.histogram(values, edges)
    frame = pl.DataFrame({"low": edges[:-1], "high": edges[1:], "n": counts, "zero": np.zeros(counts.size)})
    axis = alt.Axis(title=None, labels=False, ticks=False) if not is_mirrored else alt.Axis(title="logits")
    bars = alt.Chart(frame).mark_bar(color=colour, stroke="white", strokeWidth=1).encode(
        y=alt.Y("low:Q", scale=scale, axis=axis),
        y2="high:Q",
        x=alt.X(
            "zero:Q", title=f"number of {name}", scale=alt.Scale(reverse=is_mirrored, domain=[0, int(counts.max())]),
            axis=alt.Axis(tickCount=min(int(counts.max()), 5), format=",d"),
        ),
        x2="n:Q",
        tooltip=[alt.Tooltip("low", format=".2f"), alt.Tooltip("high", format=".2f"), "n"],
    )  # fmt: skip
    mean = alt.Chart(pl.DataFrame({"mean": [float(values.mean())]})).mark_rule(color=INK, strokeDash=[5, 3])
    return (bars + mean.encode(y=alt.Y("mean:Q", scale=scale))).properties(width=230, height=380)
