"""How many responses the parser reads in a second, and whether its memory grows with their number.

    python benchmarks/parsing.py [N_RESPONSES]

Parses a quarter of the responses and then all of them, each in a process of its own and from file to file, with the
query that ``thetahouse parse`` and every refresh run. No two texts are alike: a third states labels, a third choices, a
third scores; from one word to a paragraph, some with reasoning, some cut off.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from orchestration.parsing import parser_sql, spellings_of
from orchestration.settings import load_settings

CORES, MEMORY_LIMIT = 2, "256MB"
WANTED_SECONDS, WANTED_ROWS = 30, 1_000_000
MAX_GROWTH = 1.3
"""Peak memory of four times as many rows, over that of the first quarter."""
TALK = "The student names the battery and both terminals but does not say why the bulb stays dark, which matters here. "
LABELS = ["correct", "contradictory", "irrelevant", "non_domain", "partially correct", "incorrect"]
SAID = f"""
case id % 9
    when 0 then 'Label: ' || label || '. Answer ' || id
    when 1 then label || ' ' || id
    when 2 then '<think>Is it correct or contradictory? ' || id || '</think>{{"label": "' || label || '"}}'
    when 3 then 'Answer: **' || letter || '** (' || id || ')'
    when 4 then '{TALK}{TALK}' || id || '. The answer is ' || letter || '.'
    when 5 then 'I would pick ' || letter || ', see line ' || id
    when 6 then 'Score: ' || id % 5 || chr(10) || 'item ' || id
    when 7 then '{TALK}' || id || '. I give this a ' || id % 4 || ' out of 3.'
    else '{TALK}I cannot say more about item ' || id
end
"""


def make(path: Path, n_rows: int) -> None:
    """Write the responses into a database."""
    spelled = ", ".join(
        f"({'null' if label is None else repr(label)}, {spelling!r})"
        for label, spelling in spellings_of(["five_way"], load_settings())
    )
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table given_labels as from (values {spelled}) as t (label, spelling)")
        connection.execute(f"""
            create table given as
            select id, {SAID} as said, id % 50 = 0 as is_cut,
                case when id % 9 < 3 then 'label' when id % 9 < 6 then 'choice' else 'score' end as kind,
                ['A', 'B', 'C', 'D'] as options, 0.0::double as lowest, 3.0::double as highest
            from (select range as id, 'ABCD'[1 + range % 4] as letter,
                {LABELS}[1 + range % 6] as label from range({n_rows}))
        """)


def parse(path: Path) -> dict[str, Any]:
    """Parse what a database holds; return seconds, peak memory and how often each status was found."""
    with duckdb.connect(str(path), config={"threads": CORES, "memory_limit": MEMORY_LIMIT}) as connection:
        started = time.monotonic()
        connection.execute(f"create table parsed as {parser_sql().query}")
        seconds = time.monotonic() - started
        statuses = connection.execute("select status, count(*) from parsed group by all order by all").fetchall()
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_gib": used.ru_maxrss / 2**20,
        "statuses": dict(statuses),
    }


def measure(n_rows: int) -> dict[str, Any]:
    """Make and parse responses, the latter in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "given.duckdb"
        make(path, n_rows)
        command = [sys.executable, __file__, "--parse", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert sum(found["statuses"].values()) == n_rows
    print(
        f"{n_rows:>10,} responses {found['seconds']:7.1f} s {n_rows / found['seconds']:10,.0f} a second "
        f"{found['cpu_seconds']:7.1f} s of processor {found['peak_gib']:6.2f} GiB at most"
    )
    return found


def main(n_rows: int) -> int:
    """Print the figures; 0 where they are as wanted."""
    print(f"parser {parser_sql().version}, {CORES} of {os.cpu_count()} cores")
    quarter, whole = measure(n_rows // 4), measure(n_rows)
    print("statuses: " + ", ".join(f"{name} {n:,}" for name, n in whole["statuses"].items()))
    seconds, growth = whole["seconds"] * WANTED_ROWS / n_rows, whole["peak_gib"] / quarter["peak_gib"]
    print(f"{WANTED_ROWS:,} responses take {seconds:.1f} s, at most {WANTED_SECONDS} are wanted")
    print(f"memory grows by a factor of {growth:.2f}, at most {MAX_GROWTH} is wanted")
    return 0 if seconds <= WANTED_SECONDS and growth <= MAX_GROWTH else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--parse"]:
        print(json.dumps(parse(Path(sys.argv[2]))))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else WANTED_ROWS))
