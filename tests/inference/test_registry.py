import re

import pytest

from inference.registry import ModelSpec, RecordedSpec, RegistryError, load_registry
from inference.registry.yaml_files import read_entries
from orchestration.settings import SHIPPED_REGISTRY


def test_the_shipped_registry_is_usable_without_outside_data():
    registry = load_registry([SHIPPED_REGISTRY], None)
    assert {"demo", "demo_reading"} <= set(registry.banks)
    assert {"demo_grading", "demo_reading"} <= set(registry.studies)
    missing = {entry.name: entry.reason for entry in registry.unavailable}
    assert {"beetle", "scientsbank", "sgrades", "sgrades_beetle_3way"} <= set(missing)
    assert all("THETAHOUSE_DATA" in reason for reason in missing.values())


def test_outside_data_makes_its_entries_usable(data_dir):
    registry = load_registry([SHIPPED_REGISTRY], data_dir)
    assert {"beetle", "scientsbank"} <= set(registry.banks)
    assert not registry.unavailable


def test_the_fingerprint_follows_content_and_not_place(folder, change, load, tmp_path):
    before = load()[0].fingerprint
    moved = tmp_path / "elsewhere"
    folder.rename(moved)
    assert load_registry([moved], None).fingerprint == before
    moved.rename(folder)
    change("recorded/grades.csv", "right", "half")
    assert load()[0].fingerprint != before


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("models/overlap.yml", "family:", "famly:", r"overlap\.famly: unknown key 'famly' \(did you mean 'family'\?\)"),
        ("banks/tiny.yml", "item_text:", "itemtext:", r"tiny\.items\.itemtext: unknown key .*did you mean 'item_text'"),
        ("banks/tiny.yml", "label_set: three", "label_set: thre", r"unknown name 'thre' \(did you mean 'three'\?\)"),
        ("banks/tiny.yml", "  licence: Apache-2.0\n", "", r"tiny\.licence: this key is missing"),
        ("banks/tiny.yml", "title: Tiny", "title: 3", r"tiny\.title: .*found 3; put text in quotes"),
        ("banks/tiny.yml", "paradigm: asag", "paradigm: quiz", r"tiny\.paradigm: .*'aes', 'asag' or 'mcq'"),
        ("banks/tiny.yml", "answers.csv", "gone.csv", r"no such file .*gone\.csv"),
        ("studies/grading.yml", "tiny_scores", "tiny_score", "did you mean 'tiny_scores'"),
        ("models/overlap.yml", 'revision: "1"', "revision: main", "revision 'main' moves"),
        ("models/overlap.yml", "  title: Overlap", "  title: [", r"line 3, column 10: not valid YAML: a list '\['"),
        ("models/overlap.yml", "  family: lexical", "  family: a\n  family: b", "a key that stands twice; rename one"),
        ("models/overlap.yml", "  family: lexical", "  ? [a, b]\n  : c", "not valid YAML: a key is not text"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_key_and_remedy(change, load, name, old, new, message):
    change(name, old, new)
    with pytest.raises(RegistryError, match=message) as caught:
        load()
    assert "\n" not in str(caught.value)
    assert ".yml" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("a:\n  title: one: two\n", "line 2, column 13", "a second ':' in one value"),
        ("a:\n    title: x\n  source: y\n", "line 3, column 3", "indented otherwise than the keys above"),
        ("a:\n\ttitle: x\n", "line 2, column 1", "a tab.*; indent with spaces"),
        ("a:\n  title: 'the teacher's words'\n", "line 2, column 23", "inside '...' is written ''"),
        ("a:\n  title: x\n  source\n", "line 3, column 3", "a key without ':'"),
        ('a:\n  title: "x\n  source: y\n', "line 2, column 10", "a quote that is not closed; close it"),
        ('a:\n  file: "C:\\data"\n', "line 2, column 9", "a backslash"),
        ("a:\n  title: *x\n", "line 2, column 10", r"begins with '\*'; put the value in quotes"),
        ("a: |x\n  b\n", "line 1, column 5", "did not find expected comment or line break; correct it"),
        ("a:\n  title: \xe9\n", "line 2", "not UTF-8; save the file as UTF-8"),
        ("a:\n  title: x\x07\n", "", "a control character; take it out"),
        ("a:\n  seen: 2024-02-30\n", "", "day is out of range.*; put text in quotes"),
    ],
)
def test_a_fault_of_yaml_is_one_line_with_its_place(tmp_path, content, place, words):
    file = tmp_path / "label_sets.yml"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(RegistryError, match=f"{re.escape(str(file))}{place and f', {place}'}: .*{words}") as caught:
        load_registry([tmp_path], None)
    assert "\n" not in str(caught.value)
    assert "unicode string" not in str(caught.value)


def test_the_same_name_twice_names_both_files(folder, tmp_path):
    own = tmp_path / "own" / "models"
    own.mkdir(parents=True)
    (own / "mine.yml").write_text((folder / "models/overlap.yml").read_text())
    with pytest.raises(RegistryError, match=r"mine\.yml: models entry 'overlap' is also in .*overlap\.yml"):
        load_registry([folder, own.parent], None)


def test_names_that_look_like_numbers_stay_text(change, load):
    change("models/overlap.yml", "    recall:", "    007:")
    registry, _ = load()
    assert "007" in registry.models["overlap"].conditions


def test_an_entry_that_needs_outside_data_is_unavailable_and_not_wrong(change, load):
    change("recorded/old.yml", "  collection: old", "  collection: old\n  root: data")
    registry, _ = load()
    assert [(entry.kind, entry.name) for entry in registry.unavailable] == [("recorded", "old_grades")]


def test_the_examples_in_the_readme_are_valid_entries(folder):
    blocks = re.findall(r"```yaml\n(.*?)```", (SHIPPED_REGISTRY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    for kind, shape, block in zip(("models", "recorded"), (ModelSpec, RecordedSpec), blocks, strict=True):
        (folder / kind / "example.yml").write_text(block, encoding="utf-8")
        assert {"my-model", "my_predictions"} & set(read_entries(shape, kind, [folder]))


def test_a_data_set_that_is_out_of_reach_is_not_only_called_unknown():
    registry = load_registry([SHIPPED_REGISTRY], None)
    with pytest.raises(RegistryError, match=r"unknown data set 'beetle_5way'.*out of reach: bank 'beetle' needs THETA"):
        registry.bank_of("beetle_5way")
