"""Export: ids stay text, nothing is lost or made up, and the IRW file conforms to its standard."""

import csv
import shutil
from pathlib import Path

import duckdb
import irw_validate
import polars as pl
import pytest

from orchestration.export import export, irw_frame
from orchestration.house import UnknownNameError
from orchestration.reading import NotPublishedError, query_published
from orchestration.settings import Settings


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_three_tables_hold_every_row_with_text_ids(published: Settings, tmp_path: Path, format: str) -> None:
    files = {file.path.stem: file for file in export(published, tmp_path / "out", format=format)}
    assert {name: file.n_rows for name, file in files.items()} == {"response_matrix": 720, "items": 60, "raters": 12}
    if format == "parquet":
        matrix = pl.read_parquet(files["response_matrix"].path)
    else:
        matrix = pl.read_csv(files["response_matrix"].path, schema_overrides={"item_id": pl.String})
    assert matrix["item_id"][0] == "000"
    stored = query_published(published, "select status, count(*) as n from core.response_matrix group by 1 order by 1")
    counted = matrix.group_by("status").agg(n=pl.len()).sort("status")
    assert counted.rows() == stored.rows()
    missing = matrix.filter(pl.col("status") != "ok")["is_correct"]
    assert missing.null_count() == missing.len() > 0


def test_csv_quotes_texts_and_leaves_null_blank(published: Settings, tmp_path: Path) -> None:
    export(published, tmp_path, format="csv", dataset="labels")
    lines = (tmp_path / "raters.csv").read_text().splitlines()
    assert lines[1].startswith('"alpha|0","grade","alpha",,"alpha-family"')
    first = next(csv.DictReader((tmp_path / "items.csv").open()))
    assert (first["item_id"], first["b"], first["gold_score"]) == ("000", "-2.0", "")


def test_no_text_of_items_or_responses_leaves_the_house(published: Settings, tmp_path: Path) -> None:
    for format in ("csv", "irw"):
        for file in export(published, tmp_path / format, format=format):  # type: ignore[arg-type]
            text = file.path.read_text()
            assert "so to say" not in text
            assert "verbatim" not in text


def test_irw_files_conform_to_the_standard(published: Settings, tmp_path: Path) -> None:
    files = export(published, tmp_path, format="irw")
    assert [file.path.name for file in files] == ["labels.csv", "scores.csv"]
    for file in files:
        report = irw_validate.validate_file(str(file.path))
        assert report.conforms is True
        assert report.nonconforming == []
        assert not report.errors
        # a note, not a breach: missing responses stay in the file as blanks
        assert [finding.check for finding in report.findings if finding.clause] == ["resp_na"]


def test_data_sets_that_would_be_one_irw_file_are_refused_and_nothing_is_written(
    published: Settings, tmp_path: Path
) -> None:
    house = Settings(home=tmp_path / "home", data=None)
    house.published.mkdir(parents=True)
    shutil.copyfile(published.analyst, house.analyst)
    with duckdb.connect(str(house.analyst)) as connection:
        for table in ("core.items", "core.response_matrix"):
            connection.execute(
                f"insert into {table} select * replace ('Labels' as dataset) from {table} where dataset = 'labels'"
            )
    out = tmp_path / "out"
    with pytest.raises(UnknownNameError, match=r"'Labels' and 'labels' differ .* both be labels\.csv; .*--dataset"):
        export(house, out, format="irw")
    assert not out.exists()
    for name in ("Labels", "labels"):
        (file,) = export(house, out / name[0], format="irw", dataset=name)
        assert (file.path.name, file.n_rows) == ("labels.csv", 360)
    assert len(export(house, out, format="csv")) == 3


def test_the_irw_file_is_judged_by_what_it_holds(published: Settings, tmp_path: Path) -> None:
    (file,) = export(published, tmp_path, format="irw", dataset="labels")
    lines = file.path.read_text().splitlines()
    assert lines[0].startswith('"id","item","resp","item_family","itemcov_stratum"')
    file.path.write_text("\n".join([*lines, lines[1]]) + "\n")
    report = irw_validate.validate_file(str(file.path))
    assert report.conforms is False
    assert report.nonconforming == ["C5"]


def test_covariates_that_are_blank_throughout_are_left_out() -> None:
    rows = pl.DataFrame({"id": ["a"], "item": ["1"], "resp": [None], "cov_persona": [None], "cov_model": ["m"]})
    assert irw_frame(rows).columns == ["id", "item", "resp", "cov_model"]


def test_unknown_names_list_what_is_allowed(published: Settings, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown data set 'label'; expected one of 'labels', 'scores'"):
        export(published, tmp_path, format="csv", dataset="label")
    with pytest.raises(UnknownNameError, match="unknown format 'xlsx'; expected one of parquet, csv, irw"):
        export(published, tmp_path, format="xlsx")  # type: ignore[arg-type]
    with pytest.raises(NotPublishedError, match="thetahouse run"):
        export(Settings(home=tmp_path, data=None), tmp_path, format="csv")
