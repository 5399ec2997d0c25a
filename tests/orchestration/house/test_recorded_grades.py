"""The main job on real recorded grades, through the command line, against what their authors published."""

import csv
from pathlib import Path

import duckdb
import pytest

from orchestration.settings import SHIPPED_REGISTRY
from tests.orchestration.house.tiny import command_line

pytestmark = pytest.mark.slow

DATASETS = ("scientsbank_3way", "beetle_3way")
BLANKED = "gemini-2.5-flash|inductive"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Path:
    home = tmp_path_factory.mktemp("home")
    run = command_line(home, SHIPPED_REGISTRY, data=data_dir)
    done = run("run", "--study", "sgrades")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asked 0 requests, read 148,953 recorded responses;" in done.stdout
    return home / "published" / "analyst.duckdb"


def query(published: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(published), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_cell_is_in_the_matrix_with_missing_ones(published: Path) -> None:
    cells = query(
        published,
        "select dataset, count(*), count(distinct rater_id) from core.response_matrix "
        "where dataset like '%3way' group by 1 order by 1",
    )
    assert cells == [("beetle_3way", 21 * 1258, 21), ("scientsbank_3way", 21 * 5835, 21)]


def test_accuracy_and_weighted_f1_of_all_42_pairs_are_the_published_ones(published: Path, data_dir: Path) -> None:
    ours = {
        (dataset, rater_id): (accuracy, f1)
        for dataset, rater_id, accuracy, f1 in query(
            published,
            "select dataset, rater_id, accuracy, f1_weighted from marts.rater_agreement where scope = 'pooled'",
        )
    }
    with (data_dir / "sgrades" / "reported_metrics.csv").open(encoding="utf-8") as file:
        reported = [row for row in csv.DictReader(file) if row["strategy"] and row["dataset"].lower() in DATASETS]
    assert len(reported) == 42
    for row in reported:
        accuracy, f1 = ours[row["dataset"].lower(), f"{row['model']}|{row['strategy']}"]
        assert accuracy == pytest.approx(float(row["accuracy"]), abs=1e-9)
        assert f1 == pytest.approx(float(row["f1_score"]), abs=1e-9)


def test_blanks_are_not_recorded_and_decide_the_rank_only_if_taken_as_wrong(published: Path) -> None:
    blanks = query(
        published,
        "select test_part, count(*) filter (status = 'not_recorded'), count(*) "
        "from core.response_matrix join core.items using (dataset, item_id) "
        f"where dataset = 'scientsbank_3way' and rater_id = '{BLANKED}' group by 1",
    )
    assert sorted(blanks) == [("unseen_answers", 540, 540), ("unseen_domains", 573, 4562), ("unseen_questions", 0, 733)]
    ranks = query(
        published,
        "select missing_policy, rank from psychometrics.irt_raters join psychometrics.irt_fits using (fit_id) "
        "where irt_fits.dataset = 'scientsbank_3way' and irt_model = '1pl_testlet' "
        f"and rater_id = '{BLANKED}' order by 1",
    )
    assert ranks == [("incorrect", 20), ("omit", 1)]
