"""The command fit, as typed: files wide and long, every model, ids that stay text, faults by line."""

import csv
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from analytics.fit import FitMethod, FitModel
from analytics.literals import MissingPolicy
from inference.sources.tables import SourceError
from orchestration.cli import app, main
from orchestration.cli.fit import Format, Method, Missing, Model
from orchestration.fit_output import OutputFormat

MODELS = get_args(FitModel)


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def wide_file(folder: Path, n: int = 80, *, top: int = 1) -> Path:
    """Persons 000, 001, …; six items; every tenth cell is empty."""
    rng = np.random.default_rng(7)
    cut = np.arange(1, top + 1)[:, None, None] - 1.0 + np.linspace(-1, 1, 6)
    values = (rng.logistic(size=(n, 6)) + 1.5 * rng.normal(size=(n, 1)) > cut).sum(axis=0)
    rows = [[str(v) if (i * 6 + j) % 10 else "" for j, v in enumerate(row)] for i, row in enumerate(values)]
    header = "person," + ",".join(f"q{j}" for j in range(6))
    return write(folder / "wide.csv", header, *(f"{i:03d},{','.join(row)}" for i, row in enumerate(rows)))


def stimuli_file(folder: Path) -> Path:
    return write(folder / "testlets.csv", "item,testlet", *(f"q{j},t{j // 3}" for j in range(6)))


def fitted(*arguments: str | Path) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["fit", *map(str, arguments), "--format", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert isinstance(result, dict)
    return result


def fault(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> str:
    monkeypatch.setattr("sys.argv", ["thetahouse", "fit", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_the_options_are_those_of_the_engine() -> None:
    for options, allowed in (
        (Model, FitModel),
        (Method, FitMethod),
        (Missing, MissingPolicy),
        (Format, OutputFormat),
    ):
        assert tuple(option.value for option in options) == get_args(allowed)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_gives_fit_items_and_persons(tmp_path: Path, model: str) -> None:
    file = wide_file(tmp_path, top=2 if model in ("grm", "pcm", "gpcm", "mfrm") else 1)
    extra = ("--testlets", stimuli_file(tmp_path)) if model == "testlet" else ()
    found = fitted(file, "--model", model, *extra)
    assert [row["id"] for row in found["persons"]][:8] == ["000", "001", "002", "003", "004", "005", "006", "007"]
    assert [row["id"] for row in found["items"]] == [f"q{j}" for j in range(6)]
    assert found["fit"]["n_observed"] == 432
    if model == "ctt":
        assert found["fit"]["log_likelihood"] is None
        assert found["persons"][0]["theta"] is None
        assert found["persons"][0]["reason"]
    else:
        assert found["fit"]["log_likelihood"] < 0
        assert all(row["theta_se"] > 0 for row in found["persons"])


def is_count(name: str) -> bool:
    return name in ("n", "score") or name.startswith("n_")


@pytest.mark.parametrize("model", ["ctt", "rasch", "testlet", "mfrm"])
def test_counts_are_whole_numbers_in_json_csv_and_table(tmp_path: Path, model: str) -> None:
    file = wide_file(tmp_path)
    options = [
        str(file),
        "--model",
        model,
        *(("--testlets", str(stimuli_file(tmp_path))) if model == "testlet" else ()),
    ]
    found = fitted(*options)
    counts = [found["fit"][name] for name in found["fit"] if is_count(name)]
    counts += [row[name] for part in ("items", "persons") for row in found[part] for name in row if is_count(name)]
    assert len(counts) > 80
    assert {type(count) for count in counts if count is not None} == {int}
    written = CliRunner().invoke(app, ["fit", *options, "--format", "csv"]).stdout
    cells = [row[name] for row in csv.DictReader(written.splitlines()) for name in row if is_count(name)]
    assert any(cells)
    assert not [cell for cell in cells if "." in cell]
    printed = CliRunner().invoke(app, ["fit", *options]).stdout
    assert "n_persons: 80\n" in printed
    assert "n_observed: 432\n" in printed


def test_weighted_patterns_give_the_published_fit(reference_dir: Path) -> None:
    found = fitted(reference_dir / "psychometrics/LSAT6_patterns_ltm.csv", "--model", "2pl", "--weights", "n")
    assert found["fit"]["n_persons"] == 1000
    assert found["fit"]["log_likelihood"] == pytest.approx(-2466.653, abs=1e-3)
    with (reference_dir / "psychometrics/LSAT6_ltm_2pl_coef_se.csv").open() as rows:
        published = {row[""]: float(row["value"]) for row in csv.DictReader(rows)}
    for row in found["items"]:
        assert row["b"] == pytest.approx(published[f"Dffclt.{row['id']}"], abs=5e-3)
        assert row["a"] == pytest.approx(published[f"Dscrmn.{row['id']}"], abs=5e-3)


def test_the_prior_of_lower_asymptotes_is_used_and_said(tmp_path: Path) -> None:
    file = wide_file(tmp_path)
    plain, held = (fitted(file, "--model", "3pl", *more) for more in ((), ("--lower-prior", "50", "170")))
    mode = 49 / 218  # of Beta(50, 170)
    assert all(abs(row["c"] - mode) < 0.05 for row in held["items"])
    assert held["fit"]["log_likelihood"] < plain["fit"]["log_likelihood"]
    assert any("Beta(50, 170)" in said for said in held["fit"]["findings"])


@pytest.mark.parametrize(
    ("model", "prior", "said"),
    [("2pl", ("5", "17"), "no lower asymptotes"), ("3pl", ("1", "17"), "two numbers above 1")],
)
def test_a_prior_that_cannot_be_used_is_refused(tmp_path: Path, capsys, monkeypatch, model, prior, said) -> None:
    text = fault(capsys, monkeypatch, wide_file(tmp_path), "--model", model, "--lower-prior", *prior)
    assert said in text


def test_long_and_parquet_give_the_numbers_of_the_wide_file(tmp_path: Path) -> None:
    wide = wide_file(tmp_path)
    table = pl.read_csv(wide, infer_schema=False)
    table.with_columns(pl.exclude("person").cast(pl.Int8)).write_parquet(tmp_path / "wide.parquet")
    long = table.unpivot(index="person", variable_name="item", value_name="resp").rename({"person": "id"})
    long.with_columns(item_family=pl.col("item").str.slice(1).cast(pl.Int8) // 3).write_csv(tmp_path / "long.csv")
    first = fitted(wide, "--model", "rasch")
    assert fitted(tmp_path / "wide.parquet", "--model", "rasch") == first
    assert fitted(tmp_path / "long.csv", "--model", "rasch") == first
    by_file = fitted(wide, "--model", "testlet", "--testlets", stimuli_file(tmp_path))
    assert fitted(tmp_path / "long.csv", "--model", "testlet") == by_file


def test_a_null_in_a_text_column_of_parquet_is_missing(tmp_path: Path) -> None:
    wide = wide_file(tmp_path)
    texts = pl.read_csv(wide, infer_schema=False)  # an empty cell is a null
    texts.write_parquet(tmp_path / "texts.parquet")
    assert fitted(tmp_path / "texts.parquet", "--model", "rasch") == fitted(wide, "--model", "rasch")


def test_a_folder_and_a_column_of_lists_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "a folder; name a file in it" in fault(capsys, monkeypatch, tmp_path, "--model", "rasch")
    pl.DataFrame({"id": ["a", "b"], "q": [[1], [0]]}).write_parquet(tmp_path / "lists.parquet")
    said = fault(capsys, monkeypatch, tmp_path / "lists.parquet", "--model", "rasch")
    assert "column(s) 'q' hold lists or structs" in said


def test_abilities_without_variance_have_no_standard_error(tmp_path: Path) -> None:
    rows = [f"p{i},{','.join(row)}" for i, row in enumerate(("1010", "0101", "1100", "0011") * 5)]
    file = write(tmp_path / "even.csv", "person,q0,q1,q2,q3", *rows)
    found = fitted(file, "--model", "testlet", "--testlets", stimuli_file(tmp_path))
    assert found["fit"]["sd_theta"] == 0
    assert {row["theta_se"] for row in found["persons"]} == {None}
    assert all("variance of ability is 0" in row["reason"] for row in found["persons"])


def test_raters_of_a_long_file_are_a_facet(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = [
        f"p{i},{item},{rater},{rng.integers(0, 3)}" for i in range(40) for item in ("a", "b") for rater in ("007", "x")
    ]
    file = write(tmp_path / "ratings.csv", "id,item,rater,resp", *lines)
    found = fitted(file, "--model", "mfrm")
    assert [(row["facet"], row["id"]) for row in found["facets"]] == [
        ("item", "a"), ("item", "b"), ("rater", "007"), ("rater", "x"),
    ]  # fmt: skip
    assert found["facets"][2]["estimate"] == pytest.approx(-found["facets"][3]["estimate"])
    done = CliRunner().invoke(app, ["fit", str(file), "--model", "pcm"])
    assert isinstance(done.exception, SourceError)
    assert "line 3 (and 2): person and item ('p0', 'a') stand twice; keep one, or fit --model mfrm" in str(
        done.exception
    )


def test_an_empty_cell_and_na_are_missing_and_the_policy_counts_them(tmp_path: Path) -> None:
    file = write(tmp_path / "few.csv", "person,q1,q2,q3", "a,1,0,", "b,0,NA,1", "c,1,1,0", "d,0,1,1")
    found = {policy: fitted(file, "--model", "ctt", "--missing", policy) for policy in ("omit", "incorrect")}
    assert [row["n"] for row in found["omit"]["items"]] == [4, 3, 3]
    assert [row["facility"] for row in found["omit"]["items"]] == pytest.approx([1 / 2, 2 / 3, 2 / 3])
    assert [row["facility"] for row in found["incorrect"]["items"]] == [0.5, 0.5, 0.5]


def test_csv_and_tables_keep_ids_and_name_their_parts(tmp_path: Path) -> None:
    file, out = wide_file(tmp_path), tmp_path / "out"
    done = CliRunner().invoke(app, ["fit", str(file), "--model", "2pl", "--format", "csv"])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["part"] for row in rows] == ["fit", *["items"] * 6, *["persons"] * 80]
    assert rows[14]["id"] == "007"
    written = CliRunner().invoke(app, ["fit", str(file), "--model", "2pl", "--out", str(out)]).stdout
    assert written.splitlines() == [f"wrote {out / name}.csv" for name in ("fit", "items", "persons")]
    assert (out / "persons.csv").read_text().splitlines()[8].startswith('"007",')
    CliRunner().invoke(app, ["fit", str(file), "--model", "2pl", "--format", "json", "--out", str(out)])
    assert json.loads((out / "fit.json").read_text()) == fitted(file, "--model", "2pl")
    shown = CliRunner().invoke(app, ["fit", str(file), "--model", "2pl"]).stdout
    assert "log_likelihood: -" in shown
    assert "… 30 more persons" in shown


def test_thresholds_are_columns(tmp_path: Path) -> None:
    out = tmp_path / "out"
    CliRunner().invoke(app, ["fit", str(wide_file(tmp_path, top=2)), "--model", "grm", "--out", str(out)])
    items = pl.read_csv(out / "items.csv")
    assert items["b"].null_count() == 6
    assert (items["b1"] < items["b2"]).all()
    assert items.select("b1_se", "b2_se").min_horizontal().min() > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("lines", "arguments", "words"),
    [
        (("p,q1,q2", "a,1,0", "b,yes,1"), (), "line 3, column 'q1': 'yes' is not a score; allowed are whole numbers"),
        (("p,q1,q2", "a,1,0", "b,0,2"), (), "line 3, column 'q2': '2' is not a score"),
        (("p,q1,q2", "a,1,0", "b,0.5,1"), ("--model", "pcm"), "line 3, column 'q1': '0.5' is not a score"),
        (("p,q1,q2", "a,1,0", "b,0,200"), ("--model", "pcm"), "'200' is not a score; allowed are whole numbers from 0"),
        (("p,q1,q2", "a,1,0", "b,0,200"), ("--model", "pcm"), "group the scores so that none is above 126"),
        (("p,q1,q2", "a,1,0", "b,0,inf"), (), "write the score as a number"),
        (("p,q1,q2", "a,1,0", "a,0,1"), (), "line 3 (and 2): the person 'a' stands twice"),
        (("q1,q2,q3", "1,1,0", "1,0,1"), (), "put persons first if no column has them"),
        (("ID,Item,Resp", "1,1,0", "1,0,1"), (), "or name columns id, item, resp"),
        (("p,q1,q2", "a,1,0", ",0,1"), (), "line 3, column 'p': blank"),
        (("p,q1,q2", "a,1,0", "b,0"), (), "line 3: 2 cells where the header has 3"),
        (("p,q1,w", "a,1,1", "b,0,-1"), ("--weights", "w"), "line 3, column 'w': '-1' is not a weight"),
        (("p,q1,q2", "a,1,0", "b,0,1"), ("--weights", "w"), "no column 'w' for the weights; it has 'p', 'q1', 'q2'"),
        (("p,q1,q2", "a,1,0", "b,0,1"), ("--model", "testlet"), "needs the testlet of each item"),
        (("p,q1,q2", "a,1,0", "b,0,1"), ("--method", "laplace"), "expected one of ('default', 'marginal'"),
        (("p,q1,q2", "a,1,1", "b,1,1"), (), "no item has two different responses"),
        (("p,q1,q2",), (), "there is no row below the header"),
        (("id,item,resp,w", "a,q1,1,2", "a,q2,0,3"), ("--weights", "w"), "person 'a' has the weights 2 and 3"),
    ],
)
def test_a_fault_names_the_place_and_what_is_allowed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    lines: tuple[str, ...],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    file = write(tmp_path / "bad.csv", *lines)
    model = () if "--model" in arguments else ("--model", "rasch")
    said = fault(capsys, monkeypatch, file, *model, *arguments)
    assert said.startswith(f"error: {file}")
    assert words in said
    assert said.count("\n") == 1


def test_wrong_testlets_and_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, testlets = wide_file(tmp_path), tmp_path / "testlets.csv"
    asked = (file, "--model", "testlet", "--testlets", testlets)
    assert "no such file" in fault(capsys, monkeypatch, *asked)
    write(testlets, "item,testlet", "q0,s", "q1,s")
    assert "no testlet for the item(s) 'q2', 'q3', 'q4', 'q5'" in fault(capsys, monkeypatch, *asked)
    write(testlets, "item,testlet", "q0,s", "q0,t")
    assert "line 3: item 'q0' has the testlets 's' and 't'" in fault(capsys, monkeypatch, *asked)
    write(testlets, "item,stimulus", "q0,s")
    assert "it needs 'item' and 'testlet'" in fault(capsys, monkeypatch, *asked)
    write(tmp_path / "not.parquet", "text")
    assert "not a Parquet file" in fault(capsys, monkeypatch, tmp_path / "not.parquet", "--model", "ctt")


@pytest.mark.parametrize("blank", ["NA", ""])
def test_an_item_without_a_testlet_is_one_of_its_own(tmp_path: Path, blank: str) -> None:
    file, testlets = wide_file(tmp_path), tmp_path / "testlets.csv"
    apart = ("q0,s", "q1,s", "q2,t", "q3,t")
    write(testlets, "item,testlet", *apart, "q4,x", "q5,y")
    named = fitted(file, "--model", "testlet", "--testlets", testlets)
    write(testlets, "item,testlet", *apart, f"q4,{blank}", f"q5,{blank}")
    assert fitted(file, "--model", "testlet", "--testlets", testlets) == named
    write(testlets, "item,testlet", *apart, "q4,x", "q5,x")
    assert fitted(file, "--model", "testlet", "--testlets", testlets) != named


def test_the_folder_of_the_result_may_not_be_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wide_file(tmp_path)
    before = file.read_bytes()
    assert "is a file; name a folder, new or old" in fault(capsys, monkeypatch, file, "--model", "ctt", "--out", file)
    assert file.read_bytes() == before


def test_an_unknown_model_is_refused_with_the_allowed_ones(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["fit", str(wide_file(tmp_path)), "--model", "4pl"])
    assert done.exit_code == 2
    assert all(f"'{model}'" in done.output for model in MODELS)
