"""Human statistics of items, as a bank's entry describes them."""

import polars as pl

from inference.registry import BankSpec, Registry
from inference.registry.bank_specs import HumanStatisticsSpec
from inference.rows import HumanItemStatisticsRow, frame_of
from inference.sources.described import composite_ids, number, read_table, unique_ids
from inference.sources.tables import SourceError, TextTable


def read_human(bank: BankSpec, registry: Registry, load_id: str, known: set[str]) -> pl.DataFrame:
    """Read a bank's human statistics (HumanItemStatisticsRow), for each of its data sets.

    Raises
    ------
    SourceError
        An item is not in the bank, stands twice in a stratum, or a statistic is not a number.
    """
    spec = bank.human_statistics
    if spec is None:
        return frame_of(HumanItemStatisticsRow, [])
    table = read_table(spec, registry.path_of(bank, spec.file))
    rows = [row for name in bank.datasets for row in _rows(table, spec, load_id, name, known)]
    return frame_of(HumanItemStatisticsRow, rows)


def _rows(
    table: TextTable, spec: HumanStatisticsSpec, load_id: str, dataset: str, known: set[str]
) -> list[HumanItemStatisticsRow]:
    unique_ids(table, (*spec.item_id, *((spec.stratum,) if spec.stratum else ())))
    strata = table.column(spec.stratum) if spec.stratum else ("all",) * len(table.rows)
    columns = {statistic: table.column(column) for statistic, column in spec.columns.items()}
    rows = []
    for i, item_id in enumerate(composite_ids(table, spec.item_id)):
        line = table.lines[i]
        if item_id not in known:
            raise SourceError(f"{table.path}, line {line}: item {item_id!r} is not in the bank; correct the id")
        values = {statistic: number(table, line, statistic, cells[i]) for statistic, cells in columns.items()}
        n = values.get("n")
        rows.append(
            HumanItemStatisticsRow(
                load_id=load_id,
                dataset=dataset,
                item_id=item_id,
                stratum=strata[i],
                source=spec.source,
                difficulty=values.get("difficulty"),
                discrimination=values.get("discrimination"),
                a=values.get("a"),
                b=values.get("b"),
                c=values.get("c"),
                facility=values.get("facility"),
                n=None if n is None else int(n),
            )
        )
    return rows
