"""Time this engine and, where there are any, its peers on the same simulated data: one thread, after a warm-up.

    python benchmarks/psychometrics.py [CASE ...] [--seconds 30]

``THETAHOUSE_PEERS`` names the Python of an environment with ``girth``, ``mirt``, ``theta-irt``, ``torch-measure`` or
``py-irt``; R's ``lme4`` and ``glmmTMB`` are used where ``Rscript`` finds them. Without any of them only this engine
runs, in less than two minutes. Each measurement is a process of its own, so that peak memory is its own too: the first
fit warms up, the second is timed. Prints CPU seconds, peak memory, error of the difficulties (about their mean, since
packages fix the origin differently) and correlation with the truth, and how many times the engine's CPU seconds a peer
takes. The truth of item-rest correlations is their definition.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from psychometric_peers import FITS, FITTED_BY, R_PACKAGES, Fit, fit_with_r, has_r

CASES = {
    "2pl-1000x100": ("2pl", 1000, 100),
    "2pl-10000x200": ("2pl", 10_000, 200),
    "rasch-2000x500": ("rasch", 2000, 500),
    "rasch-2000x20000": ("rasch", 2000, 20_000),
    "testlet-17x5000": ("testlet", 17, 5000),
    "testlet-17x5000-given": ("testlet_given", 17, 5000),
    "testlet-168x793-given": ("testlet_given", 168, 793),
    "testlet-2000x20000-given": ("testlet_given", 2000, 20_000),
    "item-rest-10000x10000": ("item_rest", 10_000, 10_000),
}
"""Model, persons (raters) and items; testlets have ten items each. Responses are one byte a cell."""
PEER_CELLS = 3_000_000  # a larger table takes a peer longer than a benchmark may last; BLAS is not meant
THREADS = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    ),
}
ENGINE = "thetahouse"


def simulate(model: str, n_persons: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260401)
    slope = rng.lognormal(0.0, 0.3, n_items) if model == "2pl" else np.ones(n_items)
    b, theta = rng.normal(size=n_items), rng.normal(size=n_persons)
    values = np.empty((n_persons, n_items), dtype=np.uint8)
    for i in range(n_persons):
        u = np.repeat(rng.normal(0.0, 0.5, n_items // 10 + 1), 10)[:n_items] if "testlet" in model else 0.0
        values[i] = rng.random(n_items) < 1 / (1 + np.exp(-slope * (theta[i] + u - b)))
    return (values, item_rest(values)) if model == "item_rest" else (values, b)


def item_rest(values: np.ndarray, n_items: int = 50) -> np.ndarray:
    """Item-rest correlations of the first items by their definition, NaN for the others."""
    found, total = np.full(values.shape[1], np.nan), values.sum(axis=1, dtype=float)
    found[:n_items] = [np.corrcoef(values[:, j], total - values[:, j])[0, 1] for j in range(n_items)]
    return found


def engine(model: str) -> Fit:
    from analytics.ctt.items import item_statistics
    from analytics.irt.logistic import fit_logistic
    from analytics.irt.model_spec import MarginalOptions
    from analytics.irt.rasch import fit_rasch
    from analytics.irt.reading import responses_from_matrix
    from analytics.irt.testlet import fit_testlet
    from analytics.irt.testlet_result import TestletOptions

    if model == "item_rest":
        return lambda values: item_statistics(values).item_rest_r
    if "testlet" in model:
        given = TestletOptions("given", 1.0, 1.0, 0.5, tolerance=1e-4, standard_errors=False)
        options = given if model == "testlet_given" else TestletOptions()
        return lambda values: fit_testlet(values, np.arange(values.shape[1]) // 10, options).b
    marginal = MarginalOptions(se_method="none", tolerance=1e-3)  # peers give no standard errors

    def fit(values: np.ndarray) -> np.ndarray:
        data = responses_from_matrix(values)
        found = fit_rasch(data, options=marginal) if model == "rasch" else fit_logistic(data, options=marginal)
        return found.items.thresholds[:, 0]

    return fit


def measure(who: str, case: str, most_seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))
    model, n_persons, n_items = CASES[case]
    values, truth = simulate(model, n_persons, n_items)
    if who in R_PACKAGES:
        b, seconds = fit_with_r(who, values)
    else:
        fit = engine(model) if who == ENGINE else FITS[who](model)
        # theta compiles anew for every shape, and this engine's large data have compiled loops of their own
        fit(values if who in ("theta", ENGINE) else values[:200, :200])
        start = time.process_time()
        b = np.ravel(fit(values))
        seconds = time.process_time() - start
    known = np.isfinite(b) & np.isfinite(truth)
    whose = resource.RUSAGE_CHILDREN if who in R_PACKAGES else resource.RUSAGE_SELF
    error = b[known] - truth[known]
    found = {
        "cpu_seconds": seconds,
        "peak_mb": resource.getrusage(whose).ru_maxrss / 1024,
        "rmse": float(np.sqrt(np.mean(error**2))) if model == "item_rest" else float(error.std()),
        "r": float(np.corrcoef(b[known], truth[known])[0, 1]),
    }
    print(json.dumps(found))


def measured(who: str, python: str, case: str, most_seconds: int) -> dict[str, float] | str:
    """Run one measurement; a text says why there is none."""
    environment = {**os.environ, **THREADS, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    command = [python, __file__, "--measure", who, case, "--seconds", str(most_seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0 or "ended by the limit" in done.stderr:
        return f"not done in {most_seconds} CPU seconds"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peers_of(case: str, packages: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the peers that can fit a case and the Python that runs each."""
    model, n_persons, n_items = CASES[case]
    python = os.environ.get("THETAHOUSE_PEERS")
    is_small = n_persons * n_items <= PEER_CELLS
    runs = [(who, sys.executable) for who in FITTED_BY[model] if who == "blas" or (who in packages and is_small)]
    if python and is_small:
        runs += [(who, python) for who in FITTED_BY[model] if who not in ("blas", *R_PACKAGES)]
    return runs


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("cases", nargs="*", metavar="CASE", help=f"one or more of {', '.join(CASES)}; all if none")
    ask.add_argument("--seconds", type=int, default=30, help="CPU seconds that one measurement may take")
    ask.add_argument("--measure", metavar="WHO", help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if unknown := set(asked.cases) - set(CASES):
        ask.error(f"unknown case {sorted(unknown)[0]!r}; expected one of {', '.join(CASES)}")
    if asked.measure:
        measure(asked.measure, asked.cases[0], asked.seconds)
        return
    packages = tuple(package for package in R_PACKAGES if has_r(package))
    print(f"{'case':<26}{'who':<15}{'CPU s':>9}{'peak MB':>9}{'RMSE':>8}{'r':>8}{'ratio':>8}")
    for case in asked.cases or CASES:
        own = float("nan")
        for who, python in [(ENGINE, sys.executable), *peers_of(case, packages)]:
            found = measured(who, python, case, asked.seconds)
            if isinstance(found, str):
                print(f"{case:<26}{who:<15}  {found}", flush=True)
                continue
            own = found["cpu_seconds"] if who == ENGINE else own
            print(
                f"{case:<26}{who:<15}{found['cpu_seconds']:>9.3f}{found['peak_mb']:>9.0f}"
                f"{found['rmse']:>8.3f}{found['r']:>8.4f}{found['cpu_seconds'] / own:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
