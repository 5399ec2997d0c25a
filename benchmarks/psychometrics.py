"""Time this engine and, where there are any, its peers on the same simulated data: one thread, after a warm-up.

    python benchmarks/psychometrics.py

``THETAHOUSE_PEERS`` names the Python of an environment with ``girth``, ``mirt`` or ``theta-irt``; without it only this
engine runs, in less than two minutes. Each measurement is a process of its own, so that peak memory is its own too: the
first fit warms up, the second is timed. Prints CPU seconds, peak memory, error and correlation of the difficulties with
the truth, and how many times the engine's CPU seconds a peer takes.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

CASES = {
    "2pl-1000x100": ("2pl", 1000, 100),
    "2pl-10000x200": ("2pl", 10_000, 200),
    "rasch-2000x500": ("rasch", 2000, 500),
    "rasch-2000x20000": ("rasch", 2000, 20_000),
    "testlet-17x5000": ("testlet", 17, 5000),
    "testlet-17x5000-given": ("testlet_given", 17, 5000),
    "testlet-168x793-given": ("testlet_given", 168, 793),
}
"""Model, persons (raters) and items; testlets have ten items each."""
PEERS = ("girth", "mirt", "theta")
PEER_CELLS = 3_000_000  # larger tables take a peer longer than a benchmark may last
LONGEST = 30  # CPU seconds that one measurement may take
THREADS = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    ),
}

Fit = Callable[[np.ndarray], np.ndarray]


def simulate(model: str, n_persons: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260401)
    slope = rng.lognormal(0.0, 0.3, n_items) if model == "2pl" else np.ones(n_items)
    b, theta = rng.normal(size=n_items), rng.normal(size=n_persons)
    values = np.empty((n_persons, n_items), dtype=np.uint8)
    for i in range(n_persons):
        u = np.repeat(rng.normal(0.0, 0.5, n_items // 10 + 1), 10)[:n_items] if "testlet" in model else 0.0
        values[i] = rng.random(n_items) < 1 / (1 + np.exp(-slope * (theta[i] + u - b)))
    return values, b


def engine(model: str) -> Fit:
    from analytics.irt.logistic import fit_logistic
    from analytics.irt.model_spec import MarginalOptions
    from analytics.irt.rasch import fit_rasch
    from analytics.irt.reading import responses_from_matrix
    from analytics.irt.testlet import fit_testlet
    from analytics.irt.testlet_result import TestletOptions

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


FITS = {"thetahouse": engine, "girth": girth, "mirt": mirt, "theta": theta}


def measure(who: str, case: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    model, n_persons, n_items = CASES[case]
    values, truth = simulate(model, n_persons, n_items)
    fit = FITS[who](model)
    fit(values if who == "theta" else values[:200, :200])  # theta compiles anew for every shape
    start = time.process_time()
    b = np.ravel(fit(values))
    seconds = time.process_time() - start
    known = np.isfinite(b)
    found = {
        "cpu_seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rmse": float(np.sqrt(np.mean((b[known] - truth[known]) ** 2))),
        "r": float(np.corrcoef(b[known], truth[known])[0, 1]),
    }
    print(json.dumps(found))


def measured(who: str, python: str, case: str) -> dict[str, float] | str:
    """Run one measurement; a text says why there is none."""
    environment = {**os.environ, **THREADS, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    command = [python, __file__, who, case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return f"not done in {LONGEST} CPU seconds"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    peers = os.environ.get("THETAHOUSE_PEERS")
    print(f"{'case':<24}{'who':<12}{'CPU s':>9}{'peak MB':>9}{'RMSE b':>8}{'r b':>8}{'ratio':>8}")
    for case, (model, n_persons, n_items) in CASES.items():
        runs = [("thetahouse", sys.executable)]
        if peers and n_persons * n_items <= PEER_CELLS and "testlet" not in model:
            runs += [(peer, peers) for peer in PEERS]
        own = float("nan")
        for who, python in runs:
            found = measured(who, python, case)
            if isinstance(found, str):
                print(f"{case:<24}{who:<12}  {found}", flush=True)
                continue
            own = found["cpu_seconds"] if who == "thetahouse" else own
            print(
                f"{case:<24}{who:<12}{found['cpu_seconds']:>9.3f}{found['peak_mb']:>9.0f}"
                f"{found['rmse']:>8.3f}{found['r']:>8.4f}{found['cpu_seconds'] / own:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], sys.argv[2])
    else:
        main()
