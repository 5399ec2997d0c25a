"""What a refresh begins with and how far it is: raw says what the registry says, each layer is noted when it stands.

Called by the assets of the layers. Does not hold what a layer computes.
"""

from dataclasses import fields, replace

import polars as pl

from inference.raters import rater_rows
from inference.rows import LoadRow, frame_of
from inference.sources import BankFrames, label_rows
from orchestration import freshness, generations, intake
from orchestration.house import House, load_catalogue, requests_to_ask
from orchestration.locks import REFRESH
from orchestration.warehouse import connect

LAYERS = ("raw", *generations.LAYERS, "published")
"""Layers in the order in which a refresh completes them."""


def open_refresh(house: House) -> dict[str, int]:
    """Land leftovers, make raw say what the registry says, and begin a new generation.

    Returns
    -------
    dict
        Rows of every mirrored table.
    """
    settings = house.settings
    everything = replace(house, studies=frozenset(), raters=frozenset())
    n_to_ask = requests_to_ask(everything).height
    catalogue = load_catalogue(settings)
    banks = [_bank_tables(bank) for bank in catalogue.banks.values()]
    labels = label_rows(catalogue.registry)
    raters = rater_rows(catalogue.raters)
    intake.mirror(settings.warehouse, banks=banks, labels=labels, raters=raters, requests=catalogue.plan)
    with connect(settings.warehouse) as connection:
        chunk_ids = [str(row[0]) for row in connection.execute("select chunk_id from raw.chunks").fetchall()]
        generations.begin(connection, freshness.input_fingerprint(catalogue.registry, chunk_ids), n_to_ask)
        n_rows = intake.count_rows(connection)
    tell(house, "raw")
    return n_rows


def record_layer(house: House, layer: str) -> None:
    """Note in the warehouse that a layer has just been built, and tell whoever watches."""
    with connect(house.settings.warehouse) as connection:
        generations.record(connection, layer)
    tell(house, layer)


def tell(house: House, layer: str) -> None:
    """Tell whoever watches that a layer stands."""
    house.progress(REFRESH, LAYERS.index(layer) + 1, len(LAYERS))


def _bank_tables(bank: BankFrames) -> dict[str, pl.DataFrame]:
    frames = {f.name: getattr(bank, f.name) for f in fields(bank) if f.name != "load"}
    return {"loads": frame_of(LoadRow, [bank.load]), **frames}
