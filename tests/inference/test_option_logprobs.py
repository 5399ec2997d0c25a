"""The distribution over choices, read off token by token."""

import math

import pytest

from inference.engines.option_logprobs import option_logprobs


def _logs(**shares: float) -> dict[str, float]:
    return {token: math.log(share) for token, share in shares.items()}


def test_letters_are_told_by_their_first_token():
    found = option_logprobs(["A", "B"], [_logs(A=0.25, B=0.75)], ["B"])
    assert found == pytest.approx({"A": math.log(0.25), "B": math.log(0.75)})


def test_a_shared_beginning_that_was_written_is_followed():
    # P(incorrect) = P(correct as one token is no start of it) ...: 0.6 "in" then 0.5 each; "c" belongs to correct alone
    steps = [_logs(c=0.1, correct=0.3, **{"in": 0.6}), _logs(correct=0.5, complete=0.5)]
    found = option_logprobs(["correct", "incorrect", "incomplete"], steps, ["in", "correct"])
    assert found == pytest.approx({"correct": math.log(0.4), "incorrect": math.log(0.3), "incomplete": math.log(0.3)})


def test_a_shared_beginning_that_was_not_written_leaves_the_distribution_unknown():
    steps = [_logs(correct=0.4, **{"in": 0.6})]
    assert option_logprobs(["correct", "incorrect", "incomplete"], steps, ["correct"]) is None


def test_a_shared_beginning_of_no_weight_does_not_matter():
    steps = [_logs(correct=0.9995, **{"in": 0.0005})]
    found = option_logprobs(["correct", "incorrect", "incomplete"], steps, ["correct"])
    assert found == {"correct": math.log(0.9995)}


def test_an_option_that_begins_another_is_told_by_the_end():
    # "1" then the end (0.7) or "0" (0.3): scores 1 and 10; 2 has the rest
    end = ""
    steps = [{"1": math.log(0.8), "2": math.log(0.2)}, {end: math.log(0.7), "0": math.log(0.3)}]
    found = option_logprobs(["1", "2", "10"], steps, ["1", end])
    assert found == pytest.approx({"1": math.log(0.56), "10": math.log(0.24), "2": math.log(0.2)})


def test_tokens_that_fit_no_option_are_not_given_to_one():
    assert option_logprobs(["A", "B"], [_logs(A=0.5, B=0.4, Z=0.1)], ["A"]) is None


def test_nothing_written_tells_nothing():
    assert option_logprobs(["A", "B"], [], []) is None
