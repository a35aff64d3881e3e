"""Prediction sets by vargate, MAPIE and TorchCP on the same work, in one run.

    python bench/peers/sets_peers.py [SAMPLES] [CLASSES] [CALIBRATION]

Calibrate on CALIBRATION samples and make the sets of SAMPLES others, at one alpha and at five, from the same mean
probabilities in memory: the peers take no members. vargate and TorchCP read float32, MAPIE, which computes in float64,
float64. aps and raps have u = 1 (MAPIE: no u for test samples). BENCH_THREADS threads each, 2 by default. `seconds` and
`ratio` are of the least CPU time of the runs, which on a shared machine is more reliable than the wall time; give it
BENCH_THREADS=1, because threads that wait for others count as busy. `wall_seconds` and `wall_ratio` are of the wall
time. Sets are compared. One JSON line for each figure. A peer that is not installed is left out. At the end the rate of
sets from ten members, beside that of scoring them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import vargate

ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2)
LAMBDA, K_REG = 0.01, 5
THREADS = int(os.environ.get("BENCH_THREADS", "2"))


def least(work: Callable[[], Any], most: float = 8) -> tuple[float, float, Any]:
    """CPU and wall seconds of the fastest of up to seven runs, which end after `most` seconds, and the result."""
    found: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(found) < 7 and (not found or time.perf_counter() - start < most):
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(c for c, _ in found), min(w for _, w in found), result


def by_vargate(score: str, p: Any, y: Any, n: int, alphas: tuple[float, ...]) -> Callable[[], Any]:
    options: dict[str, Any] = {"randomise": False} if score != "lac" else {}
    options |= {"lam": LAMBDA, "k_reg": K_REG} if score == "raps" else {}

    def work() -> Any:
        made = vargate.Conformal(score=score, alpha=alphas, threads=THREADS, **options)  # type: ignore[arg-type]
        return made.fit(p[:n], y[:n]).sets(p[n:])

    return work


def by_mapie(score: str, p: Any, y: Any, n: int, alphas: tuple[float, ...]) -> Callable[[], Any]:
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    if score == "raps":  # MAPIE tunes it on a further split, which is other work
        raise ImportError
    given = p.astype(np.float64)

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, _: Any) -> Any:
            self.classes_, self.n_features_in_, self.fitted_ = np.arange(p.shape[1]), 1, True
            return self

        def predict_proba(self, X: Any) -> Any:
            first = int(X[0, 0])
            return given[first : first + len(X)]

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), int)

    rows = np.arange(len(p))[:, None].astype(float)
    levels = [1 - alpha for alpha in alphas]

    def work() -> Any:
        made = SplitConformalClassifier(Given().fit(rows, y), confidence_level=levels, conformity_score=score)
        return made.conformalize(rows[:n], y[:n]).predict_set(rows[n:])[1]

    return work


def by_torchcp(score: str, p: Any, y: Any, n: int, alphas: tuple[float, ...]) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(THREADS)
    if "torchsort" not in sys.modules:  # only a training loss needs it
        sys.modules["torchsort"] = types.ModuleType("torchsort")
        sys.modules["torchsort"].__dict__.update(soft_rank=None, soft_sort=None)
    with contextlib.suppress(ImportError):  # its other parts want more packages
        importlib.import_module("torchcp")
    from torchcp.classification.predictor import SplitPredictor
    from torchcp.classification.score import APS, LAC, RAPS

    values, labels = torch.tensor(p), torch.tensor(y)
    function = {
        "lac": lambda: LAC(score_type="identity"),
        "aps": lambda: APS(score_type="identity", randomized=False),
        "raps": lambda: RAPS(score_type="identity", randomized=False, penalty=LAMBDA, kreg=K_REG),
    }[score]()

    def work() -> Any:
        made, found = SplitPredictor(function), []
        for alpha in alphas:
            made.calculate_threshold(values[:n], labels[:n], alpha)
            found.append(made.predict_with_logits(values[n:]))
        return found

    return work


def print_rates(samples: int, c: int) -> None:
    """Sets from ten members in one pass, and scoring of the same samples: the means alone, and all measures."""
    rng = np.random.default_rng(1)
    p = rng.standard_gamma(0.1, size=(samples, 10, c)).astype(np.float32) + np.float32(1e-6)
    p /= p.sum(axis=-1, keepdims=True)
    y = p.mean(axis=1).argmax(axis=1)
    means = least(lambda: vargate.score(p, measures="mean", threads=THREADS))[0]
    scores = least(lambda: vargate.score(p, threads=THREADS))[0]
    for score in ("lac", "aps", "snr"):
        made = vargate.Conformal(score=score, threads=THREADS).fit(p[:5000], y[:5000])  # type: ignore[arg-type]
        seconds = least(lambda made=made: made.sets(p))[0]
        line = {"bench": "sets", "score": score, "n": samples, "members": 10, "classes": c, "threads": THREADS}
        line |= {"seconds": seconds, "rate_of_means": means / seconds, "rate_of_scoring": scores / seconds}
        print(json.dumps(line), flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    samples, c, n = (int(sys.argv[i]) if len(sys.argv) > i else (100000, 100, 20000)[i - 1] for i in (1, 2, 3))
    rng = np.random.default_rng(0)
    p = rng.standard_gamma(0.1, size=(samples + n, c)).astype(np.float32) + np.float32(1e-7)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.uniform(size=(samples + n, 1), high=0.999)).argmax(axis=1)
    for score in ("lac", "aps", "raps"):
        for alphas in ((0.1,), ALPHAS):
            ours = by_vargate(score, p, y, n, alphas)
            for peer, make in (("mapie", by_mapie), ("torchcp", by_torchcp)):
                try:
                    theirs, their_wall, sets = least(make(score, p, y, n, alphas))
                except ImportError:
                    continue
                seconds, wall, found = least(ours)  # after the peer's, so that both see the same machine
                if isinstance(sets, list):
                    sets = np.stack([one[:2000].numpy() for one in sets], axis=2)
                same = float((np.asarray(sets[:2000], bool) == found.mask[:2000].transpose(0, 2, 1)).mean())
                if (score == "lac" or peer == "torchcp") and same < 0.999:
                    raise SystemExit(f"{peer}: other sets than ours ({score}, {100 * same:.2f} % agree)")
                line = {"bench": "sets", "score": score, "n": samples, "calibration": n, "classes": c}
                line |= {
                    "alphas": len(alphas),
                    "threads": THREADS,
                    "seconds": seconds,
                    "wall_seconds": wall,
                    "cpu": vargate.cpu_tier(),
                }
                line |= {"peer": peer, "peer_seconds": theirs, "peer_wall_seconds": their_wall}
                line |= {"ratio": theirs / seconds, "wall_ratio": their_wall / wall}
                print(json.dumps(line), flush=True)
    print_rates(samples // 2, c)


if __name__ == "__main__":
    main()
