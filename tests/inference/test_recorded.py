from pathlib import Path

import polars as pl
import pytest
import yaml

from inference.planning import plan_requests
from inference.raters import RaterConflictError, check_bound, rater_rows, resolve_raters
from inference.registry import RegistryError, load_registry
from inference.sources import SourceError, read_bank
from inference.sources.predictions import describe_predictions
from inference.sources.recorded import read_recorded
from orchestration.settings import SHIPPED_REGISTRY


def test_wide_columns_become_raters_with_model_and_condition(load):
    rows = rater_rows(resolve_raters(load()[0])).filter(pl.col("engine") == "recorded").sort("rater_id")
    assert rows.select("rater_id", "model", "condition", "family").rows() == [
        ("m|a", "m", "a", "m"),
        ("m|b", "m", "b", "m"),
    ]


def test_long_rows_become_the_same_cells_as_wide_columns(folder, change, load):
    wide = read_recorded(load()[0].recorded["old_grades"], load()[0])
    (folder / "recorded/grades.csv").write_text(
        "who,id,said\nm|a,007,right\nm|b,007,Label: wrong\nm|a,7,\nm|b,7,right\n", encoding="utf-8"
    )
    change(
        "recorded/old.yml",
        "  blank:",
        "  raters: {layout: long, rater_column: who, value_column: said}\n  blank:",
    )
    assert read_recorded(load()[0].recorded["old_grades"], load()[0]) == wide


def test_ids_that_the_data_set_lacks_are_shown_beside_its_own(change, load):
    change("recorded/grades.csv", "\n7,", "\n8,")
    with pytest.raises(SourceError, match=r"1 id is not in data set tiny_labels: '8', on line 3; ids there .* '007'"):
        plan_requests(*load())


def test_a_name_that_does_not_split_is_named(change, load):
    change(
        "recorded/old.yml",
        "  blank:",
        "  raters: {columns: ['m.+'], split_name: '(?P<model>x)-(?P<condition>y)'}\n  blank:",
    )
    with pytest.raises(SourceError, match=r"rater 'm\|a' does not split into a model and a condition"):
        rater_rows(resolve_raters(load()[0]))


def test_two_files_of_one_rater_for_one_data_set_conflict(folder, load):
    text = (folder / "recorded/old.yml").read_text()
    (folder / "recorded/more.yml").write_text(text.replace("old_grades", "more_grades"))
    with pytest.raises(RaterConflictError, match=r"rater 'm\|a' is already described"):
        resolve_raters(load()[0])


def test_one_rater_over_two_data_sets_is_one_rater(folder, load):
    text = (folder / "recorded/old.yml").read_text()
    (folder / "recorded/more.yml").write_text(
        text.replace("old_grades", "more_grades").replace("tiny_labels", "tiny_scores")
    )
    raters = resolve_raters(load()[0])
    assert [spec.dataset for spec, _ in raters["m|a"].recorded] == ["tiny_scores", "tiny_labels"]


def test_a_name_bound_to_other_settings_is_an_error_with_both_remedies(change, load):
    bound = dict(rater_rows(resolve_raters(load()[0])).select("rater_id", "settings_hash").rows())
    check_bound(rater_rows(resolve_raters(load()[0])), bound)
    change("models/overlap.yml", "measures: [recall]", "measures: [jaccard]")
    with pytest.raises(
        RaterConflictError, match=r"'overlap\|recall' is bound to other settings .*new name.*--supersede"
    ):
        check_bound(rater_rows(resolve_raters(load()[0])), bound)


class TestDescribingAPredictionFile:
    def _describe(self, load, tmp_path: Path, content: str, **options) -> str:
        file = tmp_path / "mine.csv"
        file.write_text(content, encoding="utf-8")
        return describe_predictions(file, "tiny_labels", *load(), name="mine", **options).entry

    def test_the_entry_reads_the_file_from_where_it_will_lie(self, folder, load, tmp_path):
        target = folder / "recorded" / "mine.yml"
        inbox = tmp_path / "inbox" / "mine.csv"
        text = self._describe(load, tmp_path, "x,id,n|1\n-,007,right\n-,7,half\n", stored_as=inbox, yaml_file=target)
        inbox.parent.mkdir()
        (tmp_path / "mine.csv").rename(inbox)
        target.write_text(text)
        registry, banks = load()
        assert resolve_raters(registry)["n|1"].row.engine == "recorded"
        assert set(plan_requests(registry, banks)["rater_id"]) >= {"n|1", "m|a"}

    def test_the_only_other_column_is_the_rater(self, load, tmp_path):
        entry = yaml.safe_load(self._describe(load, tmp_path, "answer;my-model\n007;right\n7;wrong\n"))["mine"]
        assert (entry["item_id"], entry["raters"]["columns"]) == ("answer", ["my-model"])

    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (
                "id,n|1\n900,right\n",
                {},
                r"no column holds ids of data set tiny_labels; ids there look like '007'.*'900'",
            ),
            ("id,a,b\n007,right,half\n", {}, "which columns are raters.*'a', 'b'"),
            ("id,n|1\n007,right\n007,half\n", {}, r"id '007' stands on lines 2, 3"),
            ("id,n|1\n007,right\n", {"id_columns": ["key"]}, r"no column 'key'; it has 'id'.*; correct --id-column"),
            ("id,n|1\n007,right\n7,a\n9,b\n", {}, r"1 id is not in data set tiny_labels: '9', on line 4"),
            ("id,n|1\n007,right\n8,a\n9,b\n", {}, r"2 ids are not in data set tiny_labels: '8', '9', on lines 3, 4"),
        ],
    )
    def test_what_cannot_be_understood_is_said(self, load, tmp_path, content, options, message):
        with pytest.raises(SourceError, match=message):
            self._describe(load, tmp_path, content, **options)

    def test_an_unknown_data_set_lists_the_known(self, load, tmp_path):
        (tmp_path / "mine.csv").write_text("id,n|1\n007,right\n")
        with pytest.raises(
            RegistryError, match=r"unknown data set 'tiny' .*; expected one of \['tiny_labels', 'tiny_scores'\]"
        ):
            describe_predictions(tmp_path / "mine.csv", "tiny", *load(), name="mine")


def test_s2_17_published_grades_are_21_raters_on_both_real_sets(data_dir):
    registry = load_registry([SHIPPED_REGISTRY], data_dir)
    banks = {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}
    plan = plan_requests(registry, banks).filter(pl.col("studies") == "sgrades")
    assert plan.height == 148_953
    assert plan["request_id"].n_unique() == 148_953
    counts = plan.group_by("dataset").agg(pl.col("rater_id").n_unique(), pl.col("item_id").n_unique()).sort("dataset")
    assert counts.rows() == [("beetle_3way", 21, 1258), ("scientsbank_3way", 21, 5835)]
    rows = rater_rows(resolve_raters(registry)).filter(pl.col("engine") == "recorded")
    assert rows.height == 21
    assert sorted(rows["family"].unique()) == ["gemini", "gpt", "llama"]
    assert rows["temperature"].unique().to_list() == [0.1]


def test_t19_geminis_blanks_lie_where_the_specification_says(data_dir):
    registry = load_registry([SHIPPED_REGISTRY], data_dir)
    items = read_bank(registry.banks["scientsbank"], registry).items.filter(pl.col("dataset") == "scientsbank_3way")
    part = dict(items.select("item_id", "test_part").rows())
    raters = {r.rater_id: r for r in read_recorded(registry.recorded["sgrades_scientsbank_3way"], registry)}
    blank = [part[item] for item, cell in raters["gemini-2.5-flash|inductive"].cells.items() if not cell.strip()]
    assert blank.count("unseen_answers") == 540
    assert blank.count("unseen_questions") == 0
    assert round(blank.count("unseen_domains") / 4562, 3) == 0.126
    assert not [cell for cell in raters["gpt-4o-mini|inductive"].cells.values() if not cell.strip()]
