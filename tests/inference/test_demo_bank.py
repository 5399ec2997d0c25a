"""The shipped demo bank keeps the promises of its README: ids, labels, scores, references, keys and variety."""

import csv
from collections import Counter
from pathlib import Path

import pytest

import inference

BANK = Path(inference.__file__).parent / "registry" / "banks" / "demo"
SCORES_OF_LABEL = {
    "correct": {"3"},
    "partially_correct_incomplete": {"1", "2"},
    "contradictory": {"0", "1"},
    "irrelevant": {"0"},
    "non_domain": {"0"},
}
UNSEEN_QUESTIONS = {"q13", "q14"}
TEST_NOTES = {
    "blank", "chatter", "close_to_reference", "contradicting", "copied_question", "dont_know", "half_right",
    "misconception", "misspelt", "off_topic", "paraphrase", "repeated_answer", "unicode", "vague", "very_long",
    "very_short",
}  # fmt: skip
OPTION_COLUMNS = ("option_a", "option_b", "option_c", "option_d")
COLUMNS = {
    "questions": ["testlet_id", "title", "domain", "question_text", "rubric", "max_score"],
    "reference_answers": ["testlet_id", "reference_id", "quality", "reference_text"],
    "answers": ["item_id", "testlet_id", "split", "test_part", "answer_text", "gold_label", "gold_score", "note"],
    "passages": ["passage_id", "title", "stratum", "passage_text"],
    "mcq_items": ["item_id", "passage_id", "split", "stem", *OPTION_COLUMNS, "answer_key"],
}

Row = dict[str, str]


def read(name: str) -> list[Row]:
    # strict: a stray quote is an error; newline="" leaves line breaks inside a field as they are
    with (BANK / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, strict=True))


@pytest.fixture(scope="module")
def answers() -> list[Row]:
    return read("answers")


@pytest.fixture(scope="module")
def mcq_items() -> list[Row]:
    return read("mcq_items")


def folded(text: str) -> str:
    return " ".join(text.casefold().split())


@pytest.mark.parametrize("name", COLUMNS)
def test_every_file_has_its_columns_and_no_ragged_row(name):
    rows = read(name)
    # DictReader files surplus fields under the key None and gives None to missing ones
    assert all(list(row) == COLUMNS[name] and None not in row.values() for row in rows)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("questions", "testlet_id"),
        ("reference_answers", "reference_id"),
        ("answers", "item_id"),
        ("passages", "passage_id"),
        ("mcq_items", "item_id"),
    ],
)
def test_ids_are_unique_and_bare(name, key):
    ids = [row[key] for row in read(name)]
    assert [value for value, n in Counter(ids).items() if n > 1] == []
    assert all(value and value == value.strip() for value in ids)


@pytest.mark.parametrize("name", COLUMNS)
def test_only_the_blank_answer_and_the_test_part_of_train_rows_are_empty(name):
    may_be_empty = {"answer_text", "test_part"} if name == "answers" else set()
    empty = [
        (number, column)
        for number, row in enumerate(read(name), start=2)
        for column, text in row.items()
        if not text.strip() and column not in may_be_empty
    ]
    assert empty == []


def test_ids_with_leading_zeros_are_present_in_both_tasks():
    assert "007" in {row["testlet_id"] for row in read("questions")}
    assert "007" in {row["passage_id"] for row in read("passages")}


def test_the_bank_has_the_promised_size(answers, mcq_items):
    questions = {row["testlet_id"] for row in read("questions")}
    assert len(questions) == 14
    per_split = Counter((row["testlet_id"], row["split"]) for row in answers)
    assert {testlet for testlet, _ in per_split} == questions
    assert {per_split[question, "test"] for question in questions} == {14}
    assert min(per_split[question, "train"] for question in questions - UNSEEN_QUESTIONS) >= 10
    passages = Counter((row["passage_id"], row["split"]) for row in mcq_items)
    assert Counter(n for (_, split), n in passages.items() if split == "test") == {5: 10}
    assert sorted(n for (_, split), n in passages.items() if split == "train") == [4, 5, 5]


def test_labels_are_in_the_set_and_scores_agree_with_them(answers):
    wrong = [row["item_id"] for row in answers if row["gold_score"] not in SCORES_OF_LABEL.get(row["gold_label"], ())]
    assert wrong == []
    assert {row["max_score"] for row in read("questions")} == {"3"}


def test_every_question_shows_all_labels_in_both_splits(answers):
    seen: dict[tuple[str, str], set[str]] = {}
    for row in answers:
        seen.setdefault((row["testlet_id"], row["split"]), set()).add(row["gold_label"])
    assert [key for key, labels in seen.items() if labels != set(SCORES_OF_LABEL)] == []


def test_test_part_tells_unseen_questions_from_unseen_answers(answers):
    for row in answers:
        unseen = row["testlet_id"] in UNSEEN_QUESTIONS
        expected = {"train": "", "test": "unseen_questions" if unseen else "unseen_answers"}
        assert row["test_part"] == expected[row["split"]], row["item_id"]
    assert not UNSEEN_QUESTIONS & {row["testlet_id"] for row in answers if row["split"] == "train"}


def test_every_question_has_a_best_a_good_and_a_minimal_reference():
    qualities: dict[str, list[str]] = {row["testlet_id"]: [] for row in read("questions")}
    for row in read("reference_answers"):
        qualities[row["testlet_id"]].append(row["quality"])
    assert {tuple(sorted(found)) for found in qualities.values()} == {("BEST", "GOOD", "MINIMAL")}


def test_every_rubric_speaks_of_each_score():
    assert [
        row["testlet_id"] for row in read("questions") if not all(f"{score}: " in row["rubric"] for score in range(4))
    ] == []


def test_answers_to_one_question_differ_unless_noted(answers):
    texts = [(row["testlet_id"], folded(row["answer_text"])) for row in answers if row["note"] != "repeated_answer"]
    assert [text for text, n in Counter(texts).items() if n > 1] == []


def test_the_repeated_answer_repeats_a_train_answer(answers):
    train = {(row["testlet_id"], row["answer_text"]) for row in answers if row["split"] == "train"}
    repeated = [(row["testlet_id"], row["answer_text"]) for row in answers if row["note"] == "repeated_answer"]
    assert repeated
    assert set(repeated) <= train


def test_blank_answers_exist_in_both_splits_and_are_non_domain(answers):
    blank = [row for row in answers if not row["answer_text"].strip()]
    assert {row["split"] for row in blank} == {"train", "test"}
    assert {(row["gold_label"], row["note"]) for row in blank} == {("non_domain", "blank")}
    assert [row["item_id"] for row in answers if row["note"] == "blank" and row["answer_text"]] == []


def test_every_kind_of_answer_is_present_and_no_other(answers):
    assert {row["note"] for row in answers if row["split"] == "test"} == TEST_NOTES
    assert {row["note"] for row in answers if row["split"] == "train"} <= TEST_NOTES


def test_notes_of_length_and_script_hold(answers):
    for row in answers:
        n_words = len(row["answer_text"].split())
        if row["note"] == "very_short":
            assert n_words <= 12, row["item_id"]
        if row["note"] == "very_long":
            assert n_words >= 80, row["item_id"]
        if row["note"] == "unicode":
            assert not row["answer_text"].isascii(), row["item_id"]
    assert any("\n" in row["answer_text"] and '"' in row["answer_text"] for row in answers)


def test_passages_have_their_length_and_stratum():
    passages = read("passages")
    assert [row["passage_id"] for row in passages if not 90 <= len(row["passage_text"].split()) <= 160] == []
    assert {row["stratum"] for row in passages} == {"B1", "B2", "C1"}


def test_items_point_at_passages_that_belong_to_one_split(mcq_items):
    splits: dict[str, set[str]] = {row["passage_id"]: set() for row in read("passages")}
    for row in mcq_items:
        splits[row["passage_id"]].add(row["split"])
    assert Counter(next(iter(found)) for found in splits.values() if len(found) == 1) == {"test": 10, "train": 3}


def test_options_of_an_item_differ_and_its_key_is_one_of_them(mcq_items):
    for row in mcq_items:
        assert len({folded(row[column]) for column in OPTION_COLUMNS}) == 4, row["item_id"]
        assert row["answer_key"] in {"A", "B", "C", "D"}, row["item_id"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_keys_are_balanced_over_the_options(mcq_items, split):
    keys = Counter(row["answer_key"] for row in mcq_items if row["split"] == split)
    assert max(keys.values()) - min(keys[key] for key in "ABCD") <= 1


def test_the_length_of_an_option_does_not_give_the_key_away(mcq_items):
    test_items = [row for row in mcq_items if row["split"] == "test"]
    for extreme in (min, max):
        hits = sum(
            extreme(OPTION_COLUMNS, key=lambda column, row=row: len(row[column])).endswith(row["answer_key"].lower())
            for row in test_items
        )
        # chance is 12.5 of 50 with a standard deviation of 3.1; beyond two of them the length would be a cue
        assert 6 <= hits <= 19
