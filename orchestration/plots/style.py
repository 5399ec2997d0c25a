"""How every picture looks: colours, title with its numbers, fonts; and how it becomes a file or a line of Markdown.

Holds nothing about what is drawn. The colours are those of Okabe and Ito, which people with any colour vision can tell
apart; a status keeps its colour in every picture.
"""

import base64
import io
from pathlib import Path
from typing import Any

import altair as alt

from orchestration.house import UnknownNameError
from orchestration.output_folder import make_output_folder, writing

SUFFIXES = (".png", ".svg", ".html")
BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#8C8C8C", "#222222"
PALETTE = (BLUE, "#E69F00", "#009E73", "#CC79A7", ORANGE, "#56B4E9", "#5D4E9C", "#7A6A00")
STATUS_COLOURS = {
    "ok": BLUE,
    "invalid": "#E69F00",
    "refused": "#CC79A7",
    "truncated": "#F0E442",
    "empty": "#56B4E9",
    "error": ORANGE,
    "not_recorded": "#BFBFBF",
    "not_asked": "#E8E8E8",
}
PNG_SCALE = 2.0


def heading(title: str, *notes: str) -> alt.TitleParams:
    """Return a title with one line per note below it; empty notes are left out."""
    return alt.TitleParams(
        text=title,
        subtitle=[note for note in notes if note],
        anchor="start",
        frame="group",
        fontSize=15,
        subtitleFontSize=11,
        subtitleColor="#555555",
        offset=10,
        color=INK,
    )


def colour_by(names: list[str], field: str, title: str) -> Any:
    """Return a colour per name; one for all where there are more names than colours that can be told apart."""
    if len(names) > len(PALETTE):
        return alt.value(BLUE)
    scale = alt.Scale(domain=names, range=list(PALETTE[: len(names)]))
    return alt.Color(f"{field}:N", scale=scale, title=title, legend=alt.Legend(symbolOpacity=1))


def styled(chart: Any) -> Any:
    """Give a finished chart the common fonts and grid."""
    return (
        chart.configure(background="white", padding=14, font="DejaVu Sans, Verdana, sans-serif")
        .configure_view(stroke="#DDDDDD")
        .configure_axis(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#ECECEC", labelLimit=320,
            labelColor=INK, titleColor=INK, titlePadding=8, labelFlush=False,
        )
        .configure_header(labelFontSize=12, titleFontSize=12, labelColor=INK, titleColor=INK, titleFontWeight="normal")
        .configure_legend(labelFontSize=11, titleFontSize=11, labelLimit=240, titleFontWeight="normal")
    )  # fmt: skip


def save(chart: Any, file: Path) -> None:
    """Write a chart as PNG, SVG or HTML (which needs no network), by the suffix of the file.

    Raises
    ------
    UnknownNameError
        If the suffix is another one.
    NotADirectoryError
        If the file's folder cannot be made, or the file not be written.
    """
    check_suffix(file)
    make_output_folder(file.parent)
    with writing(file):
        if file.suffix == ".html":
            chart.save(str(file), inline=True)
        elif file.suffix == ".svg":
            chart.save(str(file))
        else:
            file.write_bytes(png(chart))


def check_suffix(file: Path) -> None:
    """Stop where a file is named so that no format follows from it.

    Raises
    ------
    UnknownNameError
        If the suffix is not one of `SUFFIXES`.
    """
    if file.suffix not in SUFFIXES:
        raise UnknownNameError(f"{file}: unknown suffix {file.suffix!r}; expected one of {', '.join(SUFFIXES)}")


def png(chart: Any, scale: float = PNG_SCALE) -> bytes:
    """Return a chart as the bytes of a PNG file."""
    buffer = io.BytesIO()
    chart.save(buffer, format="png", scale_factor=scale)
    return buffer.getvalue()


def png_markdown(chart: Any, alternative: str = "plot") -> str:
    """Return one line of Markdown that holds a chart as a PNG in itself: what Dagster shows as asset metadata."""
    encoded = base64.b64encode(png(chart, scale=1.0)).decode("ascii")
    return f"![{alternative}](data:image/png;base64,{encoded})"
