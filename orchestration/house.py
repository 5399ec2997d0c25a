"""What the house does, step by step: plan and ask. Assets and commands call these functions.

Each step opens the warehouse for a moment only, and never while an engine is at work. Does not hold Dagster, SQL models
or statistics.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

import polars as pl

from inference.asking import ask, models_to_ask
from inference.engines import Place, open_engine
from inference.landing import Journal
from inference.planning import plan_requests, to_ask
from inference.raters import Rater, check_bound, rater_rows, resolve_raters
from inference.registry import ModelSpec, RecordedSpec, Registry, load_registry
from inference.sources import BankFrames, bank_fingerprint, read_bank
from orchestration import freshness, intake
from orchestration.locks import hold_raters
from orchestration.settings import Settings
from orchestration.warehouse import connect

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done and how much there is."""


ASKING = "ask "
"""Begins what is reported of asking; the model's name follows."""
READING = "read responses of "
"""Begins what is reported of recorded responses, of which nobody is asked; the name of their entry follows."""


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


class UnknownNameError(ValueError):
    """A name that registry or published tables do not have."""


@dataclass(frozen=True, slots=True)
class House:
    """One installation and what this run is about."""

    settings: Settings
    """Where things are."""
    progress: Progress = _silent
    """Told about long work."""
    supersede: bool = False
    """Whether a rater id may be bound to new settings."""
    force: bool = False
    """Whether tables are rebuilt even where nothing has changed."""
    studies: frozenset[str] = field(default_factory=frozenset)
    """Ask only what these studies want; empty for all."""
    raters: frozenset[str] = field(default_factory=frozenset)
    """Ask only these raters; empty for all."""
    place: Place = "here"
    """Where models in vLLM run."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Registry and banks as they are now, and the plan made of them."""

    registry: Registry
    """Entries by kind and name."""
    banks: Mapping[str, BankFrames]
    """Banks as read, by name."""
    raters: Mapping[str, Rater]
    """Every rater that the registry names, by id."""
    plan: pl.DataFrame
    """RequestRow: every request that the studies want."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How far one rater is."""

    rater_id: str
    """Rater."""
    n_planned: int
    """Requests of the plan."""
    n_missing: int
    """Planned requests without a final attempt."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking some raters."""

    raters: tuple[Completeness, ...]
    """How far each of them is, by rater id."""
    crashes: tuple[str, ...]
    """Why engines stopped before their end."""

    @property
    def lacking(self) -> tuple[Completeness, ...]:
        """Raters that still lack something."""
        return tuple(rater for rater in self.raters if rater.n_missing)

    @property
    def complete(self) -> tuple[Completeness, ...]:
        """Raters that lack nothing."""
        return tuple(rater for rater in self.raters if not rater.n_missing)

    @property
    def complaint(self) -> str:
        """One line that says who lacks how much, why, and what happens next."""
        lacking = ", ".join(f"{r.rater_id} lacks {r.n_missing:,} of {r.n_planned:,}" for r in self.lacking)
        reasons = f" (the engine stopped: {'; '.join(self.crashes)})" if self.crashes else ""
        return f"{lacking}{reasons}; what is missing is asked again by the next run"


_catalogues: dict[str, Catalogue] = {}


def read_registry(settings: Settings) -> Registry:
    """Read the registry of an installation: the shipped entries and its own."""
    return load_registry(settings.registries, settings.data)


def load_catalogue(settings: Settings) -> Catalogue:
    """Read registry and banks and make the plan; the last one, and banks that are the same, are kept.

    Raises
    ------
    RegistryError, SourceError
        If an entry or a file is wrong; nothing has been written then.
    """
    registry = read_registry(settings)
    key = freshness.plan_fingerprint(registry)
    if key not in _catalogues:
        read = {bank.load.fingerprint: bank for last in _catalogues.values() for bank in last.banks.values()}
        banks = {
            name: read.get(bank_fingerprint(bank, registry)) or read_bank(bank, registry)
            for name, bank in registry.banks.items()
        }
        _catalogues.clear()
        raters = resolve_raters(registry)
        _catalogues[key] = Catalogue(registry, banks, raters, plan_requests(registry, banks, raters))
    return _catalogues[key]


def check_names(registry: Registry, *, studies: Collection[str], raters: Collection[str]) -> None:
    """Refuse names of studies and raters that the registry does not have.

    Raises
    ------
    UnknownNameError
        The message names the value, the nearest names and how many there are.
    """
    check_known("study", studies, sorted(registry.studies))
    if raters:  # else no recorded file need be read
        check_known("rater", raters, list(resolve_raters(registry)))


def check_known(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not known.

    Raises
    ------
    UnknownNameError
        As of :func:`check_names`.
    """
    for name in names:
        if name not in known:
            raise UnknownNameError(unknown(kind, name, list(known)))


def unknown(kind: str, name: str, known: Sequence[str], where: str = "") -> str:
    """Say that a name is not known, with the nearest that are and how many there are."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or list(known[:3])
    return f"unknown {kind} {name!r}{where}; did you mean one of {near}? ({len(known):,} in all)"


def requests_to_ask(house: House) -> pl.DataFrame:
    """Land what the journal still holds and return the requests that are to be asked, each with its attempt number.

    Raises
    ------
    RegistryError, SourceError, ChunkError, RaterConflictError
        If an entry, a file, a chunk or a rater's settings are wrong; nothing has been asked then.
    """
    settings = house.settings
    catalogue = load_catalogue(settings)
    intake.land_chunks(settings.warehouse, settings.landing)
    with connect(settings.warehouse) as connection:
        if not house.supersede:
            check_bound(rater_rows(catalogue.raters), intake.bound_settings(connection))
        landed = intake.landed_requests(connection, house.raters)
    return to_ask(narrowed(house, catalogue.plan), landed)


def narrowed(house: House, requests: pl.DataFrame) -> pl.DataFrame:
    """Return the requests that this run is about."""
    if house.studies:
        wanted = pl.element().is_in(sorted(house.studies))
        requests = requests.filter(pl.col("studies").str.split(",").list.eval(wanted).list.any())
    if house.raters:
        requests = requests.filter(pl.col("rater_id").is_in(sorted(house.raters)))
    return requests


def completeness(house: House, plan: pl.DataFrame) -> list[Completeness]:
    """Return how far every rater of a plan is, by rater id.

    Parameters
    ----------
    house
        Installation.
    plan
        Requests by which the raters are judged (RequestRow).
    """
    with connect(house.settings.warehouse) as connection:
        landed = intake.landed_requests(connection, plan["rater_id"].unique().to_list())
    is_done = pl.col("request_id").is_in(landed.filter("is_done")["request_id"].implode())
    counts = plan.group_by("rater_id").agg(pl.len().alias("n"), (~is_done).sum().alias("n_missing")).sort("rater_id")
    return [Completeness(*row) for row in counts.iter_rows()]


def ask_raters(house: House, rater_ids: Sequence[str]) -> Asked:
    """Ask what the raters named still lack, land it, and return how far each of them is.

    The engine of a model is opened once for all its raters. Nobody holds the warehouse while an engine is at work.

    Raises
    ------
    LockHeldError
        If another process is asking one of the raters.
    """
    settings = house.settings
    catalogue = load_catalogue(settings)
    house = replace(house, raters=frozenset(rater_ids))
    with hold_raters(settings.locks, rater_ids):
        requests = requests_to_ask(house)
        asked = [_ask_model(house, catalogue, *group) for group in models_to_ask(requests, catalogue.raters)]
        intake.land_chunks(settings.warehouse, settings.landing)
    raters = completeness(house, narrowed(house, catalogue.plan))
    return Asked(tuple(raters), tuple(crash for crash in asked if crash is not None))


def _ask_model(
    house: House, catalogue: Catalogue, model: ModelSpec | RecordedSpec, requests: pl.DataFrame
) -> str | None:
    """Ask one model, reporting how far it is; return why its engine stopped early, or None."""
    done, total = 0, requests.height
    doing = READING if isinstance(model, RecordedSpec) else ASKING

    def report(n: int) -> None:
        nonlocal done
        done += n
        house.progress(f"{doing}{model.name}", done, total)

    journal = Journal(house.settings.landing)
    cache = house.settings.cache
    registry, raters, banks = catalogue.registry, catalogue.raters, catalogue.banks
    engine = open_engine(model, registry, banks, cache, house.place)
    return ask(model, requests, registry, raters, banks, journal, progress=report, cache=cache, engine=engine).crash


def raters_by_model(requests: pl.DataFrame, raters: Mapping[str, Rater]) -> dict[str, list[str]]:
    """Return the raters that requests name, grouped by model, both sorted."""
    named = sorted((raters[rater_id].row.model, rater_id) for rater_id in requests["rater_id"].unique())
    return {model: [rater_id for _, rater_id in group] for model, group in groupby(named, key=itemgetter(0))}
