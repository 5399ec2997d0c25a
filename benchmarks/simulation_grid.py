"""Recovery and coverage of the testlet fit over a fixed grid of simulations, as tables in Markdown.

    python benchmarks/simulation_grid.py                     # every cell, 200 replicates: a few hours on one core
    python benchmarks/simulation_grid.py --items 800         # the cheap cells
    python benchmarks/simulation_grid.py --keep FILE         # go on where a run that kept its replicates there stopped
    python benchmarks/simulation_grid.py --dependent         # 3 models x 7 raters only

Raters, items, abilities, difficulties and effects are drawn anew in every replicate, abilities with SD 1; testlets have
ten items. Standard deviations are estimated (Laplace). With the facet, raters belong to models of three (four of 168)
and v ~ N(0, 0.7²); the fit has the facet too. Coverage is of 95 % intervals (estimate ± 1.96 SE) around the drawn
values themselves, over all items together and by decile of true difficulty; items that all raters answer alike stand
apart. The last row is the largest Monte-Carlo standard error of each column over the rows above it.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import norm

from analytics.irt.testlet import fit_testlet
from analytics.irt.testlet_facet import FacetFit, fit_testlet_facet
from analytics.irt.testlet_result import TestletFit
from analytics.irt.testlet_robust import cluster_robust_errors
from analytics.irt.testlet_simulation import SimulatedResponses, simulate_testlet

RATERS, ITEMS, SD_B, SD_U = (17, 42, 168), (800, 5000), (1.0, 1.5, 2.0), (0.3, 0.8)
MODELS = {17: 6, 42: 14, 168: 42}
SD_V = 0.7
ITEMS_PER_TESTLET = 10
Z = float(norm.ppf(0.975))
AnyFit = TestletFit | FacetFit


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the grid."""

    n_raters: int
    n_items: int
    sd_b: float
    sd_u: float
    has_facet: bool

    def draw(self, rng: np.random.Generator) -> SimulatedResponses:
        return simulate_testlet(
            rng, n_raters=self.n_raters, n_items=self.n_items, n_testlets=self.n_items // ITEMS_PER_TESTLET,
            n_models=MODELS[self.n_raters] if self.has_facet else None, sd_b=self.sd_b, sd_u=self.sd_u,
            sd_v=SD_V if self.has_facet else 0.0,
        )  # fmt: skip

    def fit(self, x: SimulatedResponses) -> AnyFit:
        if self.has_facet:
            return fit_testlet_facet(x.responses, x.item_testlet, x.rater_model)
        return fit_testlet(x.responses, x.item_testlet)

    def seed(self) -> list[int]:
        return [self.n_raters, self.n_items, int(10 * self.sd_b), int(10 * self.sd_u), int(self.has_facet)]


def agreement(estimate: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return correlation, root mean squared error, and slope of truth on estimate."""
    r = float(np.corrcoef(estimate, truth)[0, 1])
    return r, float(np.sqrt(np.mean((estimate - truth) ** 2))), float(r * truth.std() / estimate.std())


@dataclass(frozen=True, slots=True)
class Replicate:
    """The numbers of one replicate, covered items by decile of b, the items of each decile, and CPU seconds.

    The last entry of the two counts is that of items that all raters answer alike, which are in no decile.
    """

    numbers: list[float]
    covered: list[float]
    items: list[int]
    seconds: float


def replicate(cell: Cell, x: SimulatedResponses) -> Replicate:
    """Fit simulated responses and compare the fit with the truth."""
    started = time.process_time()
    fit = cell.fit(x)
    seconds = time.process_time() - started
    right = x.responses.sum(axis=0)
    is_extreme = (right == 0) | (right == cell.n_raters)
    covered = np.abs(fit.b - x.b) <= Z * fit.b_se
    decile = np.minimum((10 * norm.cdf(x.b / cell.sd_b)).astype(int), 9)
    place = np.where(is_extreme, 10, decile)
    sd_v = fit.sd_v - SD_V if isinstance(fit, FacetFit) else np.nan
    numbers = [
        fit.is_converged, *agreement(fit.theta, x.theta), *agreement(fit.b, x.b),
        fit.sd_theta - 1.0, fit.sd_b - cell.sd_b, fit.sd_u - cell.sd_u, sd_v,
        np.mean(np.abs(fit.theta - x.theta) <= Z * fit.theta_se), np.mean(covered),
    ]  # fmt: skip
    counts = np.bincount(place, covered, 11).tolist(), np.bincount(place, minlength=11).tolist()
    return Replicate(np.array(numbers, dtype=float).tolist(), *counts, seconds)


def replicates_of(cell: Cell, count: int, keep: Path | None) -> list[Replicate]:
    """Return the first replicates of a cell; those that `keep` has are drawn again, as the next follow from them."""
    name = " ".join(map(str, cell.seed()))
    lines = keep.read_text(encoding="utf-8").splitlines() if keep is not None and keep.exists() else []
    kept = [Replicate(**line["found"]) for line in map(json.loads, lines) if line["cell"] == name][:count]
    rng = np.random.default_rng(cell.seed())
    for done in range(count):
        x = cell.draw(rng)
        if done < len(kept):
            continue
        kept.append(replicate(cell, x))
        if keep is not None:
            with keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"cell": name, "found": asdict(kept[-1])}) + "\n")
    return kept


def row(name: str, values: list[str]) -> str:
    return f"| {name} | " + " | ".join(values) + " |"


def grid(cells: Iterator[Cell], replicates: int, keep: Path | None) -> None:
    columns = (
        "raters × items, SD b, SD u, facet", "r θ", "RMSE θ", "slope θ", "r b", "RMSE b", "slope b", "bias SD θ",
        "bias SD b", "bias SD u", "bias SD v", "cover θ", "cover b", "by decile of b, easiest first", "extreme (share)",
        "replicates", "not converged", "CPU s a fit",
    )  # fmt: skip
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)
    largest = np.full(12, np.nan)
    for cell in cells:
        found = replicates_of(cell, replicates, keep)
        numbers = np.array([one.numbers for one in found])
        mean = numbers.mean(axis=0)
        largest = np.fmax(largest, numbers[:, 1:].std(axis=0, ddof=1) / np.sqrt(replicates))
        inside, of = np.sum([one.covered for one in found], axis=0), np.sum([one.items for one in found], axis=0)
        share = [f"{a / n:.2f}" if n else "–" for a, n in zip(inside, of, strict=True)]
        print(
            row(
                f"{cell.n_raters} × {cell.n_items}, {cell.sd_b:g}, {cell.sd_u:g}, {'yes' if cell.has_facet else 'no'}",
                [
                    *(f"{value:.3f}" for value in mean[1:7]),
                    *(f"{value:+.3f}" if np.isfinite(value) else "–" for value in mean[7:11]),
                    *(f"{value:.3f}" for value in mean[11:13]),
                    " ".join(share[:10]), f"{share[10]} ({of[10] / of.sum():.1%})", str(replicates),
                    str(int(np.sum(numbers[:, 0] == 0))), f"{np.mean([one.seconds for one in found]):.2f}",
                ],
            ),
            flush=True,
        )  # fmt: skip
    errors = [f"{value:.3f}" if np.isfinite(value) else "–" for value in largest]
    print(row("Monte-Carlo error", errors + ["–"] * (len(columns) - 1 - len(errors))))


def dependent(replicates: int) -> None:
    """Print what intervals for b cover where 21 raters are 3 models of 7: naive, clustered by model, with the facet."""
    found: dict[str, list[float]] = {"naive": [], "clustered by model": [], "model facet": []}
    for seed in range(replicates):
        rng = np.random.default_rng([3, 7, seed])
        x = simulate_testlet(rng, n_raters=21, n_items=300, n_testlets=30, n_models=3, sd_u=0.4, sd_v=1.0)
        plain = fit_testlet(x.responses, x.item_testlet)
        robust = cluster_robust_errors(x.responses, x.item_testlet, x.rater_model, plain)
        facet = fit_testlet_facet(x.responses, x.item_testlet, x.rater_model)
        known = np.isfinite(robust.b_se)
        for name, b, half in (
            ("naive", plain.b, Z * plain.b_se),
            ("clustered by model", plain.b, robust.critical * robust.b_se),
            ("model facet", facet.b, Z * facet.b_se),
        ):
            found[name].append(float(np.mean(np.abs(b - x.b)[known] <= half[known])))
    print("| intervals for b, 3 models × 7 raters | coverage | standard error of it |\n|---|---|---|")
    for name, values in found.items():
        print(row(name, [f"{np.mean(values):.3f}", f"{np.std(values) / np.sqrt(replicates):.3f}"]))


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--replicates", type=int, default=200)
    ask.add_argument("--raters", type=int, nargs="+", default=RATERS, choices=RATERS)
    ask.add_argument("--items", type=int, nargs="+", default=ITEMS, choices=ITEMS)
    ask.add_argument("--sd-b", type=float, nargs="+", default=SD_B, choices=SD_B)
    ask.add_argument("--sd-u", type=float, nargs="+", default=SD_U, choices=SD_U)
    ask.add_argument("--facet", nargs="+", default=("no", "yes"), choices=("no", "yes"))
    ask.add_argument("--keep", type=Path, help="file of replicates, one a line, which is added to")
    ask.add_argument("--dependent", action="store_true", help="only the table of 3 models x 7 raters")
    asked = ask.parse_args()
    if asked.dependent:
        dependent(asked.replicates)
        return
    cells = itertools.product(asked.facet, asked.items, asked.raters, asked.sd_b, asked.sd_u)
    grid((Cell(n, j, sd_b, sd_u, f == "yes") for f, j, n, sd_b, sd_u in cells), asked.replicates, asked.keep)


if __name__ == "__main__":
    main()
