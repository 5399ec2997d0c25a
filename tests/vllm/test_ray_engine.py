"""A run whose models are held by two Ray actors on a local cluster: the same rows as the local run."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest

from inference.registry import Registry
from orchestration.house import House, ask_raters
from orchestration.settings import Settings

pytestmark = pytest.mark.vllm

RATERS = ("tiny|drawn", "tiny|free", "tiny|held")
TOLD = ("request_id", "rater_id", "item_id", "attempt", "text", "finish_reason", "error_kind", "error_type",
        "prompt_tokens", "completion_tokens", "prompt_hash", "settings_hash", "content_hash")  # fmt: skip


def landed(house: House) -> pl.DataFrame:
    assert ask_raters(house, RATERS).lacking == ()
    with duckdb.connect(str(house.settings.warehouse), read_only=True) as connection:
        return connection.execute("select * from raw.responses order by request_id").pl()


def test_a_run_on_two_ray_actors_lands_what_a_local_run_lands(chat_registry: Registry, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    folder = chat_registry.models["tiny"].yaml.parent.parent
    settings = {place: Settings(tmp_path / place, None, folder) for place in ("here", "ray")}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        on_ray = landed(House(settings["ray"], place="ray"))
    finally:
        ray.shutdown()
    here = landed(House(settings["here"]))
    assert on_ray.height == here.height == 36
    assert on_ray.select(TOLD).equals(here.select(TOLD))
    assert set(here["error_type"].drop_nulls()) == {"too_long"}
    assert {(flags["place"], flags["n_actors"]) for flags in map(json.loads, on_ray["engine_flags"])} == {("ray", 2)}
    for there, local in zip(on_ray["option_logprobs"], here["option_logprobs"], strict=True):
        assert json.loads(there or "{}") == pytest.approx(json.loads(local or "{}"), abs=1e-4)
