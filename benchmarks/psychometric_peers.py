"""Fits of other packages, each a function from responses (persons x items, one byte a cell) to item estimates.

Imported by ``psychometrics.py`` inside the process of one measurement; a package is imported when its fit is asked for.
Difficulties have the sign of this house: harder is higher.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

Fit = Callable[[np.ndarray], np.ndarray]

R_PROGRAM = """
suppressMessages(library({package}))
y <- as.matrix(read.csv("{folder}/responses.csv", header = FALSE))
long <- data.frame(right = as.vector(y), rater = factor(row(y)), item = factor(col(y)))
long$testlet <- factor((as.integer(long$item) - 1L) %/% 10L)
spent <- system.time(
  fit <- {fit}(right ~ 1 + (1 | rater) + (1 | rater:testlet) + (1 | item), data = long, family = binomial)
)
b <- -{effects}
write.csv(data.frame(b = b[match(levels(long$item), rownames({table}))]), "{folder}/b.csv", row.names = FALSE)
cat(spent[["user.self"]] + spent[["sys.self"]], "\\n")
"""


def girth(model: str) -> Fit:
    import girth as peer

    estimate = peer.rasch_mml if model == "rasch" else peer.twopl_mml
    return lambda values: np.asarray(estimate(values.T.astype(int))["Difficulty"])


def mirt(model: str) -> Fit:
    import mirt as peer

    name = "1PL" if model == "rasch" else "2PL"
    return lambda values: peer.fit_mirt(values.astype(int), name, compute_standard_errors=False).model.difficulty


def theta(model: str) -> Fit:
    import theta as peer

    return lambda values: peer.fit(values.astype(float), "1PL" if model == "rasch" else "2PL").b


def py_irt(model: str) -> Fit:
    from py_irt.config import IrtConfig
    from py_irt.training import IrtModelTrainer

    def fit(values: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "responses.jsonlines"
            rows = ({"subject_id": str(i), "responses": {str(j): int(y) for j, y in enumerate(row)}}
                    for i, row in enumerate(values))  # fmt: skip
            file.write_text("\n".join(json.dumps(row) for row in rows))
            config = IrtConfig(model_type="1pl" if model == "rasch" else "2pl", log_every=10_000, priors="hierarchical")
            trainer = IrtModelTrainer(data_path=file, config=config)
            trainer.train(device="cpu")
        found = trainer.best_params
        b = np.empty(values.shape[1])
        b[[int(label) for label in found["item_ids"].values()]] = np.ravel(found["diff"])
        return b

    return fit


def torch_measure(_model: str) -> Fit:
    import torch
    from torch_measure.models.testlet import TestletRasch

    torch.set_num_threads(1)

    def fit(values: np.ndarray) -> np.ndarray:
        testlet = torch.arange(values.shape[1]) // 10
        found = TestletRasch(*values.shape, testlet)
        found.fit(torch.as_tensor(values, dtype=torch.float32), verbose=False)
        return found.difficulty.detach().numpy()

    return fit


def blas(_model: str) -> Fit:
    """Item-rest correlations by sums of products in one matrix product, made float32 for BLAS."""

    def fit(values: np.ndarray) -> np.ndarray:
        x = values.astype(np.float32)
        total = x.sum(axis=1, dtype=np.float64)
        total -= total.mean()
        n, mean = len(x), x.mean(axis=0, dtype=np.float64)
        with_total, variance = total.astype(np.float32) @ x / n, mean * (1 - mean)
        rest = np.mean(total**2) - 2 * with_total + variance
        return (with_total - variance) / np.sqrt(variance * rest)

    return fit


def fit_with_r(package: str, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit the testlet model in R; return difficulties and the CPU seconds of the fit alone."""
    how = {
        "lme4": ("glmer", 'ranef(fit)$item[["(Intercept)"]]', "ranef(fit)$item"),
        "glmmTMB": ("glmmTMB", 'ranef(fit)$cond$item[["(Intercept)"]]', "ranef(fit)$cond$item"),
    }
    fit, effects, table = how[package]
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "responses.csv", values, fmt="%d", delimiter=",")
        program = R_PROGRAM.format(package=package, folder=folder, fit=fit, effects=effects, table=table)
        done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "ended by the limit")
        b = np.genfromtxt(Path(folder) / "b.csv", skip_header=1)
    return b, float(done.stdout.split()[-1])


def has_r(package: str) -> bool:
    """Whether R and a package of it are there."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", f"library({package})"], capture_output=True, check=False).returncode == 0


FITS: dict[str, Callable[[str], Fit]] = {
    "girth": girth, "mirt": mirt, "theta": theta, "py_irt": py_irt, "torch_measure": torch_measure, "blas": blas,
}  # fmt: skip
R_PACKAGES = ("glmmTMB", "lme4")
FITTED_BY = {
    "rasch": ("girth", "mirt", "theta", "py_irt"),
    "2pl": ("girth", "mirt", "theta", "py_irt"),
    "testlet": ("torch_measure", *R_PACKAGES),
    "testlet_given": ("torch_measure",),
    "item_rest": ("blas",),
}
"""Which peers fit which model."""
