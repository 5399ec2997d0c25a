"""Option values shared by the statistics, and the one check that refuses any other value.

Holds the ``Literal`` aliases that several modules use. An option that one module alone knows lives in that module.
"""

from typing import Any, Literal, get_args

MissingPolicy = Literal["omit", "incorrect"]
"""What a missing cell is: left out of the statistic, or a wrong answer."""

IntervalMethod = Literal["percentile", "basic", "normal"]
"""How an interval is read off bootstrap draws."""


def check_option(name: str, value: object, literal: Any) -> None:
    """Refuse an option value that its ``Literal`` does not list.

    Parameters
    ----------
    name
        Name of the option as the caller wrote it.
    value
        The value given.
    literal
        The ``Literal`` alias that lists what is allowed.

    Raises
    ------
    ValueError
        If `value` is not one of the allowed values; the message lists them.
    """
    allowed = get_args(literal)
    if value not in allowed:
        raise ValueError(f"unknown {name} {value!r}; expected one of {allowed}")
