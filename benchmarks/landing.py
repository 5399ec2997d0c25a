"""How fast chunks land, and what plan and resume cost when nearly everything has landed.

    python benchmarks/landing.py [N_REQUESTS]

Makes a registry of 100 raters and one bank; writes chunks for all requests but one in a hundred, as a journal of runs
would hold them; lands them (rows a second), and then, in a process that has nothing in memory yet, plans all requests
and finds those that are still to be asked (seconds, peak memory). No engine is opened and no prompt rendered.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from inference.identity import encode_file_name
from inference.landing import CHUNK_SCHEMA
from inference.raters import rater_rows
from orchestration.house import House, load_catalogue, requests_to_ask
from orchestration.intake import land_chunks
from orchestration.settings import Settings

N_RATERS = 100
ROWS_PER_CHUNK = 5000
WANTED_ROWS_PER_SECOND, WANTED_SECONDS, WANTED_GIB = 200_000, 10, 2
FILES = {
    "label_sets.yml": "two: {title: Two labels, labels: {correct: [], incorrect: []}}\n",
    "banks/large.yml": (
        "large:\n  title: Large\n  source: made for this measurement\n  licence: Apache-2.0\n  paradigm: asag\n"
        "  items: {file: answers.csv, item_id: id, testlet_id: question, item_text: answer}\n"
        "  testlets: {file: questions.csv, testlet_id: question, stimulus: text}\n"
        "  datasets: {large: {title: Labels, response_kind: label, label_set: two, gold: label}}\n"
    ),
    "banks/questions.csv": "question,text\n" + "".join(f"q{i},Why does it happen ({i})?\n" for i in range(100)),
    "models/large.yml": (
        "large:\n  title: A model that is never opened\n  family: large\n  engine: vllm\n  task: grade\n"
        '  revision: "1"\n  template: grade@1\n'
        "  settings: {weights: nowhere, chat_template: plain, max_model_len: 2048, dtype: float32, max_tokens: 8}\n"
        "  conditions:\n"
        + "".join(f"    c{i:03}: {{temperature: 0, settings: {{seed: {i}}}}}\n" for i in range(N_RATERS))
    ),
    "studies/large.yml": "large: {title: Large, task: grade, datasets: [large], engines: [vllm]}\n",
}


def write_registry(folder: Path, n_items: int) -> None:
    """Write registry and bank."""
    answers = "".join(f"a{i:06},q{i % 100},Because of the {i}th thing in the list,correct\n" for i in range(n_items))
    for name, content in {**FILES, "banks/answers.csv": "id,question,answer,label\n" + answers}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def write_chunks(settings: Settings) -> int:
    """Write the chunks of all requests but one in a hundred; return the number of rows."""
    catalogue = load_catalogue(settings)
    plan = catalogue.plan.with_row_index().filter(pl.col("index") % 100 != 0).drop("index", "studies")
    said = pl.concat_str(pl.lit("Because of "), pl.col("item_id"), pl.lit(". Label: correct"))
    # raters that differ in nothing but sampling are shown the same messages: four prompts to an item
    prompt = pl.concat_str(pl.col("rater_id").str.slice(-1).cast(pl.Int64) % 4, pl.lit(" "), pl.col("item_id"))
    asked = pl.concat_str(pl.lit('[{"role":"user","content":"Grade '), prompt, pl.lit('"}]'))
    rows = plan.join(rater_rows(catalogue.raters).select("rater_id", "settings_hash"), on="rater_id").with_columns(
        attempt_id=pl.col("request_id").str.reverse(),
        attempt=pl.lit(1, pl.Int64),
        prompt_hash=prompt.hash().cast(pl.String),
        text=said,
        messages=asked,
        finish_reason=pl.lit("stop"),
        prompt_tokens=pl.lit(60, pl.Int64),
        completion_tokens=pl.lit(12, pl.Int64),
        latency_seconds=pl.lit(0.5),
        engine=pl.lit("vllm"),
        engine_version=pl.lit("0"),
        finished_at=pl.lit(datetime.now(UTC)),
    )
    for rater_id, of_rater in rows.partition_by("rater_id", as_dict=True).items():
        folder = settings.landing / encode_file_name(str(rater_id[0]))
        folder.mkdir(parents=True)
        for start in range(0, of_rater.height, ROWS_PER_CHUNK):
            chunk_id = f"{of_rater['attempt_id'][start][:32]}"
            chunk = of_rater.slice(start, ROWS_PER_CHUNK).with_columns(chunk_id=pl.lit(chunk_id))
            missing = [pl.lit(None, kind).alias(c) for c, kind in CHUNK_SCHEMA.items() if c not in chunk.columns]
            whole = chunk.with_columns(missing).select(CHUNK_SCHEMA.names()).cast(dict(CHUNK_SCHEMA))
            whole.write_parquet(folder / f"{chunk_id}.parquet", compression="zstd")
    return rows.height


def resume(settings: Settings) -> dict[str, Any]:
    """Plan and find what is to be asked; return seconds, peak memory and counts."""
    started = time.monotonic()
    requests = requests_to_ask(House(settings))
    seconds = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_gib": used.ru_maxrss / 2**20,
        "n_planned": load_catalogue(settings).plan.height,
        "n_to_ask": requests.height,
    }


def main(n_requests: int) -> int:
    """Print the figures; 0 where they are as wanted."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(Path(scratch) / "home", None, Path(scratch) / "registry")
        write_registry(settings.shipped_registry, n_requests // N_RATERS)
        n_rows = write_chunks(settings)
        settings.home.mkdir(exist_ok=True)
        cpu, started = time.process_time(), time.monotonic()
        landed = land_chunks(settings.warehouse, settings.landing)
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        assert landed.n_rows == n_rows
        print(
            f"landed {n_rows:,} rows of {landed.n_chunks} chunks in {seconds:.1f} s ({cpu:.1f} s of processor): "
            f"{n_rows / seconds:,.0f} rows a second, at least {WANTED_ROWS_PER_SECOND:,} are wanted"
        )
        command = [sys.executable, __file__, "--resume", scratch]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
    print(
        f"plan of {found['n_planned']:,} requests, {found['n_to_ask']:,} still to ask: {found['seconds']:.1f} s "
        f"({found['cpu_seconds']:.1f} s of processor, imports included) and {found['peak_gib']:.2f} GiB at most; "
        f"less than {WANTED_SECONDS} s and {WANTED_GIB} GiB are wanted"
    )
    assert found["n_to_ask"] == found["n_planned"] - n_rows
    is_fast = n_rows / seconds >= WANTED_ROWS_PER_SECOND and found["seconds"] < WANTED_SECONDS
    return 0 if is_fast and found["peak_gib"] < WANTED_GIB else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--resume"]:
        folder = Path(sys.argv[2])
        print(json.dumps(resume(Settings(folder / "home", None, folder / "registry"))))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
