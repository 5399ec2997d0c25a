"""Time this engine and, where there is one, a peer on the same simulated data, one thread, after a warm-up.

``THETAHOUSE_PEERS`` names the Python of an environment that has ``girth``; without it only this engine runs. Each
measurement is a process of its own, so that peak memory is its own too.
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
    "rasch-2000x20000": ("rasch", 2000, 20_000),
}
PEER_CELLS = 3_000_000  # larger tables take the peer longer than a benchmark may last
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def simulate(model: str, n_persons: int, n_items: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20260401)
    slope = rng.lognormal(0.0, 0.3, n_items) if model == "2pl" else np.ones(n_items)
    b, theta = rng.normal(size=n_items), rng.normal(size=n_persons)
    values = np.empty((n_persons, n_items), dtype=np.uint8)
    for i in range(n_persons):
        values[i] = rng.random(n_items) < 1 / (1 + np.exp(-slope * (theta[i] - b)))
    return values, b


def engine(model: str) -> Callable[[np.ndarray], np.ndarray]:
    from analytics.irt.logistic import fit_logistic
    from analytics.irt.model_spec import MarginalOptions
    from analytics.irt.rasch import fit_rasch
    from analytics.irt.reading import responses_from_matrix

    options = MarginalOptions(se_method="none", tolerance=1e-3)  # peers give no standard errors

    def fit(values: np.ndarray) -> np.ndarray:
        data = responses_from_matrix(values)
        found = fit_rasch(data, options=options) if model == "rasch" else fit_logistic(data, options=options)
        return found.items.thresholds[:, 0]

    return fit


def girth(model: str) -> Callable[[np.ndarray], np.ndarray]:
    import girth as peer

    estimate = peer.rasch_mml if model == "rasch" else peer.twopl_mml
    return lambda values: np.asarray(estimate(values.T.astype(int))["Difficulty"])


def measure(who: str, case: str) -> None:
    model, n_persons, n_items = CASES[case]
    values, truth = simulate(model, n_persons, n_items)
    fit = engine(model) if who == "thetahouse" else girth(model)
    fit(values[:200, :20])
    start = time.process_time()
    b = fit(values)
    seconds = time.process_time() - start
    known = np.isfinite(b)
    print(
        json.dumps(
            {
                "cpu_seconds": seconds,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "rmse": float(np.sqrt(np.mean((b[known] - truth[known]) ** 2))),
                "r": float(np.corrcoef(b[known], truth[known])[0, 1]),
            }
        )
    )


def main() -> None:
    peers = os.environ.get("THETAHOUSE_PEERS")
    home = str(Path(__file__).resolve().parent.parent)
    print(f"{'case':<18}{'who':<12}{'CPU s':>9}{'peak MB':>9}{'RMSE b':>8}{'r b':>8}{'ratio':>8}")
    for case, (_, n_persons, n_items) in CASES.items():
        runs = [("thetahouse", sys.executable)]
        if peers and n_persons * n_items <= PEER_CELLS:
            runs.append(("girth", peers))
        own = 0.0
        for who, python in runs:
            done = subprocess.run(
                [python, __file__, who, case],
                env={**os.environ, **THREADS, "PYTHONPATH": home},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"{case:<18}{who:<12}  failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            own = found["cpu_seconds"] if who == "thetahouse" else own
            ratio = found["cpu_seconds"] / own if own else float("nan")
            print(
                f"{case:<18}{who:<12}{found['cpu_seconds']:>9.3f}{found['peak_mb']:>9.0f}"
                f"{found['rmse']:>8.3f}{found['r']:>8.4f}{ratio:>8.1f}"
            )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], sys.argv[2])
    else:
        main()
