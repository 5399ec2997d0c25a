"""What a run and ``status`` make of published files that are, or are not, of one refresh."""

from pathlib import Path

import duckdb
import pytest

from orchestration import freshness
from orchestration.cli import summary
from orchestration.house import read_registry
from orchestration.settings import Settings
from tests.orchestration.house.tiny import write_registry


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    home = tmp_path / "home"
    (home / "published").mkdir(parents=True)
    (home / "warehouse.duckdb").touch()
    return Settings(home=home, data=None, shipped_registry=write_registry(tmp_path / "registry"))


def publish(settings: Settings, file: Path, generation: int) -> None:
    """Write a published file of some refresh that was computed from what there is."""
    fingerprint = freshness.journal_fingerprint(read_registry(settings), settings)
    with duckdb.connect(str(file)) as connection:
        connection.execute("create schema meta; create schema core")
        connection.execute(
            "create table meta.refreshes as select ?::bigint as generation, ? as fingerprint, 0::bigint as n_to_ask, "
            "timestamp '2026-01-01 08:00:00' as published_at",
            [generation, fingerprint],
        )
        connection.execute(
            "create table core.responses as select 'd' as dataset, 'r' as rater_id, 'ok' as status, "
            "null::varchar as status_reason"
        )


@pytest.mark.parametrize(
    ("analyst", "public", "is_current", "lines"),
    [
        (1, 1, True, ["published: refresh 1 of 2026-01-01 08:00 UTC"]),
        (1, 2, False, ["of one refresh; run: thetahouse run", "{a}: refresh 1 of 2026", "{p}: refresh 2 of 2026"]),
        (2, 1, False, ["of one refresh; run: thetahouse run", "{a}: refresh 2 of 2026", "{p}: refresh 1 of 2026"]),
        (1, None, False, ["of one refresh; run: thetahouse run", "{a}: refresh 1 of 2026", "{p}: nothing yet"]),
        (None, 1, False, ["of one refresh; run: thetahouse run", "{a}: nothing yet", "{p}: refresh 1 of 2026"]),
        (None, None, False, ["published: nothing yet; run: thetahouse run"]),
    ],
)
def test_files_of_two_refreshes_are_both_shown_and_a_run_mends_it(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    analyst: int | None,
    public: int | None,
    is_current: bool,
    lines: list[str],
) -> None:
    for file, generation in ((settings.analyst, analyst), (settings.public, public)):
        if generation is not None:
            publish(settings, file, generation)
    assert freshness.is_current(settings, read_registry(settings)) is is_current
    summary.status(settings)
    printed = capsys.readouterr().out
    assert all(line.format(a=settings.analyst, p=settings.public) in printed for line in lines), printed
