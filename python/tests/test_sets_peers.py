"""Thresholds and sets against MAPIE and TorchCP, where they are installed.

Same work: one member, u = 1. Differences of definition that the tests name:

* MAPIE's ``aps`` draws u for the calibration scores and none for the test samples: its sets are larger
  (include_last_label=True) or smaller (False) than promised, and there is nothing to compare.
* TorchCP's quantile is that order statistic too; its sets hold classes whose score is at most the threshold.
* TorchCP's ``topk`` and ``margin`` scores are ours. MAPIE has neither.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

import vargate

RNG = np.random.default_rng(11)
C, N = 10, 400
P = RNG.dirichlet(np.full(C, 0.3), size=2 * N)
Y = np.array([RNG.choice(C, p=row) for row in P])
CAL, TEST = slice(0, N), slice(N, None)


def ours(score: Any, **options: Any) -> tuple[float, Any]:
    made = vargate.Conformal(score=score, alpha=0.1, **options).fit(P[CAL], Y[CAL])
    return float(made.thresholds[0, 0]), made.sets(P[TEST]).mask[:, 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("score", ["lac", "top_k"])
def test_mapie(score: str) -> None:
    mapie = pytest.importorskip("mapie.classification")
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Predicts the row of P whose number it is given."""

        def fit(self, X: Any, y: Any) -> Any:
            self.classes_, self.n_features_in_, self.fitted_ = np.arange(C), 1, True
            return self

        def predict_proba(self, X: Any) -> Any:
            return P[np.asarray(X)[:, 0].astype(int)]

        def predict(self, X: Any) -> Any:
            return self.predict_proba(X).argmax(axis=1)

    rows = np.arange(2 * N)[:, None].astype(float)
    made = mapie.SplitConformalClassifier(Given().fit(rows, Y), confidence_level=0.9, conformity_score=score)
    made.conformalize(rows[CAL], Y[CAL])
    _, found = made.predict_set(rows[TEST])
    _, mask = ours("topk" if score == "top_k" else score)
    assert np.array_equal(found[:, :, 0], mask)


def torchcp() -> Any:
    pytest.importorskip("torch")
    try:
        importlib.import_module("torchsort")
    except ImportError:  # only a training loss of TorchCP needs it
        stub = types.ModuleType("torchsort")
        stub.__dict__.update(soft_rank=None, soft_sort=None)
        sys.modules["torchsort"] = stub
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ImportError):  # its other parts, which we do not need, want more packages
            importlib.import_module("torchcp")
        try:
            return importlib.import_module("torchcp.classification.score"), importlib.import_module(
                "torchcp.classification.predictor"
            )
        except ImportError as error:
            pytest.skip(f"TorchCP cannot be imported: {error}")


@pytest.mark.parametrize(("name", "score"), [("LAC", "lac"), ("APS", "aps"), ("RAPS", "raps"), ("TOPK", "topk")])
def test_torchcp(name: str, score: str) -> None:
    scores, predictors = torchcp()
    import torch

    given: dict[str, Any] = {} if name == "LAC" else {"randomized": False}
    if name == "RAPS":
        given |= {"penalty": 0.05, "kreg": 2}
    function = getattr(scores, name)(score_type="identity", **given)
    made = predictors.SplitPredictor(function)
    made.calculate_threshold(torch.tensor(P[CAL]), torch.tensor(Y[CAL]), 0.1)
    found = made.predict_with_logits(torch.tensor(P[TEST])).numpy().astype(bool)
    options: dict[str, Any] = {"randomise": False} if score in ("aps", "raps") else {}
    if score == "raps":
        options |= {"lam": 0.05, "k_reg": 2}
    threshold, mask = ours(score, **options)
    assert float(made.q_hat) == pytest.approx(threshold, abs=1e-6)
    assert (
        found != mask
    ).mean() < 1e-3  # TorchCP computes in the type it is given; a score at the threshold may differ
