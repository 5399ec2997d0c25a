"""What a person should know of a prediction file that is taken in: nothing here refuses or changes anything.

Compares cells with what a data set allows, letter by letter; what an answer means is for the parser to say.
"""

from collections.abc import Callable, Set

from inference.registry import Registry
from inference.sources.banks import BankFrames
from inference.sources.described import parse_number
from inference.sources.labels import canonical_spelling, known_spellings
from inference.sources.predictions import Described
from inference.sources.tables import some


def notes_on(
    described: Described, dataset: str, registry: Registry, bank: BankFrames, asked: Set[str], *, is_log: bool
) -> tuple[str, ...]:
    """Return what the file holds besides answers to what is asked, a line each.

    Parameters
    ----------
    described
        The file.
    dataset, registry, bank
        Data set that it belongs to.
    asked
        Items that a study asks of its raters.
    is_log
        Whether the cells are all that a model wrote, which is seldom a bare answer.
    """
    items = {item: None for rater in described.raters for item in rater.cells}
    aside = [item for item in items if item not in asked]
    cells = [pair for rater in described.raters for pair in rater.cells.items() if pair[1].strip()]
    is_allowed = _allows(dataset, registry, bank)
    other = [cell for item, cell in cells if not is_allowed(item, cell)]
    notes = []
    if described.encoding != "utf-8":
        notes.append(f"the file is not UTF-8 and is read as {described.encoding}, as its entry says")
    if aside and asked:
        notes.append(
            f"{len(aside):,} of {len(items):,} items are asked by no study (e.g. {aside[0]!r}); "
            "their rows are kept in the file and not scored"
        )
    if other and not is_log:
        kind = registry.bank_of(dataset).datasets[dataset].response_kind
        notes.append(
            f"{len(other):,} of {len(cells):,} cells are not a {kind} of {dataset} as written "
            f"({some(list(dict.fromkeys(cell[:40] for cell in other)))}); the parser decides"
        )
    return tuple(notes)


def _allows(dataset: str, registry: Registry, bank: BankFrames) -> Callable[[str, str], bool]:
    """Return a function that tells whether a cell is, as it stands, an answer to an item."""
    scheme = registry.bank_of(dataset).datasets[dataset]
    if scheme.label_set is not None:
        spellings = {spelling for label, spelling in known_spellings(registry, scheme.label_set) if label is not None}
        return lambda _, cell: canonical_spelling(cell) in spellings
    if scheme.response_kind == "score":
        items = bank.items.filter(bank.items["dataset"] == dataset)
        ranges = {item: (low, high) for item, low, high in items.select("item_id", "min_score", "max_score").rows()}
        return lambda item, cell: ranges[item][0] <= parse_number(cell) <= ranges[item][1]
    options = bank.item_options.filter(bank.item_options["dataset"] == dataset)
    letters = set(options.select("item_id", "option").rows())
    return lambda item, cell: (item, cell.strip().upper()) in letters
