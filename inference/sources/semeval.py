"""The XML of SemEval-2013 Task 7, read from its zip into text tables.

Turns the archive into the same columns that the CSV form has, so that one description fits both. Holds nothing about
item banks.
"""

import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from inference.sources.tables import SourceError, TextTable

ANSWER_COLUMNS = (
    "dataset", "split", "module", "question_id", "answer_id", "label_2way", "label_3way", "count", "answer_match",
    "student_answer",
)  # fmt: skip
REFERENCE_COLUMNS = (
    "dataset", "module", "question_id", "question_text", "qtype", "stype", "ref_id", "ref_category", "reference_answer",
)  # fmt: skip


def read_answers(path: Path) -> TextTable:
    """Read every student answer with its 2-way and 3-way label; one row per answer.

    Raises
    ------
    SourceError
        The archive is missing or unreadable, or an answer has a label in one scheme only.
    """
    labels: dict[str, dict[str, str]] = {"2way": {}, "3way": {}}
    rows: dict[str, tuple[str, ...]] = {}
    for way, corpus, split, question in _questions(path):
        for answer in question.iterfind("studentAnswers/studentAnswer"):
            answer_id = answer.get("id", "")
            labels[way][answer_id] = answer.get("accuracy", "")
            rows[answer_id] = (
                corpus, split, question.get("module", ""), question.get("id", ""), answer_id,
                answer.get("count", ""), answer.get("answerMatch", ""), _text(answer),
            )  # fmt: skip
    one_sided = labels["2way"].keys() ^ labels["3way"].keys()
    if one_sided:
        raise SourceError(f"{path}: answer {min(one_sided)!r} has a label in one scheme only; take the whole archive")
    complete = tuple((*row[:5], labels["2way"][row[4]], labels["3way"][row[4]], *row[5:]) for row in rows.values())
    return TextTable(path, ANSWER_COLUMNS, complete, tuple(range(1, len(complete) + 1)), "utf-8")


def read_references(path: Path) -> TextTable:
    """Read every reference answer with its question; one row per question and reference."""
    rows: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for _, corpus, _, question in _questions(path):
        for reference in question.iterfind("referenceAnswers/referenceAnswer"):
            key = (corpus, question.get("id", ""), reference.get("id", ""))
            rows[key] = (
                corpus, question.get("module", ""), key[1], _text(question.find("questionText")),
                question.get("qtype", ""), question.get("stype", ""), key[2], reference.get("category", ""),
                _text(reference),
            )  # fmt: skip
    return TextTable(path, REFERENCE_COLUMNS, tuple(rows.values()), tuple(range(1, len(rows) + 1)), "utf-8")


def _questions(path: Path) -> Iterator[tuple[str, str, str, ElementTree.Element]]:
    """Yield (2way or 3way, corpus, split, question) for each file of the archive, in name order."""
    if not path.is_file():
        raise SourceError(f"{path}: no such file; correct the name, or put the file there")
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                part = PurePosixPath(name)
                if part.suffix != ".xml":
                    continue
                _, way, corpus = part.parts[:3]
                split = part.parts[3].removeprefix("test-") if part.parts[0] == "test" else "train"
                yield way, corpus, split, ElementTree.fromstring(archive.read(name))
    except (zipfile.BadZipFile, ElementTree.ParseError) as problem:
        raise SourceError(f"{path}: not a readable SemEval archive ({problem}); fetch it again") from problem


def _text(element: ElementTree.Element | None) -> str:
    return "" if element is None else "".join(element.itertext()).strip()
