"""Which refresh every layer belongs to.

A refresh begins with ``core``; each later layer takes over the generation of the layer it was computed from. Publishing
asks for one generation throughout, so a file that readers see never mixes two refreshes. The clock lives here
(``meta``), never in the tables of ``psychometrics`` or ``marts``.
"""

from datetime import UTC, datetime

import duckdb

LAYERS = ("core", "psychometrics", "marts")
"""Layers in the order in which a refresh builds them."""


class MixedGenerationsError(RuntimeError):
    """Layers of different refreshes would have been joined."""


def create_meta_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the bookkeeping tables."""
    connection.execute("create schema if not exists meta")
    connection.execute(
        "create table if not exists meta.layers (layer varchar not null, generation bigint not null, "
        "built_at timestamp with time zone not null)"
    )
    connection.execute(
        "create table if not exists meta.refreshes (generation bigint not null, fingerprint varchar not null, "
        "n_to_ask bigint not null, begun_at timestamp with time zone not null, "
        "published_at timestamp with time zone)"
    )


def begin(connection: duckdb.DuckDBPyConnection, fingerprint: str, n_to_ask: int) -> int:
    """Start a refresh and return its generation.

    Parameters
    ----------
    connection
        Open warehouse.
    fingerprint
        What the refresh is computed from (:mod:`orchestration.freshness`).
    n_to_ask
        Requests of the plan that are still to be asked.
    """
    create_meta_tables(connection)
    generation = latest(connection) + 1
    connection.execute(
        "insert into meta.refreshes values (?, ?, ?, ?, null)", [generation, fingerprint, n_to_ask, datetime.now(UTC)]
    )
    return generation


def record(connection: duckdb.DuckDBPyConnection, layer: str) -> int:
    """Note that a layer has just been built, and return the generation that it belongs to.

    Raises
    ------
    MixedGenerationsError
        If the layer before it has not been built in the current refresh.
    """
    generation = latest(connection)
    position = LAYERS.index(layer)
    require(connection, LAYERS[:position], generation)
    # what was computed from the layer's former state no longer belongs to it
    connection.execute("delete from meta.layers where list_contains(?, layer)", [list(LAYERS[position:])])
    connection.execute("insert into meta.layers values (?, ?, ?)", [layer, generation, datetime.now(UTC)])
    return generation


def latest(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the generation of the refresh begun last; 0 where none has begun."""
    found = connection.execute("select coalesce(max(generation), 0) from meta.refreshes").fetchone()
    assert found is not None
    return int(found[0])


def require(connection: duckdb.DuckDBPyConnection, layers: tuple[str, ...], generation: int) -> None:
    """Check that the layers named were all built in one refresh.

    Raises
    ------
    MixedGenerationsError
        If one of them was not; the message names it and the remedy.
    """
    built = dict(connection.execute("select layer, generation from meta.layers").fetchall())
    for layer in layers:
        if built.get(layer) != generation:
            raise MixedGenerationsError(
                f"{layer} was built in refresh {built.get(layer)}, the current refresh is {generation}; "
                "run the whole refresh: thetahouse run --force"
            )


def current(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the generation that every layer was built in.

    Raises
    ------
    MixedGenerationsError
        If the layers do not agree.
    """
    generation = latest(connection)
    require(connection, LAYERS, generation)
    return generation
