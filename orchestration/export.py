"""What is published, as files for other programs: Parquet, CSV, and the long format of the Item Response Warehouse.

Reads nothing but the analysts' file. Texts of items and responses are not exported, because their licences differ; ids,
scores and covariates are. Does not print.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from orchestration.house import UnknownNameError
from orchestration.output_folder import make_output_folder, writing
from orchestration.reading import NotPublishedError, query_published
from orchestration.settings import Settings

ExportFormat = Literal["parquet", "csv", "irw"]

MATRIX = """
select dataset, rater_id, item_id, testlet_id, task, is_correct, answer_score, status
from core.response_matrix where list_contains(?, dataset) order by dataset, rater_id, item_id
"""
ITEMS = """
select i.dataset, i.item_id, i.testlet_id, i.stratum, i.split, i.test_part, i.gold_label, i.gold_score, i.answer_key,
       i.min_score, i.max_score, b.b, b.b_se, b.difficulty_bin
from core.items as i
left join psychometrics.irt_fits as f on f.dataset = i.dataset and f.is_primary
left join psychometrics.irt_items as b on b.fit_id = f.fit_id and b.item_id = i.item_id
where list_contains(?, i.dataset) order by i.dataset, i.item_id
"""
RATERS = """
select r.rater_id, r.task, r.model, r.revision, r.family, r.condition, r.persona, r.strategy, r.n_shots,
       r.exemplar_dataset, r.exemplar_seed, r.temperature, r.option_rotation, r.engine, r.settings_hash
from core.raters as r
where r.rater_id in (select rater_id from core.response_matrix where list_contains(?, dataset)) order by r.rater_id
"""
IRW = """
select m.rater_id as id, m.item_id as item, m.is_correct as resp, m.testlet_id as item_family,
       i.stratum as itemcov_stratum, i.test_part as itemcov_test_part,
       coalesce(i.gold_label, i.answer_key) as itemcov_gold_label, i.gold_score as itemcov_gold_score,
       r.task as cov_task, r.model as cov_model, r.family as cov_family, r.condition as cov_condition,
       r.persona as cov_persona, r.strategy as cov_strategy, r.n_shots as cov_n_shots,
       r.temperature as cov_temperature, r.engine as cov_engine
from core.response_matrix as m
join core.items as i using (dataset, item_id)
join core.raters as r using (rater_id)
where m.dataset = ? order by id, item
"""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file that an export wrote."""

    path: Path
    """Where it lies."""
    n_rows: int
    """Rows that it holds."""


def export(
    settings: Settings, folder: Path, *, format: ExportFormat, dataset: str | None = None
) -> tuple[ExportedFile, ...]:
    """Write the response matrix and its covariates into a folder.

    ``parquet`` and ``csv`` give three tables, joined by their ids: `response_matrix` (long; a missing response is a row
    with its status), `items` and `raters`. ``irw`` gives one CSV file per data set by the IRW Data Standard 1.0
    (https://itemresponsewarehouse.org/standard.html): a rater is the person `id`, `resp` is 1 or 0 and blank where
    missing, `item_family` is the testlet, covariates of raters begin with `cov_` and those of items with `itemcov_`;
    covariates that are blank throughout are left out. In CSV every text is quoted, so that the id `007` stays text.

    Parameters
    ----------
    settings
        Installation.
    folder
        Where the files go; made where it does not exist, and files of the same names are replaced.
    format
        Kind of files.
    dataset
        Data set; all of them where none is named.

    Raises
    ------
    UnknownNameError
        If format or data set does not exist, or two data sets would be one IRW file: its name is in small letters.
    NotPublishedError
        If nothing has been published yet, or no data set has a response matrix.
    NotADirectoryError
        If the folder cannot be made, or a file in it not be written.
    """
    if format not in get_args(ExportFormat):
        raise UnknownNameError(f"unknown format {format!r}; expected one of {', '.join(get_args(ExportFormat))}")
    datasets = _datasets(settings, dataset)
    files = _irw_files(datasets) if format == "irw" else {}
    make_output_folder(folder)
    if format == "irw":
        frames = {file: irw_frame(query_published(settings, IRW, [name])) for file, name in files.items()}
    else:
        queries = {"response_matrix": MATRIX, "items": ITEMS, "raters": RATERS}
        frames = {
            f"{name}.{format}": query_published(settings, query, [list(datasets)]) for name, query in queries.items()
        }
    return tuple(_write(frame, folder / name) for name, frame in frames.items())


def irw_frame(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the IRW query without the optional columns that are null throughout."""
    required = ["id", "item", "resp"]
    filled = [name for name in rows.columns if name in required or rows[name].null_count() < rows.height]
    return rows.select(filled)


def _datasets(settings: Settings, dataset: str | None) -> tuple[str, ...]:
    known = query_published(settings, "select distinct dataset from core.response_matrix order by 1")[
        "dataset"
    ].to_list()
    if dataset is not None and dataset not in known:
        raise UnknownNameError(f"unknown data set {dataset!r}; expected one of {', '.join(map(repr, known))}")
    if not known:
        raise NotPublishedError(f"{settings.analyst}: no data set has a response yet; run: thetahouse run")
    return tuple(known) if dataset is None else (dataset,)


def _irw_files(datasets: Sequence[str]) -> dict[str, str]:
    """Return the data set of each file; names in small letters are the same on every file system."""
    files: dict[str, str] = {}
    for name in datasets:
        file = f"{name.lower()}.csv"
        if file in files:
            raise UnknownNameError(
                f"data sets {files[file]!r} and {name!r} differ only in large and small letters and would both be "
                f"{file}; export each into a folder of its own (--dataset, --out)"
            )
        files[file] = name
    return files


def _write(frame: pl.DataFrame, path: Path) -> ExportedFile:
    with writing(path):
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            frame.write_csv(path, quote_style="non_numeric")
    return ExportedFile(path, frame.height)
