"""Calibrators against netcal and scikit-learn on the same data, in the same process, one thread each.

    build/python-venv/bin/python bench/peers/calibrators.py [--samples N] [--classes C]

Prints one JSON line per method: CPU seconds of ours and of the peer (best of three), and the NLL that both reach on the
samples they were fitted to. The time of ours is that of the fit alone (folds=0), probabilities of one member in, the
map out; the figures before and after are part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import vargate


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def problem(n: int, c: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, c, n)
    z = 2.2 * np.eye(c)[y] + rng.normal(size=(n, c))
    return softmax(2 * (z + 0.5 * np.arange(c) / c)), y


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    times, out = [], None
    for _ in range(3):
        start = time.process_time()
        out = run()
        times.append(time.process_time() - start)
    return min(times), out


def nll(p: Any, y: Any) -> float:
    p = p / p.sum(axis=1, keepdims=True)
    return float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)).mean())


def netcal(name: str, p: Any, y: Any) -> tuple[float, float]:
    from netcal import binning, scaling

    kinds = {
        "temperature": scaling.TemperatureScaling,
        "vector": scaling.LogisticCalibration,
        "isotonic": binning.IsotonicRegression,
        "histogram": lambda: binning.HistogramBinning(bins=15),
    }
    seconds, fitted = best(lambda: kinds[name]().fit(p, y))
    return seconds, nll(np.asarray(fitted.transform(p)), y)


def sklearn(name: str, p: Any, y: Any) -> tuple[float, float]:
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    c = p.shape[1]
    if name == "dirichlet":
        x = np.log(np.maximum(p, 1e-12))
        seconds, fitted = best(lambda: LogisticRegression(C=np.inf, max_iter=10000, tol=1e-6).fit(x, y))
        return seconds, nll(fitted.predict_proba(x), y)
    seconds, fitted = best(
        lambda: [IsotonicRegression(out_of_bounds="clip").fit(p[:, k], (y == k).astype(float)) for k in range(c)]
    )
    return seconds, nll(np.stack([f.predict(p[:, k]) for k, f in enumerate(fitted)], axis=1), y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--classes", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    p, y = problem(asked.samples, asked.classes)
    peers = [("netcal", netcal, name) for name in ("temperature", "vector", "isotonic", "histogram")]
    peers += [("scikit-learn", sklearn, name) for name in ("dirichlet", "isotonic")]
    for peer, run, name in peers:
        extra = {"off_diagonal": 0.0, "intercept": 0.0} if name == "dirichlet" else {}
        seconds, found = best(
            lambda name=name, extra=extra: vargate.calibrate(
                p, y, method=name, mean=True, probabilities=True, folds=0, threads=1, **extra
            )
        )
        line = {"bench": "calibrate", "method": name, "samples": asked.samples, "classes": asked.classes}
        line |= {"tier": vargate.cpu_tier(), "seconds": seconds, "nll": found.nll_after, "peer": peer}
        try:
            line["peer_seconds"], line["peer_nll"] = run(name, p, y)
            line["times_faster"] = line["peer_seconds"] / seconds
        except ImportError as error:
            line["missing"] = str(error)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
