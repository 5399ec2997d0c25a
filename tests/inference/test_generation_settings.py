"""What may be written under settings and runtime of a generating model, and what a job is made of."""

import pytest

from inference.engines.jobs import plain_prompt, seed_of
from inference.registry import RegistryError, load_registry

MODEL = """
m:
  title: M
  family: m
  engine: vllm
  task: grade
  revision: "1"
  template: grade@1
  settings: {weights: w, chat_template: model, max_model_len: 100, dtype: float32, max_tokens: 5}
  runtime: {max_num_seqs: 4}
  conditions: {free: {temperature: 0}, held: {temperature: 0, settings: {structured_outputs: choice}}}
"""


def _load(tmp_path, old="", new=""):
    (tmp_path / "models").mkdir()
    assert old in MODEL
    (tmp_path / "models" / "m.yml").write_text(MODEL.replace(old, new))
    return load_registry([tmp_path], None)


def test_a_full_entry_is_read(tmp_path):
    assert set(_load(tmp_path).models["m"].conditions) == {"free", "held"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_tokens: 5", "max_token: 5", r"settings\.max_token: unknown key; allowed keys: .*max_tokens"),
        (", max_tokens: 5", "", r"settings\.max_tokens: this key is missing"),
        ("chat_template: model, ", "", r"settings\.chat_template: this key is missing"),
        ("chat_template: model", "chat_template: default", r"settings\.chat_template: .*found 'default'"),
        ("dtype: float32", "dtype: auto", r"settings\.dtype: .*'float32', 'bfloat16' or 'float16'"),
        ("max_num_seqs: 4", "max_seqs: 4", r"runtime\.max_seqs: unknown key; allowed keys: .*max_num_seqs"),
        ("free: {temperature: 0}", "free: {}", r"conditions\.free\.temperature: this key is missing"),
        ("settings: {structured", "settings: {dtype: float16, structured", r"dtype: a condition cannot set this"),
        ("outputs: choice", "outputs: choices", r"settings\.structured_outputs"),
        ("structured_outputs: choice", "option_logprobs: true", r"option_logprobs needs structured_outputs: choice"),
        ("engine: vllm", "engine: openai", r"runtime\.max_num_seqs: unknown key; allowed keys: .*base_url"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(tmp_path, old, new, said):
    with pytest.raises(RegistryError, match=said) as problem:
        _load(tmp_path, old, new)
    assert str(tmp_path / "models" / "m.yml") in str(problem.value)
    assert "\n" not in str(problem.value)


def test_seeds_depend_on_item_and_replicate_and_on_nothing_else():
    seeds = {seed_of(7, "d", item, replicate) for item in ("1", "2") for replicate in (0, 1)}
    assert len(seeds) == 4
    assert seed_of(7, "d", "1", 0) == seed_of(7, "d", "1", 0)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_plain_prompt_is_the_texts_and_nothing_else():
    messages = [{"role": "system", "content": "One."}, {"role": "user", "content": "Two?"}]
    assert plain_prompt(messages) == "One.\n\nTwo?"
