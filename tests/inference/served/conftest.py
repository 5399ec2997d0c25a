"""A model that is asked through a server or through files, and the fixtures that ask it."""

import json
import threading

import polars as pl
import pytest

from inference.asking import ask, models_to_ask
from inference.landing import Journal, chunk_files
from inference.planning import plan_requests, to_ask
from inference.raters import resolve_raters
from inference.registry import load_registry
from inference.sources import read_bank
from tests.inference.served.server import Server

MODEL = """
served:
  title: Served
  family: served
  engine: {engine}
  task: grade
  revision: "1"
  template: grade@1
  settings: {{weights: org/model-a, chat_template: {chat_template}, max_tokens: 9}}
  runtime: {runtime}
  conditions:
    free: {{temperature: 0.5, settings: {{seed: 3, stop: ["END"]}}}}
    held: {{temperature: 0, settings: {{structured_outputs: choice, option_logprobs: true}}}}
"""
NOTHING = pl.DataFrame(schema={"request_id": pl.String, "n_attempts": pl.Int64, "is_done": pl.Boolean})


@pytest.fixture
def serve():
    servers = []

    def start(script):
        server = Server(script)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def prepare(folder, tmp_path):
    """Return registry, banks, model and requests of the served model's two raters."""

    def build(engine, runtime, chat_template="model", condition=None):
        (folder / "models" / "overlap.yml").unlink(missing_ok=True)
        text = MODEL.format(engine=engine, chat_template=chat_template, runtime=json.dumps(runtime))
        (folder / "models" / "served.yml").write_text(text)
        study = f"grading: {{title: G, task: grade, datasets: [tiny_labels], engines: [{engine}]}}\n"
        (folder / "studies" / "grading.yml").write_text(study)
        registry = load_registry([folder], None)
        banks = {bank.name: read_bank(bank, registry) for bank in registry.banks.values()}
        plan = plan_requests(registry, banks)
        if condition:
            plan = plan.filter(pl.col("rater_id") == f"served|{condition}")
        return registry, banks, plan

    return build


@pytest.fixture
def asked(prepare, tmp_path):
    """Ask through an engine and return summary and landed rows."""

    def run(engine, runtime, chat_template="model", condition=None, known=NOTHING):
        registry, banks, plan = prepare(engine, runtime, chat_template, condition)
        raters = resolve_raters(registry)
        [(model, todo)] = models_to_ask(to_ask(plan, known), raters)
        options = {"cache": tmp_path / "home" / "cache", "progress": lambda _: None}
        summary = ask(model, todo, registry, raters, banks, Journal(tmp_path / "landing"), **options)
        parts = [pl.read_parquet(path) for path in chunk_files(tmp_path / "landing")]
        return summary, pl.concat(parts) if parts else pl.DataFrame()

    return run
