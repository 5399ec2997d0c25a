"""Which method a local rater is: the settings of its registry entry, read and checked.

Learns nothing and answers nothing (:mod:`inference.baselines.graders`, :mod:`inference.baselines.readers`).
"""

from collections.abc import Mapping
from typing import Any

from inference.baselines.graders import GraderSettings
from inference.baselines.readers import ReaderSettings
from inference.rows import Task

_SHAPES: tuple[tuple[str, type, str], ...] = (
    ("measures", list, "a list of names"),
    ("weights", dict, "names of measures, each with a number"),
)
"""Setting -> how it is written in YAML."""


def read_method(task: Task, settings: Mapping[str, Any]) -> GraderSettings | ReaderSettings:
    """Return the settings of a local rater: of a grader where it grades, else of a reader.

    Raises
    ------
    ValueError
        A key or value is not allowed, or one is missing; the message names those that are.
    """
    for key, shape, expected in _SHAPES:
        if not isinstance(settings.get(key, shape()), shape):
            raise ValueError(f"{key} is {settings[key]!r}; expected {expected}")
    return GraderSettings.of(settings) if task == "grade" else ReaderSettings.of(settings)
