"""Writes the lm-evaluation-harness logs that the tests read, by running it with a scripted model.

Run it with a Python that has lm-eval: ``python make_lm_eval_logs.py FOLDER``. The stored logs were made with 0.4.13.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

DOCUMENTS = [
    {"answer_id": "007", "answer": "a", "gold": "correct", "key": 0},
    {"answer_id": "7", "answer": "b", "gold": "incorrect", "key": 1},
    {"answer_id": "a|b/c", "answer": "c", "gold": "correct", "key": 2},
]
GENERATED = {"a": "Label: correct", "b": "", "c": "line one\u2028line two – é"}
LIKELIEST = {"a": "B", "b": "D", "c": "A"}
TASKS = {
    "grade_demo": """
output_type: generate_until
doc_to_text: "Grade: {{answer}}"
doc_to_target: "{{gold}}"
generation_kwargs: {until: ["###"], max_gen_toks: 8, temperature: 0.7}
repeats: 2
metric_list: [{metric: exact_match}]
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "Label: (.+)"}, {function: take_first}]}
  - {name: loose, filter: [{function: regex, regex_pattern: "(.+)"}, {function: take_first}]}
""",
    "mcq_demo": """
output_type: multiple_choice
doc_to_text: "Question: {{answer}}\\nAnswer:"
doc_to_choice: [A, B, C, D]
doc_to_target: key
num_fewshot: 2
fewshot_split: test
metric_list: [{metric: acc}, {metric: acc_mutual_info}]
""",
}


@register_model("scripted")
class Scripted(LM):
    @classmethod
    def create_from_arg_obj(cls, *_args, **_kwargs):
        return cls()

    def generate_until(self, requests, **_kwargs):
        return [GENERATED[request.args[0].rsplit(" ", 1)[1]] for request in requests]

    def loglikelihood(self, requests, **_kwargs):
        return [self._scored(*request.args) for request in requests]

    def loglikelihood_rolling(self, requests, **_kwargs):
        raise RuntimeError(f"{len(requests)} rolling log-likelihoods asked for; these logs have none")

    def _scored(self, prompt, continuation):
        if "Question" not in prompt:
            return -0.01, True  # without the question every option is likely; must not be taken for the answer
        asked = prompt.rsplit("Question: ", 1)[1][0]
        return (-0.5 if continuation.strip() == LIKELIEST[asked] else -2.5), False


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "documents.jsonl"
        data.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
        for task, text in TASKS.items():
            source = f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}}}}}\ntest_split: test\n"
            (folder / f"{task}.yaml").write_text(f"task: {task}\n{source}{text}")
        sys.argv = [
            "lm_eval", "--model", "scripted", "--model_args", "pretrained=org/scripted", "--tasks", ",".join(TASKS),
            "--include_path", str(folder), "--output_path", sys.argv[1], "--log_samples",
        ]  # fmt: skip
        cli_evaluate()
    for file in Path(sys.argv[sys.argv.index("--output_path") + 1]).rglob("results_*.json"):
        results = json.loads(file.read_text())
        for key in ("pretty_env_info", "git_hash"):  # facts of the machine that ran it
            del results[key]
        for config in results["configs"].values():
            del config["dataset_kwargs"]
            del config["metadata"]
        file.write_text(json.dumps(results, indent=1))
