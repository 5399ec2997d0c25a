"""Writes the inspect_ai logs that the tests read, by running inspect_ai with its mock model.

Run it with a Python that has inspect_ai: ``python make_inspect_logs.py FOLDER``. The stored logs are of 0.3.285.
"""

import sys
from pathlib import Path

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import match
from inspect_ai.solver import generate, system_message

MODEL = "mockllm/model"
LONG = "I have to think about this at length. " * 8 + "Label: correct"


def output(text, stop_reason="stop"):
    made = ModelOutput.from_content(MODEL, text, stop_reason=stop_reason)
    made.usage = ModelUsage(
        input_tokens=9, output_tokens=3, total_tokens=12
    )  # else the mock counts with a downloaded vocabulary
    return made


def reasoned(reasoning, text):
    made = output(text)
    content = [ContentReasoning(reasoning=reasoning), ContentText(text=text)]
    made.choices[0].message = ChatMessageAssistant(content=content, source="generate")
    return made


def first_epoch():
    return [
        output("Label: correct"),
        output("Label: incor", "max_tokens"),
        output(""),
        reasoned("Is it incorrect?", "Label: contradictory – é"),
        output(LONG),
    ]


@task
def grading(persona="strict"):
    samples = [
        Sample(id="007", input="Grade: a", target="correct", metadata={"answer_id": "x.1"}),
        Sample(id="7", input="Grade: b", target="incorrect", metadata={"answer_id": "x.2"}),
        Sample(id="a|b/c", input="Grade: c", target="correct", metadata={"answer_id": "x.3"}),
        Sample(id=12, input="Grade: d", target="correct", metadata={"answer_id": "x.4"}),
        Sample(id="long", input="Grade: e", target="correct", metadata={"answer_id": "x.5"}),
    ]
    solver = [system_message(f"You are {persona}."), generate()]
    return Task(dataset=MemoryDataset(samples), solver=solver, scorer=match(location="any"))


def run(folder, log_format, epochs):
    model = get_model(
        MODEL,
        memoize=False,
        custom_outputs=first_epoch() + [output("Label: incorrect")] * 5 * (epochs - 1),
        config=GenerateConfig(temperature=0.5),
    )
    (log,) = eval(
        grading(persona="kind"), model=model, epochs=epochs, max_samples=1, log_dir=str(folder), log_format=log_format,
        display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    Path(log.location).rename(folder / f"inspect.{log_format}")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    run(target, "eval", epochs=2)
    run(target, "json", epochs=1)
