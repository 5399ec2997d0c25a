"""Pictures of what a fit promises over ability: item curves and information.

Frames in, charts out. The probabilities are the model's, from :mod:`analytics.irt`, at a testlet effect of 0. Does not
read files.
"""

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from analytics.irt.information import expected_scores, test_information
from analytics.irt.items import item_parameters
from orchestration.plots.style import BLUE, INK, ORANGE, heading

MARGIN = 2.0
"""Logits that the axis reaches beyond the raters."""
N_POINTS = 121
LEAST_INFORMATION = 0.05
"""Share of the highest information below which a standard error leaves the picture."""


def item_curves(items: pl.DataFrame, raters: pl.DataFrame, subject: str) -> Any:
    """Draw the probability of a right response over ability: the mean item of each difficulty bin, and every rater.

    Parameters
    ----------
    items
        b, difficulty_bin.
    raters
        theta.
    subject
        Data set and fit, in words.
    """
    theta = _axis(raters["theta"].to_numpy())
    known = items.drop_nulls(["b", "difficulty_bin"])
    p = expected_scores(item_parameters("logistic", known["b"].to_numpy()[:, None]), theta)
    curves = pl.concat([
        pl.DataFrame({"theta": theta, "p": p[(known["difficulty_bin"] == name).to_numpy()].mean(axis=0)}).select(
            pl.all(), difficulty_bin=pl.lit(name)
        )
        for name in known["difficulty_bin"].unique().sort()
    ])  # fmt: skip
    lines = alt.Chart(curves).mark_line().encode(
        x=alt.X("theta:Q", title="ability theta (logits)"),
        y=alt.Y("p:Q", title="probability of a right response", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("difficulty_bin:O", title="difficulty bin (B1 is easiest)", scale=alt.Scale(scheme="viridis")),
    )  # fmt: skip
    title = heading(
        "Item curves, the mean of each difficulty bin",
        subject,
        f"n = {known.height:,} items; ticks below are the {raters.height:,} raters",
        "testlet effects are 0",
    )
    return (lines + _ticks(raters)).properties(width=520, height=320, title=title)


def information(items: pl.DataFrame, raters: pl.DataFrame, subject: str) -> Any:
    """Draw how much all items together tell about ability, and the standard error that follows.

    Parameters
    ----------
    items
        b.
    raters
        theta.
    subject
        Data set and fit, in words.
    """
    theta = _axis(raters["theta"].to_numpy())
    b = items["b"].drop_nulls().to_numpy()
    told = test_information(item_parameters("logistic", b[:, None]), theta)
    frame = pl.DataFrame({"theta": theta, "information": told, "se": 1.0 / np.sqrt(told)})
    x = alt.X("theta:Q", title="ability theta (logits)")
    curve = alt.Chart(frame).mark_line(color=BLUE).encode(
        x=x, y=alt.Y("information:Q", title="information", axis=alt.Axis(titleColor=BLUE))
    )  # fmt: skip
    error = alt.Chart(frame.filter(pl.col("information") >= LEAST_INFORMATION * told.max())).mark_line(
        color=ORANGE, strokeDash=[5, 3]
    ).encode(x=x, y=alt.Y("se:Q", title="standard error of theta", axis=alt.Axis(titleColor=ORANGE)))  # fmt: skip
    title = heading(
        "Test information and standard error over ability",
        subject,
        f"n = {b.size:,} items answered in full; ticks below are the {raters.height:,} raters",
        "testlet effects would lower the information",
    )
    both = alt.layer(curve, error).resolve_scale(y="independent")
    return alt.layer(both, _ticks(raters)).properties(width=520, height=320, title=title)


def _axis(theta: np.ndarray) -> np.ndarray:
    return np.linspace(np.nanmin(theta) - MARGIN, np.nanmax(theta) + MARGIN, N_POINTS)


def _ticks(raters: pl.DataFrame) -> Any:
    """Return a tick for every rater along the lower edge."""
    marks = alt.Chart(raters.select("theta")).mark_tick(color=INK, thickness=1.5, height=10, opacity=0.6)
    return marks.encode(x="theta:Q", y=alt.value(318))
