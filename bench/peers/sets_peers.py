"""Prediction sets by vargate, MAPIE and TorchCP on the same work: calibrate on n samples, make the sets of n others.

    python bench/peers/sets_peers.py [N] [CLASSES]

One member of float64 probabilities in memory, lac and aps (TorchCP: u = 1), the least CPU time of five runs, one JSON
line for each figure with the peer's time and the ratio. Sets are compared for lac. A peer that is not installed is left
out.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import vargate


def least(work: Callable[[], Any]) -> tuple[float, Any]:
    seconds, result = [], None
    for _ in range(5):
        begin = time.process_time()
        result = work()
        seconds.append(time.process_time() - begin)
    return min(seconds), result


def by_mapie(score: str, p: Any, y: Any, n: int) -> Callable[[], Any]:
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, X: Any, _: Any) -> Any:
            self.classes_, self.n_features_in_, self.fitted_ = np.arange(p.shape[1]), 1, True
            return self

        def predict_proba(self, X: Any) -> Any:
            return p[X[:, 0].astype(int)]

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), int)

    rows = np.arange(2 * n)[:, None].astype(float)

    def work() -> Any:
        made = SplitConformalClassifier(Given().fit(rows, y), confidence_level=0.9, conformity_score=score)
        return made.conformalize(rows[:n], y[:n]).predict_set(rows[n:])[1][:, :, 0]

    return work


def by_torchcp(score: str, p: Any, y: Any, n: int) -> Callable[[], Any]:
    import torch

    if "torchsort" not in sys.modules:  # only a training loss needs it
        sys.modules["torchsort"] = types.ModuleType("torchsort")
        sys.modules["torchsort"].__dict__.update(soft_rank=None, soft_sort=None)
    with contextlib.suppress(ImportError):  # its other parts want more packages
        importlib.import_module("torchcp")
    from torchcp.classification.predictor import SplitPredictor
    from torchcp.classification.score import APS, LAC

    values, labels = torch.tensor(p), torch.tensor(y)
    function = LAC(score_type="identity") if score == "lac" else APS(score_type="identity", randomized=False)

    def work() -> Any:
        made = SplitPredictor(function)
        made.calculate_threshold(values[:n], labels[:n], 0.1)
        return made.predict_with_logits(values[n:]).numpy().astype(bool)

    return work


def main() -> None:
    warnings.simplefilter("ignore")
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    c = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(c, 0.1), size=2 * n)
    y = (p.cumsum(axis=1) > rng.uniform(size=(2 * n, 1))).argmax(axis=1)
    for score in ("lac", "aps"):
        options: dict[str, Any] = {"score": score, "randomise": False if score == "aps" else None}
        seconds, found = least(lambda o=options: vargate.Conformal(**o).fit(p[:n], y[:n]).sets(p[n:]))
        for peer, make in (("mapie", by_mapie), ("torchcp", by_torchcp)):
            try:
                theirs, sets = least(make(score, p, y, n))
            except ImportError:
                continue
            if score == "lac" and float((sets != found.mask[:, 0]).mean()) > 1e-4:
                raise SystemExit(f"{peer}: other sets than ours")
            line = {
                "bench": "sets",
                "score": score,
                "n": n,
                "classes": c,
                "seconds": seconds,
                "cpu": vargate.cpu_tier(),
            }
            print(json.dumps({**line, "peer": peer, "peer_seconds": theirs, "ratio": theirs / seconds}))


if __name__ == "__main__":
    main()
