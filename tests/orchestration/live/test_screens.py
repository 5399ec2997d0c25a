"""What a person sees in the control room: lineage, a table, a picture, a run of one rater. The docs show these screens.

The screens land in ``docs/screens`` where ``THETAHOUSE_SCREENS=1``; otherwise the checkout stays as it is.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from orchestration.settings import PROJECT_ROOT, SHIPPED_REGISTRY, Settings
from tests.orchestration.house.tiny import command_line
from tests.orchestration.live.control import ControlRoom, model_server, open_control_room, wait_for, write_model

pytestmark = pytest.mark.slow

FLOW = ("raw", "staging", "core", "psychometrics", "marts", "published", "pictures")
"""Groups in the order in which one reads them from left to right."""
PATIENCE_MS = 120_000
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
"""Root, as in containers, has no sandbox; the browser looks up nothing by itself."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """Open a control room on the demo, with one more model that answers through a server."""
    settings = Settings(home=tmp_path_factory.mktemp("screens"), data=None)
    done = command_line(settings.home, SHIPPED_REGISTRY)("run")
    assert done.returncode == 0, done.stderr
    with model_server("Label: correct") as server, open_control_room(settings) as opened:
        write_model(settings.own_registry, "served", server.url, ("plain",), study="demo_grading")
        wait_for("the served model", lambda: opened.ended("ask_model", "served"))
        wait_for("a refresh", lambda: opened.ended("refresh"))
        wait_for("the pictures", lambda: opened.ended("draw_pictures"))
        yield opened


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """Open a browser window."""
    chromium = shutil.which("chromium")
    if chromium is None:
        reason = "chromium is not installed; on Debian: apt-get install chromium"
        if os.environ.get("THETAHOUSE_REQUIRE_DATA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        window = browser.new_page(viewport={"width": 1440, "height": 810})
        window.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        yield window
        browser.close()


@pytest.fixture
def keep(tmp_path: Path) -> Path:
    """Folder for the screens."""
    folder = PROJECT_ROOT / "docs" / "screens" if os.environ.get("THETAHOUSE_SCREENS") == "1" else tmp_path
    folder.mkdir(exist_ok=True)
    return folder


def visit(page: Page, room: ControlRoom, path: str) -> None:
    page.goto(f"{room.url}{path}", timeout=PATIENCE_MS)


def screen(page: Page, file: Path) -> None:
    page.wait_for_timeout(1500)  # what moves has come to rest
    page.screenshot(path=file)
    assert 10_000 < file.stat().st_size < 600_000


def test_the_lineage_reads_from_left_to_right_in_layers(page: Page, room: ControlRoom, keep: Path) -> None:
    visit(page, room, "/asset-groups")
    drawn = {layer: page.locator("svg").get_by_text(layer, exact=True).first for layer in FLOW}
    for group in drawn.values():
        expect(group).to_be_visible()
    page.wait_for_timeout(3000)  # the lines between the groups come later
    places = [box["x"] for group in drawn.values() if (box := group.bounding_box()) is not None]
    assert len(places) == len(FLOW)
    assert places == sorted(places)
    screen(page, keep / "lineage.png")


def test_a_table_shows_description_columns_rows_and_owner(page: Page, room: ControlRoom, keep: Path) -> None:
    visit(page, room, "/assets/marts/leaderboard")
    expect(page.get_by_text("Raters in their order of ability").first).to_be_visible()
    for text in ("Row count", "Latest check results", "analysts", "DuckDB", "room: dbt_project", "rater_id"):
        expect(page.get_by_text(text).first).to_be_visible()
    screen(page, keep / "table.png")
    visit(page, room, "/assets/marts/leaderboard?view=events")
    page.get_by_text("[Show Markdown]").first.click()
    expect(page.get_by_role("cell", name=re.compile("^demo_")).first).to_be_visible()


def test_a_picture_is_on_the_page_of_its_asset(page: Page, room: ControlRoom, keep: Path) -> None:
    visit(page, room, "/assets/pictures/leaderboard?view=events")
    page.get_by_text("[Show Markdown]").first.click()
    picture = page.get_by_alt_text("leaderboard of demo_labels").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 300
    screen(page, keep / "picture.png")


def test_a_run_of_one_rater_shows_what_was_asked(page: Page, room: ControlRoom, keep: Path) -> None:
    [run] = room.runs("ask_model", "served")
    visit(page, room, f"/runs/{run['id']}")
    for text in ("ask_model", "served%7Cplain", "RUN_SUCCESS"):
        expect(page.get_by_text(text).first).to_be_visible()
    screen(page, keep / "run.png")
