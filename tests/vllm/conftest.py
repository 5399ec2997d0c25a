"""A tiny random Llama with its own tokenizer and chat template, made in seconds and offline.

It answers nonsense, always the same nonsense for one seed: enough to hold an engine to its contract.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inference.engines import RenderedRequest
from inference.engines.vllm import VllmEngine
from inference.prompts import Message
from inference.raters import Rater, resolve_raters
from inference.registry import Registry, load_registry
from inference.sources import BankFrames, read_bank

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_CORPUS = (
    "The student answered that the lamp lights when the circuit is closed.",
    "correct contradictory incorrect irrelevant partially correct incomplete non domain",
    "Answer: A B C D 0 1 2 3 4 5 6 7 8 9 Label: Score:",
    "Which option best completes the sentence about the river and the mill?",
)


def make_tiny_llama(folder: Path, *, has_chat_template: bool = True, context_length: int = 256) -> Path:
    """Write the model into a folder and return it."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        _CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>")
    if has_chat_template:
        fast.chat_template = CHAT_TEMPLATE
    torch.manual_seed(20260401)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=context_length,
        eos_token_id=fast.eos_token_id,
        bos_token_id=None,
        pad_token_id=fast.pad_token_id,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).to(torch.float32)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


MODEL = """
tiny:
  title: A tiny random Llama
  family: tiny
  engine: vllm
  task: grade
  revision: "1"
  template: grade@1
  settings:
    weights: {weights}
    chat_template: {chat_template}
    max_model_len: 256
    dtype: float32
    max_tokens: 24
  runtime: {{kv_cache_gib: 0.25, max_num_seqs: 64, enforce_eager: true}}
  conditions:
    free: {{temperature: 0}}
    drawn: {{temperature: 1, settings: {{seed: 7}}}}
    held: {{temperature: 1, settings: {{structured_outputs: choice, option_logprobs: true}}}}
    digits: {{temperature: 0, settings: {{structured_outputs: {{regex: "[0-9]{{3}}"}}}}}}
    object:
      temperature: 0
      settings:
        max_tokens: 120
        structured_outputs:
          json_schema:
            type: object
            properties: {{label: {{type: string, enum: [right, wrong]}}, sure: {{type: boolean}}}}
            required: [label, sure]
            additionalProperties: false
    short: {{temperature: 0, settings: {{max_tokens: 3}}}}
"""
BANK = """
tiny:
  title: Tiny
  source: written for the tests
  licence: Apache-2.0
  paradigm: asag
  items: {file: answers.csv, item_id: id, testlet_id: question, item_text: answer}
  testlets: {file: questions.csv, testlet_id: question, stimulus: text}
  datasets:
    tiny_labels: {title: Labels, response_kind: label, label_set: three, gold: label}
"""
LABELS = "three: {title: Three labels, labels: {right: [correct], half: [], wrong: []}}\n"
STUDY = "tiny: {title: Tiny, task: grade, datasets: [tiny_labels], engines: [vllm]}\n"
N_ITEMS = 12


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="session")
def base_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("base"), has_chat_template=False)


@pytest.fixture(scope="session")
def registry_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Registry]:
    """Write a registry with the tiny model and a bank of twelve answers, the fifth of them too long."""

    def build(weights: Path, chat_template: str = "model") -> Registry:
        answers = [f"w{i},q{i % 3},Warm air rises {'slowly and then ' * (90 if i == 4 else i)},right"
                   for i in range(N_ITEMS)]  # fmt: skip
        folder = tmp_path_factory.mktemp("registry")
        files = {
            "label_sets.yml": LABELS,
            "banks/tiny.yml": BANK,
            "banks/answers.csv": "\n".join(["id,question,answer,label", *answers]) + "\n",
            "banks/questions.csv": "question,text\nq0,Why?\nq1,How does air move?\nq2,When does it rain?\n",
            "models/tiny.yml": MODEL.format(weights=weights, chat_template=chat_template),
            "studies/tiny.yml": STUDY,
        }
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        return load_registry([folder], None)

    return build


@pytest.fixture(scope="session")
def read_banks() -> Callable[[Registry], dict[str, BankFrames]]:
    return lambda registry: {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}


@pytest.fixture(scope="session")
def chat_registry(registry_of: Callable[..., Registry], chat_model: Path) -> Registry:
    return registry_of(chat_model)


@pytest.fixture(scope="session")
def engine(chat_registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmEngine]:
    """One engine process for most of the tests: starting it is what takes time."""
    engine = VllmEngine(chat_registry.models["tiny"], tmp_path_factory.mktemp("cache"))
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def raters(chat_registry: Registry) -> dict[str, Rater]:
    return resolve_raters(chat_registry)


@pytest.fixture(scope="session")
def request_of(raters: dict[str, Rater]) -> Callable[..., RenderedRequest]:
    """Make one request by hand."""

    def make(request_id: str, condition: str, text: str, **changes: Any) -> RenderedRequest:
        values: dict[str, Any] = {
            "request_id": request_id,
            "rater": raters[f"tiny|{condition}"],
            "dataset": "tiny_labels",
            "item_id": request_id,
            "replicate": 0,
            "attempt": 1,
            "messages": (Message("user", text),),
            "choices": ("right", "half", "wrong"),
        }
        return RenderedRequest(**(values | changes))

    return make
