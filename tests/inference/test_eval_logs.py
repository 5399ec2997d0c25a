"""Logs of inspect_ai and lm-evaluation-harness become recorded responses, verbatim and under the right ids.

The logs in ``eval_logs/`` were written by those programs; the scripts beside them made them. Where
``THETAHOUSE_INSPECT_PYTHON`` names a Python that has inspect_ai, a test runs it and reads what it writes today.
"""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from inference.engines.base import RenderedRequest
from inference.engines.recorded import RecordedEngine
from inference.planning import plan_requests
from inference.raters import rater_rows, resolve_raters
from inference.sources import SourceError
from inference.sources.eval_logs import COLUMNS, EvalLog, LogFields, facts_of, read_eval_log, write_long
from inference.sources.predictions import LongColumns, describe_predictions
from inference.sources.recorded import read_recorded

LOGS = Path(__file__).parent / "eval_logs"
OWN = LogFields()
LONG = "I have to think about this at length. " * 8 + "Label: correct"
INSPECT_RESPONSES = {
    "007": ("Label: correct", "stop"),
    "7": ("Label: incor", "length"),
    "a|b/c": ("", "stop"),
    "12": ("Label: contradictory – é", "stop"),  # the reasoning beside it is no part of the response
    "long": (LONG, "stop"),
}


def lm_eval_log(task: str) -> Path:
    (found,) = LOGS.glob(f"samples_{task}_*.jsonl")
    return found


def responses(path: Path, fields: LogFields = OWN) -> dict[str, tuple[str, str]]:
    return {r.item_id: (r.text, r.finish_reason) for r in read_eval_log(path, fields).responses}


def check_inspect_logs(folder: Path) -> None:
    for name, n_repeated in (("inspect.eval", 5), ("inspect.json", 0)):
        log = read_eval_log(folder / name)
        assert (log.program, log.model, log.condition) == ("inspect_ai", "mockllm/model", "grading(persona=kind)")
        assert dict(log.facts) == {"strategy": "grading", "temperature": 0.5}
        assert (log.n_failed, log.n_repeated) == (0, n_repeated)
        assert responses(folder / name) == INSPECT_RESPONSES


def test_inspect_logs_are_read_from_both_formats() -> None:
    with zipfile.ZipFile(LOGS / "inspect.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}  # zstandard
    check_inspect_logs(LOGS)


def test_what_inspect_writes_today_is_read(tmp_path: Path) -> None:
    python = os.environ.get("THETAHOUSE_INSPECT_PYTHON")
    if python is None:
        pytest.skip("THETAHOUSE_INSPECT_PYTHON names no Python that has inspect_ai; the stored logs are read instead")
    subprocess.run([python, str(LOGS / "make_inspect_logs.py"), str(tmp_path)], check=True, cwd=tmp_path)
    check_inspect_logs(tmp_path)


def test_an_archive_packed_with_deflate_is_read_too(tmp_path: Path) -> None:
    document = json.loads((LOGS / "inspect.json").read_text())
    samples = document.pop("samples")
    with zipfile.ZipFile(tmp_path / "old.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(document))  # a killed run leaves no header
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert responses(tmp_path / "old.eval") == INSPECT_RESPONSES


def test_a_field_of_the_sample_can_be_the_item_id() -> None:
    fields = LogFields(item_id="metadata.answer_id", model="m", condition="c")
    assert set(responses(LOGS / "inspect.json", fields)) == {"x.1", "x.2", "x.3", "x.4", "x.5"}
    assert read_eval_log(LOGS / "inspect.json", fields).rater == "m|c"
    with pytest.raises(SourceError, match=r"no field 'metadata.id' with the item id; at 'id' there are 'answer_id'"):
        read_eval_log(LOGS / "inspect.json", LogFields(item_id="metadata.id"))


def changed_log(tmp_path: Path, **changes: object) -> Path:
    """Write the stored log with the first sample changed."""
    document = json.loads((LOGS / "inspect.json").read_text())
    document["samples"][0] |= changes
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


def test_a_failed_sample_has_no_response_and_is_counted(tmp_path: Path) -> None:
    for change in ({"error": {"message": "ConnectionError", "traceback": ""}}, {"output": {"choices": []}}):
        log = read_eval_log(changed_log(tmp_path, **change))
        assert (len(log.responses), log.n_failed) == (4, 1)


def test_two_responses_to_one_item_stop_the_import(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="item '7' has two responses"):
        read_eval_log(changed_log(tmp_path, id="7"))
    with pytest.raises(SourceError, match=r"the item id 'id' is 1\.5; expected a text or a whole number"):
        read_eval_log(changed_log(tmp_path, id=1.5))


def test_what_lm_eval_generated_is_taken_before_any_filter() -> None:
    log = read_eval_log(lm_eval_log("grade_demo"), LogFields(item_id="doc.answer_id"))
    assert (log.program, log.model, log.condition) == ("lm_eval", "org/scripted", "grade_demo")
    assert dict(log.facts) == {"strategy": "grade_demo", "n_shots": 0, "temperature": 0.7}
    assert log.n_repeated == 3  # asked twice each; two filters are no repeats
    assert {r.item_id: r.text for r in log.responses} == {
        "007": "Label: correct",
        "7": "",
        "a|b/c": "line one\u2028line two – é",
    }


def test_where_lm_eval_compared_options_the_likeliest_is_the_response() -> None:
    log = read_eval_log(lm_eval_log("mcq_demo"))
    assert log.condition == "mcq_demo(shots=2)"
    assert log.facts["n_shots"] == 2
    assert [(r.item_id, r.text) for r in log.responses] == [("0", "B"), ("1", "D"), ("2", "A")]


@pytest.mark.parametrize("task", ["grade_demo", "mcq_demo"])
def test_arguments_written_as_a_list_are_read_as_those_of_a_mapping(tmp_path: Path, task: str) -> None:
    stored = lm_eval_log(task)
    records = [json.loads(line) for line in stored.read_text().split("\n") if line]
    for record in records:
        record["arguments"] = [list(arguments.values()) for arguments in record["arguments"].values()]
    listed = tmp_path / stored.name
    listed.write_text("\n".join(map(json.dumps, records)) + "\n")
    fields = LogFields(model="m")
    assert read_eval_log(listed, fields).responses == read_eval_log(stored, fields).responses


def test_a_log_without_its_results_file_needs_a_model(tmp_path: Path) -> None:
    alone = tmp_path / lm_eval_log("grade_demo").name
    alone.write_bytes(lm_eval_log("grade_demo").read_bytes())
    with pytest.raises(SourceError, match="name it with --model"):
        read_eval_log(alone)
    assert read_eval_log(alone, LogFields(model="m")).rater == "m|grade_demo"


INSPECT = '{"version": 2, "eval": {"model": "m", "task": "t"}, "samples": [%s]}'
LM_EVAL = '{"doc_id": 7, "arguments": %s, "resps": %s}'


def fault_of(path: Path) -> str:
    """Return what reading a log complains of; nothing where it is read."""
    try:
        read_eval_log(path, LogFields(model="m"))
    except SourceError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("name", ["inspect.eval", "inspect.json", lm_eval_log("grade_demo").name])
def test_damage_anywhere_in_a_log_is_one_line_that_names_it(tmp_path: Path, name: str) -> None:
    content = (LOGS / name).read_bytes()
    path = tmp_path / name
    faults = []
    for place in range(0, len(content), len(content) // 200 or 1):
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        faults.append(fault_of(path))
    assert any(faults)
    assert [fault for fault in faults if fault and (str(path) not in fault or "\n" in fault)] == []
    assert max(map(len, faults)) < len(str(path)) + 400


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.eval", "no zip", "not a log of inspect_ai"),
        ("x.json", "{", "not a log of inspect_ai"),
        ("x.json", '{"results": {}}', "not a log of inspect_ai"),
        ("x.json", '{"version": 1, "eval": {"model": "m", "task": "t"}}', "log format 1; expected 2"),
        ("x.json", '{"version": 2, "eval": {"model": "m", "task": "t"}}', "no sample was answered"),
        ("x.json", '{"version": 2, "eval": {"model": "m|n", "task": "t"}}', "give it another name with --model"),
        ("x.json", "[1, 2]", "not a log of inspect_ai"),
        ("x.json", INSPECT % "3", "not a log of inspect_ai"),
        ("x.json", INSPECT % '{"id": "1", "output": {"choices": [{}]}}', "not a log of inspect_ai"),
        ("x.jsonl", '{"doc_id": 1, "resps', "line 1: not JSON"),
        ("x.jsonl", LM_EVAL % ("{}", '"Label: correct"'), "document 7: resps is 'Label: correct'; expected a list of"),
        ("x.jsonl", LM_EVAL % ("{}", '["Label: correct"]'), "expected a list of lists"),
        ("x.jsonl", LM_EVAL % ('["p", " A"]', '[[["-0.5", "False"]]]'), "document 7: responses of an unknown kind"),
        ("x.jsonl", LM_EVAL % ('"p"', '[[["-0.5", "False"]]]'), "document 7: responses of an unknown kind"),
        ("x.jsonl", LM_EVAL % ('{"gen_args_0": {"arg_0": "text"}}', '[["-1.5"]]'), "log-likelihood of the text itself"),
        ("x.jsonl", LM_EVAL % ('[["text"]]', '[["-1.5"]]'), "log-likelihood of the text itself"),
        ("x.jsonl", '{"id": 1}\n', "line 1: not a sample of lm-evaluation-harness"),
        ("x.jsonl", "\n", "the file is empty"),
        ("x.txt", "", "not a log; expected .eval or .json"),
    ],
)
def test_what_is_no_log_is_refused_with_its_name(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(SourceError, match=message) as caught:
        read_eval_log(path)
    assert str(path) in str(caught.value)
    with pytest.raises(SourceError, match="no such file"):
        read_eval_log(tmp_path / "gone.eval")


def register(folder: Path, load, log: EvalLog, name: str) -> None:
    """Write a log into the registry folder of the tests, as an import does."""
    table = folder / f"recorded/{name}.csv"
    write_long(log, table)
    registry, banks = load()
    described = describe_predictions(
        table, "tiny_labels", registry, banks, name=name, yaml_file=folder / f"recorded/{name}.yml",
        id_columns=COLUMNS[:1], long=LongColumns(*COLUMNS[1:]), blank="empty", facts=facts_of(log),
    )  # fmt: skip
    (folder / f"recorded/{name}.yml").write_text(described.entry)


@pytest.fixture
def items_of_the_logs(folder: Path, change) -> None:
    change("banks/answers.csv", "52779E469111", "a|b/c")
    with (folder / "banks/answers.csv").open("a") as answers:
        answers.writelines(f"{item},q1,test,Air,right,2,x\n" for item in ("12", "long"))


def test_the_recorded_reader_loads_what_is_written(folder, load, items_of_the_logs) -> None:
    inspect = read_eval_log(LOGS / "inspect.eval")
    lm_eval = read_eval_log(lm_eval_log("grade_demo"), LogFields(item_id="doc.answer_id", condition="a [b] | *"))
    register(folder, load, inspect, "inspect")
    register(folder, load, lm_eval, "harness")
    registry, banks = load()
    cells = {
        rater.rater_id: dict(rater.cells)
        for name in ("inspect", "harness")
        for rater in read_recorded(registry.recorded[name], registry)
    }
    assert cells == {
        "mockllm/model|grading(persona=kind)": {item: text for item, (text, _) in INSPECT_RESPONSES.items()},
        "org/scripted|a [b] %7C *": {r.item_id: r.text for r in lm_eval.responses},
    }
    rows = {row["rater_id"]: row for row in rater_rows(resolve_raters(registry)).iter_rows(named=True)}
    assert rows["mockllm/model|grading(persona=kind)"]["temperature"] == 0.5
    assert rows["org/scripted|a [b] %7C *"]["temperature"] == 0.7
    asked = plan_requests(registry, banks)
    assert asked.filter(asked["rater_id"] == "org/scripted|a [b] %7C *")["item_id"].to_list().count("a|b/c") == 1


def test_a_response_that_was_cut_off_stays_so_and_its_end_is_part_of_the_request(
    folder, load, items_of_the_logs
) -> None:
    register(folder, load, read_eval_log(LOGS / "inspect.eval"), "inspect")
    registry, _ = load()
    (recorded,) = read_recorded(registry.recorded["inspect"], registry)
    assert recorded.cut_off == {"7"}
    rater = resolve_raters(registry)[recorded.rater_id]
    requests = [RenderedRequest(item, rater, "tiny_labels", item, 0, 1, (), ()) for item in (*INSPECT_RESPONSES, "t1")]
    completions = {c.request_id: (c.text, c.finish_reason) for c in RecordedEngine().complete(requests)}
    assert completions == INSPECT_RESPONSES | {"t1": (None, "not_recorded")}

    def planned() -> set[str]:
        plan = plan_requests(*load())
        return set(plan.filter(plan["rater_id"] == recorded.rater_id)["request_id"])

    before, table = planned(), folder / "recorded/inspect.csv"
    table.write_text(table.read_text().replace('"length"', '"stop"'))
    assert len(before - planned()) == 1
