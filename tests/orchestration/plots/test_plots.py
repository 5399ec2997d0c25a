"""Pictures: every one of the list is drawn from the public contract and says how many numbers stand behind it."""

import base64
import json
from pathlib import Path

import polars as pl
import pytest

from orchestration.house import UnknownNameError
from orchestration.plots import PLOTS, NothingToDrawError, draw, png_markdown, save
from orchestration.plots.curves import information, item_curves
from orchestration.plots.items import confusion_by_bin, wright_map
from orchestration.plots.raters import MOST_ROWS, coverage, leaderboard, person_fit
from orchestration.plots.style import PALETTE, STATUS_COLOURS, colour_by
from orchestration.reading import NotPublishedError
from orchestration.settings import Settings

PNG = b"\x89PNG\r\n\x1a\n"


def subtitle(chart: object) -> str:
    return " / ".join(chart.to_dict()["title"]["subtitle"])  # type: ignore[attr-defined]


def rows(chart: object) -> list[dict[str, object]]:
    """Return the rows of every data set inside a chart."""
    return [row for data in chart.to_dict()["datasets"].values() for row in data]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", list(PLOTS))
def test_every_picture_is_drawn_and_states_its_numbers(published: Settings, name: str) -> None:
    chart = draw(published, name, dataset="labels")
    assert "n = " in subtitle(chart)
    assert "Title of labels" in subtitle(chart)
    assert json.dumps(chart.to_dict())


def test_the_suffix_says_the_format(published: Settings, tmp_path: Path) -> None:
    chart = draw(published, "coverage", dataset="labels")
    for suffix, beginning in ((".png", PNG), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")):
        file = tmp_path / "new" / f"picture{suffix}"
        save(chart, file)
        assert file.read_bytes().lstrip().startswith(beginning)
    assert "cdn.jsdelivr.net" not in (tmp_path / "new" / "picture.html").read_text()  # opens without a network
    with pytest.raises(UnknownNameError, match=r"'\.gif'; expected one of \.png, \.svg, \.html"):
        save(chart, tmp_path / "picture.gif")


def test_markdown_holds_the_picture_itself(published: Settings) -> None:
    text = png_markdown(draw(published, "wright-map", dataset="labels"), "Wright map")
    assert text.startswith("![Wright map](data:image/png;base64,")
    assert base64.b64decode(text[:-1].split(",")[1]).startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "leaderbord"}, r"unknown plot 'leaderbord' \(did you mean 'leaderboard'\?\); expected one of"),
        ({"name": "coverage"}, r"which data set\? Name one of \['labels', 'scores'\]"),
        ({"name": "coverage", "dataset": "label"}, r"unknown data set 'label'.*expected one of 'labels', 'scores'"),
        ({"name": "coverage", "fit": "x"}, r"unknown fit 'x'; expected one of 'fit-labels', 'fit-scores'"),
        ({"name": "coverage", "dataset": "labels", "fit": "fit-scores"}, r"expected one of 'fit-labels'$"),
    ],
)
def test_an_unknown_name_lists_what_is_allowed(published: Settings, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        draw(published, **arguments)


def test_a_fit_names_its_data_set(published: Settings) -> None:
    assert "Title of scores" in subtitle(draw(published, "leaderboard", fit="fit-scores"))


def test_a_picture_without_numbers_is_not_drawn_empty(published: Settings, tmp_path: Path) -> None:
    with pytest.raises(NothingToDrawError, match="confusion-by-bin: nothing to draw for data set 'scores'"):
        draw(published, "confusion-by-bin", dataset="scores")
    with pytest.raises(NotPublishedError, match="thetahouse run"):
        draw(Settings(home=tmp_path, data=None), "leaderboard")


def raters_frame(n: int) -> pl.DataFrame:
    return pl.DataFrame({
        "rater_id": [f"r{i}" for i in range(n)], "family": "f", "theta": [1.0 - i / n for i in range(n)],
        "theta_se": 0.5, "n": [10 + i for i in range(n)], "accuracy": 0.5,
    })  # fmt: skip


def test_the_leaderboard_draws_theta_and_its_interval() -> None:
    drawn = {row["rater_id"]: row for row in rows(leaderboard(raters_frame(2), "s")) if "rater_id" in row}
    assert (drawn["r0"]["low"], drawn["r0"]["high"]) == pytest.approx((1 - 1.96 * 0.5, 1 + 1.96 * 0.5))


def test_what_is_undefined_or_cut_off_is_counted_in_the_subtitle() -> None:
    frame = raters_frame(MOST_ROWS + 40)
    frame = frame.with_columns(theta=pl.when(pl.col("rater_id") == "r3").then(None).otherwise("theta"))
    text = subtitle(leaderboard(frame, "s"))
    assert "n = 10–109" in text
    assert "the first 60 of 99 raters are shown" in text
    assert "1 raters without theta are left out" in text


def test_statuses_are_stacked_in_one_order_with_one_colour_each() -> None:
    frame = pl.DataFrame({"rater_id": "r", "status": ["not_asked", "ok"], "n": [1, 3], "share": [0.25, 0.75]})
    chart = coverage(frame, "s").to_dict()
    scale = chart["encoding"]["color"]["scale"]
    assert scale == {"domain": ["ok", "not_asked"], "range": [STATUS_COLOURS["ok"], STATUS_COLOURS["not_asked"]]}
    assert "n = 4 requests each; 3 of 4 have an answer" in chart["title"]["subtitle"][1]
    assert len(set(STATUS_COLOURS.values())) == len(STATUS_COLOURS)


def test_a_label_never_given_is_zero_and_a_gold_that_does_not_occur_has_no_row() -> None:
    frame = pl.DataFrame({
        "difficulty_bin": ["B1", "B1", "B2"], "gold_label": ["a", "a", "b"], "answer_label": ["a", "b", "b"],
        "n": [3, 1, 2],
    })  # fmt: skip
    drawn = {
        (row["difficulty_bin"], row["gold_label"], row["answer_label"]): row["share"]
        for row in rows(confusion_by_bin(frame, "s"))
    }
    assert drawn == {
        ("B1", "a", "a"): 0.75, ("B1", "a", "b"): 0.25, ("B2", "b", "a"): 0.0, ("B2", "b", "b"): 1.0,
    }  # fmt: skip


def test_the_wright_map_counts_every_rater_and_item_once() -> None:
    raters = pl.DataFrame({"theta": [0.0, 0.01, 2.0], "is_extreme": [False, False, True]})
    items = pl.DataFrame({"b": [-3.0, -0.2, 0.0, 1.999], "is_extreme": False})
    chart = wright_map(raters, items, "s")
    counted = sum(int(str(row["n"])) for row in rows(chart) if "n" in row)
    assert counted == 3 + 4
    assert "1 of them are all right or all wrong" in subtitle(chart)


def test_more_families_than_colours_share_one() -> None:
    names = [f"f{i}" for i in range(len(PALETTE) + 1)]
    assert colour_by(names, "family", "family") == {"value": PALETTE[0]}
    assert len(colour_by(names[:-1], "family", "family").to_dict()["scale"]["range"]) == len(PALETTE)


def test_person_fit_draws_both_mean_squares_of_every_rater_that_has_them() -> None:
    frame = pl.DataFrame({
        "rater_id": ["a", "b", "c"], "family": "f", "theta": [0.0, 1.0, None], "infit": [1.1, 0.9, None],
        "outfit": [1.3, 0.8, None], "n": [10, 12, 0],
    })  # fmt: skip
    chart = person_fit(frame, "s")
    drawn = {(r["rater_id"], r["statistic"]): r["mean_square"] for r in rows(chart) if "statistic" in r}
    assert drawn == {("a", "infit"): 1.1, ("b", "infit"): 0.9, ("a", "outfit"): 1.3, ("b", "outfit"): 0.8}
    assert "1 raters without infit are left out" in subtitle(chart)


def test_curves_are_those_of_the_model(published: Settings) -> None:
    items = pl.DataFrame({"b": [-1.0, 1.0, 2.0], "difficulty_bin": ["B1", "B5", "B5"]})
    raters = pl.DataFrame({"theta": [-2.0, 2.0]})
    drawn = [row for row in rows(item_curves(items, raters, "subject")) if "p" in row]
    at_zero = {row["difficulty_bin"]: row["p"] for row in drawn if abs(row["theta"]) < 1e-9}  # type: ignore[arg-type]
    # 1 / (1 + e^-1); the mean of 1 / (1 + e) and 1 / (1 + e^2)
    assert at_zero == pytest.approx({"B1": 0.731059, "B5": (0.268941 + 0.119203) / 2}, abs=1e-6)
    told = [row for row in rows(information(items, raters, "subject")) if "information" in row]
    middle = next(row for row in told if abs(row["theta"]) < 1e-9)  # type: ignore[arg-type]
    assert middle["information"] == pytest.approx(2 * 0.731059 * 0.268941 + 0.119203 * 0.880797, abs=1e-5)
