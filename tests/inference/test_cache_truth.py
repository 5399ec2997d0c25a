"""What makes a request of a language model another one, and what does not: the settings of a vLLM entry, one by one."""

import shutil

import polars as pl
import pytest

from inference.planning import plan_requests
from inference.raters import resolve_raters
from inference.registry import load_registry
from inference.sources import read_bank
from orchestration.settings import PROJECT_ROOT, SHIPPED_REGISTRY

SHOTS = "free: {temperature: 0, n_shots: 2, exemplar_seed: 42}"


@pytest.fixture
def requests_with(tmp_path):
    """Return the requests of the first model's condition `free` under a changed entry, whatever its name."""

    def plan(*changes):
        folder = tmp_path / "registry"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(PROJECT_ROOT / "examples" / "smollm2", folder)
        file = folder / "models" / "smollm2.yml"
        first, mark, rest = file.read_text(encoding="utf-8").partition("smollm2-135m-reader:")
        for old, new in changes:
            assert old in first
            first = first.replace(old, new, 1)
        file.write_text(first + mark + rest, encoding="utf-8")
        registry = load_registry([SHIPPED_REGISTRY, folder], None)
        banks = {name: read_bank(bank, registry) for name, bank in registry.banks.items()}
        (name,) = [n for n in registry.models if n.startswith("smollm2") and not n.endswith("reader")]
        found = plan_requests(registry, banks).filter(pl.col("rater_id") == f"{name}|free")
        return set(found["request_id"]), resolve_raters(registry)[f"{name}|free"].row.settings_hash

    return plan


@pytest.mark.parametrize(
    "change",
    [
        ("smollm2-135m:", "smollm2-136m:"),
        ('revision: "0.1.2"', 'revision: "0.1.3"'),
        ("max_tokens: 24", "max_tokens: 25"),
        ("max_model_len: 2048", "max_model_len: 1024"),
        ("dtype: float32", "dtype: bfloat16"),
        ("chat_template: model", "chat_template: plain"),
        ("template: grade@1", "template: fields@1"),
        ("free: {temperature: 0}", "free: {temperature: 0.1}"),
        ("free: {temperature: 0}", "free: {temperature: 0, settings: {structured_outputs: choice}}"),
        ("free: {temperature: 0}", SHOTS),
    ],
)
def test_what_can_change_a_response_is_another_request(requests_with, change):
    (before, hash_before), (after, hash_after) = requests_with(), requests_with(change)
    assert len(before) == len(after) > 0
    assert not before & after
    assert hash_before != hash_after


def test_another_exemplar_seed_is_another_request(requests_with):
    shots = ("free: {temperature: 0}", SHOTS)
    (before, _), (after, _) = requests_with(shots), requests_with(shots, ("seed: 42", "seed: 123"))
    assert len(before) == len(after) > 0
    assert not before & after


@pytest.mark.parametrize(
    "change",
    [
        ("kv_cache_gib: 2", "kv_cache_gib: 4"),
        ("max_num_seqs: 16", "max_num_seqs: 64"),
        ("block_size: 32", "tensor_parallel_size: 2"),
        ("enforce_eager: true", "enable_prefix_caching: false"),
        ("title: SmolLM2 135M Instruct as a grader", "title: Another title"),
    ],
)
def test_parallelism_memory_and_names_for_people_are_not(requests_with, change):
    assert requests_with(change) == requests_with()
