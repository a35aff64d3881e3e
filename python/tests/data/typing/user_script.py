"""What a user of the core package writes; checked by mypy --strict and pyright, never run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import vargate

p: npt.NDArray[np.float64] = np.random.default_rng(0).dirichlet(np.ones(3), size=(100, 5))
y = p.mean(axis=1).argmax(axis=1)

s = vargate.score(
    p, k=np.arange(1, 3), labels=y, preset="vge", measures="tu,gtu@1", axes="NMC", sigma="sample", log_base="2"
)
one: vargate.Scores = vargate.score(p, k=np.float32(1), threads=2)
tu: npt.NDArray[np.float64] = one.tu
column = one["gtu@1"]
decided: npt.NDArray[np.int32] = vargate.decide(p, k=2.0, logits=False)
with vargate.Scorer(k=(1, 2), logits=True, temperature=2.0, multilabel_form="continuous") as scorer:
    diversity: float = scorer.diversity
e: vargate.Evaluation = vargate.evaluate(p, y, bins=10, bootstrap=100, k=1.0, measures=["tu"], renormalise=True)
aurc: float = e.measures["tu"].aurc
o: vargate.Ood = vargate.ood(p, {"noise": p}, bootstrap=10, k=[1.0, 2.0], pairs="distinct")
chosen: vargate.Selection = vargate.select_k(
    p, y, target_risk=0.1, multiplicity="auto", preset="paper", must_meet=False
)
threshold: vargate.Selection = vargate.select_threshold(p, y, by="gtu@2", target_coverage=0.5, threads=1)
kept: npt.NDArray[np.int32] = one.decide(chosen)
fit: vargate.Calibration = vargate.calibrate(np.log(p), y, solver="both", shared=True)
scaled = vargate.score(np.log(p), logits=True, temperature=fit)
error: float = vargate.ece(p.mean(axis=1), y, bins=np.int64(10).item())
rank = vargate.rank(one.tu, y != 0).aurc
found = vargate.detect(one.tu, one.eu).auroc
text: str = str(one.summary())
one.save("scores.npz")
gates: vargate.GateFit = vargate.fit_k(p, y)
by_class: vargate.Scores = vargate.score(p, class_k=gates)
conformal: vargate.Conformal = vargate.Conformal(alpha=(0.1, 0.05), score="raps", by="class").fit(p, y)
sets: vargate.PredictionSets = vargate.sets(p, calibration=conformal, labels=y)
held: npt.NDArray[np.bool_] = sets.mask[:, 0]
images: vargate.Scores = vargate.score(p.reshape(10, 5, 2, 5, 3), axes="NMHWC")
