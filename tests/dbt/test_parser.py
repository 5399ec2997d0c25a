"""The parser of answers: a table of responses with their right answers, and what holds for any response."""

import csv
import hashlib
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

CASES = Path(__file__).with_name("parse_cases.csv")
FIVE = {
    "correct": ["correct"],
    "contradictory": ["contradictory"],
    "partially_correct_incomplete": ["partially correct incomplete", "partially correct", "incomplete"],
    "irrelevant": ["irrelevant"],
    "non_domain": ["non domain", "nondomain"],
}
SCHEMES = {
    "five": {"kind": "label", "labels": FIVE, "others": ["incorrect", "contradiction"]},
    "three": {
        "kind": "label",
        "labels": {name: [] for name in ("contradictory", "correct", "incorrect")},
        "others": [*FIVE["partially_correct_incomplete"], "irrelevant", "non domain", "nondomain"],
    },
    "abcd": {"kind": "choice", "options": "ABCD"},
    "abcde": {"kind": "choice", "options": "ABCDE"},
    "s3": {"kind": "score", "scale": (0, 3)},
    "s10": {"kind": "score", "scale": (0, 10)},
    "s60": {"kind": "score", "scale": (0, 60)},
    "band": {"kind": "score", "scale": (1, 9)},
    "disc": {"kind": "discrimination", "scale": (-1, 1)},
    "diff": {"kind": "difficulty"},
}
STATUSES = {"ok", "invalid", "refused", "truncated", "empty"}
PER_CALL = 60
"""Texts parsed in one query, so that many are tried in little time."""
# no shrinking: each example is a query over many texts, and the failing text is in the message
few = settings(max_examples=8, deadline=None, derandomize=True, phases=(Phase.generate,))
TALK = [
    "the", "student", "names", "3", "poles", "but", "a", "bulb", "I", "saw", "is", "not", "lit", "and", "of", "don't",
    "vitamin C", "20 °C", "H2O",
]  # fmt: skip


def read_cases():
    """Return the cases by scheme; a text with a backslash is written as a Python string is."""
    found = defaultdict(list)
    with CASES.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if "\\" in row["text"]:
                row["text"] = row["text"].encode("ascii").decode("unicode_escape")
            found[row["scheme"]].append(row)
    return found


def shown(row, kind):
    answer = row["answer"]
    return f"{float(answer):g}" if answer and kind not in ("choice", "label") else answer


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_every_case_in_the_table_is_read_right(parse, scheme):
    cases = read_cases()[scheme]
    reasons = [case["finish_reason"] for case in cases]
    rows = parse(texts=[case["text"] for case in cases], finish_reasons=reasons, **SCHEMES[scheme])
    kind = SCHEMES[scheme]["kind"]
    wrong = [
        (case["text"], case["status"], case["answer"], row["status"], shown(row, kind), row["status_reason"])
        for case, row in zip(cases, rows, strict=True)
        if (row["status"], shown(row, kind) or "") != (case["status"], case["answer"])
    ]
    assert wrong == []


def test_the_table_covers_every_kind_and_status():
    cases = [case for of_scheme in read_cases().values() for case in of_scheme]
    assert len(cases) >= 200
    for kind in ("label", "choice", "score", "discrimination", "difficulty"):
        of_kind = {case["status"] for case in cases if SCHEMES[case["scheme"]]["kind"] == kind}
        assert of_kind >= {"ok", "invalid", "refused", "empty"}, kind
    assert {case["status"] for case in cases} == STATUSES


def test_rendered_without_dbt_it_is_the_parser_that_dbt_runs(parse, built):
    assert built.query("select distinct parser_version from core.parsed_answers") == [(parse.version,)]


def test_the_query_of_the_command_is_the_one_that_dbt_compiles(parse, built):
    built.dbt("compile", "--quiet", "--select", "path:analyses/parse_given.sql")
    compiled = built.folder / "target" / "compiled" / "thetahouse" / "analyses" / "parse_given.sql"
    query = compiled.read_text().partition("\nwith ")[2]
    assert ("with " + query).split() == parse.sql.split()


def test_the_version_follows_the_sql(parse):
    (row,) = parse("choice", ["B"])
    assert row["parser_version"] == parse.version
    assert parse.version in parse.sql
    assert hashlib.md5(parse.sql.encode()).hexdigest()[:12] != parse.version


wrappers = st.sampled_from(
    ["{}", "**{}**", "({})", "[{}]", '"{}"', "`{}`", "${}$", "{}.", "  {}\n", "\\boxed{{{}}}", "<answer>{}</answer>"]
)
scripts = st.sampled_from([0x30, 0xFF10, 0x0660, 0x06F0, 0x0966, 0x1D7CE])
reasoning = st.sampled_from(
    ["", "<think>{}</think>", "<thinking>\n{}\n</thinking>\n", "{}</think>\n", "[THINK]{}[/THINK]"]
)
talk = st.sampled_from(["", "The text names the river.\n\n", "Let us look closely.\n", "Well, this took a while.\n\n"])
after = st.sampled_from(["", "\n\nThe text says so.", "\nThat is all."])


def dressed(answers, leads):
    """Texts that state an answer in many ways, each with the answer; reasoning states every answer but this one."""
    pieces = st.tuples(st.sampled_from(answers), reasoning, talk, st.sampled_from(leads), wrappers, after)

    def build(parts):
        (said, answer), thought, before, lead, wrapper, rest = parts
        others = " or ".join(other for other, meant in answers if meant != answer)
        return thought.format(others) + before + lead + wrapper.format(said) + rest, answer

    return st.lists(pieces.map(build), min_size=PER_CALL, max_size=PER_CALL)


def spelled(label):
    words = label.split("_")
    return [
        (joint.join(map(case, words)), label) for joint in ("_", " ", "-") for case in (str, str.upper, str.capitalize)
    ]


def answers_of(parse, scheme, examples):
    return [row["answer"] for row in parse(texts=[text for text, _ in examples], **SCHEMES[scheme])]


@few
@given(dressed([pair for label in FIVE for pair in spelled(label)], ["", "Label: ", "Final label: ", "Category: "]))
def test_a_label_survives_spelling_decoration_and_reasoning(parse, examples):
    assert answers_of(parse, "five", examples) == [label for _, label in examples]


@few
@given(dressed([(c, c) for c in "ABCD"], ["", "Answer: ", "The answer is ", "Antwort: ", "答案：", "Answer - "]))
def test_a_choice_survives_language_decoration_and_reasoning(parse, examples):
    assert answers_of(parse, "abcd", examples) == [letter for _, letter in examples]


@few
@given(st.lists(st.tuples(st.integers(-20, 40), scripts, wrappers, st.sampled_from(["", "Score: ", "Grade = "])),
                min_size=PER_CALL, max_size=PER_CALL))  # fmt: skip
def test_a_score_in_any_digits_is_itself_or_invalid_and_never_clamped(parse, examples):
    texts = []
    for value, zero, wrapper, lead in examples:
        digits = "".join(chr(zero + int(digit)) for digit in str(abs(value)))
        texts.append(lead + wrapper.format("-" * (value < 0) + digits))
    for (value, *_), row in zip(examples, parse(texts=texts, **SCHEMES["s10"]), strict=True):
        expected = ("ok", value) if 0 <= value <= 10 else ("invalid", None)
        assert (row["status"], row["answer"] and float(row["answer"])) == expected


@few
@given(st.lists(st.text(max_size=80), min_size=PER_CALL, max_size=PER_CALL), st.sampled_from(sorted(SCHEMES)))
def test_any_text_has_one_status_and_an_answer_inside_the_scheme_or_none(parse, texts, scheme):
    texts = [text.replace("\x00", "") for text in texts]
    for row in parse(texts=texts, **SCHEMES[scheme]):
        assert row["status"] in STATUSES
        assert (row["answer"] is not None) == (row["status"] == "ok") == (row["parser_rule"] is not None)
        assert (row["status_reason"] is not None) == (row["status"] in ("invalid", "truncated"))
        if row["status"] == "ok":
            allowed = SCHEMES[scheme].get("labels") or SCHEMES[scheme].get("options")
            low, high = SCHEMES[scheme].get("scale", (0, 0))
            assert row["answer"] in allowed if allowed else low <= float(row["answer"]) <= high


@few
@given(st.lists(st.lists(st.sampled_from(TALK),
                         max_size=12), min_size=PER_CALL, max_size=PER_CALL))  # fmt: skip
def test_talk_that_states_nothing_is_never_an_answer(parse, sentences):
    texts = ["The text " + " ".join(words) + " here" for words in sentences]
    for scheme in ("five", "abcd", "s10"):
        assert {row["status"] for row in parse(texts=texts, **SCHEMES[scheme])} == {"invalid"}


REPORTED = {
    "r1_a_letter_survives_decoration_repetition_and_talk": (
        "abcd",
        {
            "ANSWER: **B**": "B",
            "Answer: $C$": "C",
            "(D)": "D",
            "b.": "B",
            "Antwort: Antwort: C": "C",
            "Answer seems to be A.\nAnswer: B": "B",
            "The answer is B. Note that A is a common distractor.": "B",
            "I would pick B, a safe choice.": "B",
            "C. 12 metres": "C",
            "First I thought ANSWER: A\n…\nANSWER: D": "D",
        },
    ),
    "r2_reasoning_is_not_the_answer": (
        "three",
        {"<think>Could be A or C; label correct?</think>\nincorrect": "incorrect", "<think>correct": "truncated"},
    ),
    "r2_reasoning_about_letters_is_not_the_answer": ("abcd", {"<think>A looks right. Answer: A</think>Answer: C": "C"}),
    "r3_cut_off_is_a_status": ("five", {"": "truncated", "The student says the": "truncated"}),
    "r4_no_answer_becomes_no_letter": (
        "abcd",
        {"I cannot determine the answer.": "refused", "Error: rate limited": "invalid"},
    ),
    "r4_no_grade_becomes_no_score": ("s10", {"I'm sorry, I can't grade this.": "refused"}),
    "r4_no_grade_becomes_no_label": ("three", {"I'm sorry, I can't grade this.": "refused"}),
    "r5_labels_are_whole_tokens_of_the_set": (
        "five",
        {
            "incorrect": "invalid",
            "not correct": "invalid",
            "Label: partially correct (incomplete)": "partially_correct_incomplete",
            "partially_corect_incomplete": "invalid",
            "correct? No: contradictory.": "contradictory",
            "Non-Domain": "non_domain",
            "correct or incorrect": "invalid",
        },
    ),
    "r6_scores_are_the_labelled_whole_number_in_range": (
        "s10",
        {
            "7/10": "7",
            "I rate this an 8 out of 10.": "8",
            "There are 5 reasons for a score of 9": "9",
            "the score is [[7]]. so 7/10": "7",
            "Score: 3.5": "3.5",
            "Score: -1": "invalid",
            "between 6 and 7": "invalid",
        },
    ),
}


@pytest.mark.parametrize("case", sorted(REPORTED))
def test_reported_fault(parse, case):
    scheme, expected = REPORTED[case]
    reasons = ["length" if meant == "truncated" else "stop" for meant in expected.values()]
    rows = parse(texts=list(expected), finish_reasons=reasons, **SCHEMES[scheme])
    found = [shown(row, SCHEMES[scheme]["kind"]) or row["status"] for row in rows]
    assert dict(zip(expected, found, strict=True)) == expected
    assert {row["parser_version"] for row in rows} == {parse.version}
