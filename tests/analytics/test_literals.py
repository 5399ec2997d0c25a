"""The option check names the option, the value and what is allowed."""

import pytest

from analytics.literals import MissingPolicy, check_option


def test_allowed_values_pass_and_others_are_named() -> None:
    check_option("missing", "omit", MissingPolicy)
    with pytest.raises(ValueError, match=r"unknown missing 'zero'; expected one of \('omit', 'incorrect'\)"):
        check_option("missing", "zero", MissingPolicy)
    with pytest.raises(ValueError, match="unknown missing None"):
        check_option("missing", None, MissingPolicy)
