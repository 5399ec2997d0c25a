"""Runs the jobs in this process: what ``thetahouse run`` does where no Dagster daemon is needed.

The same jobs that Dagster's own workers run, on an instance below the installation's folder, so that ``dagster dev``
shows every run made here. Does not print; it returns what happened.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from dagster import DagsterInstance, Definitions, ExecuteInProcessResult
from dagster._core.execution.plan.objects import StepFailureData
from dagster._core.instance import InstanceRef
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager

from inference.raters import Rater
from orchestration import freshness
from orchestration.dbt import prepared_manifest
from orchestration.event_log import EventLog
from orchestration.house import ASKING, READING, House, Progress, load_catalogue, raters_by_model
from orchestration.interrupts import noticed_stops
from orchestration.locks import REFRESH, REFRESH_WAIT_SECONDS, held_locks, hold
from orchestration.partitions import sync_partitions
from orchestration.requests import ASK_JOB, REFRESH_JOB, ask_configuration
from orchestration.runs import clear_killed_runs, own_tags
from orchestration.settings import Settings

DAGSTER_YAML = """\
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  pools:
    default_limit: 1
run_monitoring:
  enabled: true
  start_timeout_seconds: 300
  free_slots_after_run_end_seconds: 30
"""
DBT_ERRORS = "Errors parsed from dbt logs:"
TURN = "turn to refresh"
"""Lock that runs of the command line hold while they look whether a refresh is needed, and refresh."""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
RECORDS_WAIT_SECONDS = 120.0
"""How long one process waits while another opens Dagster's records."""


@dataclass(frozen=True, slots=True)
class LocalRun:
    """What one run did."""

    n_asked: int
    """Requests that this run asked; what another run has asked meanwhile is not among them."""
    n_read: int
    """Requests that this run answered from recorded files, of which nobody was asked."""
    failures: tuple[str, ...]
    """One line per model or step that failed."""
    warnings: tuple[str, ...]
    """One line per statistical check that found something."""
    seconds: Mapping[str, float]
    """Wall-clock seconds per step."""


def prepare_dagster_home(settings: Settings) -> None:
    """Make Dagster's folder, its configuration included, and point Dagster to it."""
    settings.dagster_home.mkdir(parents=True, exist_ok=True)
    configuration = settings.dagster_home / "dagster.yaml"
    if not configuration.exists():
        aside = configuration.with_suffix(f".{os.getpid()}")
        aside.write_text(DAGSTER_YAML)
        aside.replace(configuration)  # whole at once: another process may be reading it
    os.environ["DAGSTER_HOME"] = str(settings.dagster_home)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "true"


def open_instance(settings: Settings) -> DagsterInstance:
    """Open Dagster's records for many events in a row, and without files per step: the whole run has one log.

    Dagster makes their tables when there are none, and fails where another process does so at the same moment; hence
    one at a time.
    """
    quick = {
        name: {"module": implementation.__module__, "class": implementation.__name__}
        for name, implementation in (("event_log_storage", EventLog), ("compute_logs", NoOpComputeLogManager))
    }
    with hold(settings.locks, "dagster records", wait_seconds=RECORDS_WAIT_SECONDS):
        return DagsterInstance.from_ref(InstanceRef.from_dir(str(settings.dagster_home), overrides=quick))


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Send what Dagster and dbt print to a file; the caller prints what a person needs."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a", encoding="utf-8") as stream,
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
    ):
        yield


def _failure_lines(result: ExecuteInProcessResult) -> list[str]:
    """Return one line per failed step: the innermost message, which names the thing and the remedy."""
    return [
        f"{event.step_key}: {_message(event.step_failure_data)}" for event in result.all_events if event.is_step_failure
    ]


def _message(failure: StepFailureData) -> str:
    if failure.user_failure_data is not None and failure.user_failure_data.description:
        return failure.user_failure_data.description
    error = failure.error
    while error is not None and error.cause is not None:
        error = error.cause
    message = error.message if error is not None else "no message"
    return message.split(DBT_ERRORS)[-1].strip()


def _warnings(result: ExecuteInProcessResult) -> Iterator[str]:
    """Yield what the statistical checks found; failing dbt tests fail their step and are named there."""
    for check in result.get_asset_check_evaluations():
        if not check.passed and check.description:
            yield f"{check.check_name} ({'.'.join(check.asset_key.path)}): {check.description}"


def _execute(
    definitions: Definitions, job: str, instance: DagsterInstance, configuration: Mapping[str, Any]
) -> ExecuteInProcessResult:
    return definitions.resolve_job_def(job).execute_in_process(
        run_config={**QUIET, **configuration},
        instance=instance,
        raise_on_error=False,
        tags=own_tags(),
    )


@contextlib.contextmanager
def _turn(house: House) -> Iterator[None]:
    """Wait for the refresh of another process, saying so, and keep other runs waiting while the block lasts."""
    held = held_locks(house.settings.locks)
    holder = held.get(TURN) or held.get(REFRESH)
    if holder is not None:
        house.progress(f"waiting for the refresh of {holder}", 0, 1)
    with hold(house.settings.locks, TURN, wait_seconds=REFRESH_WAIT_SECONDS):
        if holder is not None:
            with hold(house.settings.locks, REFRESH, wait_seconds=REFRESH_WAIT_SECONDS):
                house.progress(f"waiting for the refresh of {holder}", 1, 1)
        yield


class _Counted:
    """Passes progress on, and counts the requests that were asked, and those that were read from recorded files."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, dict[str, int]()
        self._counts = {ASKING: 0, READING: 0}

    @property
    def n_asked(self) -> int:
        """Requests that were asked."""
        return self._counts[ASKING]

    @property
    def n_read(self) -> int:
        """Requests that were answered from recorded files."""
        return self._counts[READING]

    def __call__(self, what: str, done: int, total: int) -> None:
        for kind in self._counts:
            if what.startswith(kind):
                before = self._done.get(what, 0)
                # a model that is asked once more begins at its first request again
                self._counts[kind] += done - before if done >= before else done
                self._done[what] = done
        self._progress(what, done, total)


def _doing(rater_ids: Sequence[str], raters: Mapping[str, Rater]) -> str:
    """Say what is done with raters of one model: recorded ones are read, nobody is asked."""
    return "read" if all(raters[rater_id].model is None for rater_id in rater_ids) else "ask"


def run_local(house: House, requests: pl.DataFrame) -> LocalRun:
    """Ask what is to be asked, model by model, then refresh.

    A model that fails keeps nobody from being asked or published; it is named in the result.

    Parameters
    ----------
    house
        Installation, and what the run is about.
    requests
        What is to be asked (:func:`orchestration.house.requests_to_ask`).

    Raises
    ------
    KeyboardInterrupt
        If the process was told to stop; what had been answered by then is kept.
    """
    settings, started, seconds, failures = house.settings, time.monotonic(), {}, []
    counted = _Counted(house.progress)
    house = replace(house, progress=counted)
    prepare_dagster_home(settings)
    catalogue = load_catalogue(settings)
    with (
        open_instance(settings) as instance,
        _output_to(settings.home / "logs" / "run.log"),
        ThreadPoolExecutor(max_workers=1) as beside,
        noticed_stops() as is_told_to_stop,
    ):
        # dbt reads its project in a process of its own while the rest is imported (seconds) and raters are asked
        manifest = beside.submit(prepared_manifest, settings)
        house.progress("prepare", 0, 1)
        from orchestration.build import ask_definitions, build_definitions

        clear_killed_runs(instance)
        sync_partitions(instance, catalogue.raters)
        asking = ask_definitions(house)
        seconds["prepare"] = time.monotonic() - started
        house.progress("prepare", 1, 1)
        for model, rater_ids in raters_by_model(requests, catalogue.raters).items():
            started = time.monotonic()
            done = _execute(asking, ASK_JOB, instance, ask_configuration(rater_ids))
            failures += _failure_lines(done)
            seconds[f"{_doing(rater_ids, catalogue.raters)} {model}"] = time.monotonic() - started
            if is_told_to_stop():
                raise KeyboardInterrupt
        started = time.monotonic()
        with _turn(house):
            if not house.force and freshness.is_current(settings, catalogue.registry):
                seconds["wait for another run, which has published all of it"] = time.monotonic() - started
                return LocalRun(counted.n_asked, counted.n_read, tuple(failures), (), seconds)
            done = _execute(build_definitions(house, manifest.result()), REFRESH_JOB, instance, {})
        failures += _failure_lines(done)
        seconds["refresh"] = time.monotonic() - started
        if is_told_to_stop() and not done.success:
            raise KeyboardInterrupt
    return LocalRun(counted.n_asked, counted.n_read, tuple(failures), tuple(_warnings(done)), seconds)
