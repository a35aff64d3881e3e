"""What a user of every optional part writes; checked by mypy --strict and pyright, never run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import dask.array as da
import numpy as np
import numpy.typing as npt
import torch
from sklearn.ensemble import RandomForestClassifier

import vargate
import vargate.dask
import vargate.plots
import vargate.torch
from vargate.sklearn import (
    AbstainingClassifier,
    ConformalClassifier,
    MultilabelAbstainingClassifier,
    selective_scoring,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

p: npt.NDArray[np.float64] = np.random.default_rng(0).dirichlet(np.ones(3), size=(100, 5))
y = p.mean(axis=1).argmax(axis=1)

# --- samples, names, tables, files
s = vargate.score(p, labels=y, classes=["cat", "dog", "emu"], ids=[f"image-{i}" for i in range(100)])
some: vargate.Scores = s[10:20]
masked: vargate.Scores = s[s.gmu < 0.5]
chosen: vargate.Scores = s[[3, 1]]
sample: vargate.Sample = s[3]
column: npt.NDArray[np.float64] = s["gtu@1"]
names: list[str] = s.keys()
uncertain = [one.id for one in s if one.tu > 0.5]
both: vargate.Scores = vargate.concatenate([some, masked])
decided: npt.NDArray[np.object_] = s.decide_names(2, abstain="?")
table: pd.DataFrame = s.to_pandas(index=range(100), classes=["a", "b", "c"])
arrow: pa.Table = s.to_arrow()
frame: pl.DataFrame = s.to_polars(classes=["a", "b", "c"])
s.save("scores.npz", force=True)
again: vargate.Scores = vargate.load("scores.npz", "scores", labels=y)
file: vargate.Predictions = vargate.load(Path("preds.npz"), "predictions")
values: npt.NDArray[np.float32] = file.values
fit: vargate.Calibration = vargate.load("temps.json", "calibration")
scored: vargate.Scores = file.score(temperature=fit, k=2, measures="tu,gtu@2")
symbols: list[str] = [m.symbol for m in vargate.measures() if not m.gated]

# --- evaluation
e: vargate.Evaluation = vargate.evaluate(s, measures=["tu"], extra={"mine": s.tu}, extra_certainty=["mine"])
confusion: pd.DataFrame = e.to_pandas("confusion")
result: vargate.Ood = vargate.ood(s, {"noise": s}, extra={"mine": (s.tu, {"noise": s.tu})})
evaluator = vargate.Evaluator(bins=10, k=1.0)
evaluator.update(p, y)
whole: vargate.Evaluation = evaluator.compute()
vargate.plots.reliability(e)


# --- training, in process
def listen(message: vargate.Progress) -> None:
    if message.event == "progress":
        print(f"{message.text}: {message.done} of {message.total} {message.unit}")


trained: vargate.TrainResult = vargate.train(
    "quickstart", "runs/short", epochs=2, ensemble="lle", k=[1.0, 2.0], resume=True, progress=listen
)
loss: float = trained.last.val_loss
run: vargate.RunResult = vargate.run({"dataset": "digits", "epochs": 1}, device="cpu", progress=True, schedule="cosine")
auroc: float = run.ood["digits-ood"].measures["tu"].auroc
predicted: vargate.Predictions = vargate.predict([trained.folder], split="val", checkpoint="best")
page = vargate.report(s, "report", ood={"noise": s}, title="Mine")
where: Path = page.path

# --- scikit-learn
forest = AbstainingClassifier(RandomForestClassifier(), target_risk=0.05, preset="paper").fit(p[:, 0], y)
labels = forest.predict(p[:, 0])
gmu: npt.NDArray[np.float64] = forest.predict_uncertainty(p[:, 0], measure="gmu")
figures: dict[str, float] = selective_scoring(forest, p[:, 0], y)
judged: vargate.Scores = forest.predict_scores(p[:, 0])
covering: ConformalClassifier = ConformalClassifier(RandomForestClassifier(), alpha=0.1).fit(p[:, 0], y)
answering = MultilabelAbstainingClassifier(RandomForestClassifier(), target_risk=[0.1, 0.1], by="gmu", n_jobs=1)
several: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = answering.fit(p[:, 0], np.stack([y, y], 1)).predict(p[:, 0])
by_label: float = answering.score_selective(p[:, 0], np.stack([y, y], 1))["coverage"].mean()
held: npt.NDArray[np.bool_] = covering.predict_set(p[:, 0])

# --- PyTorch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), vargate.torch.LastLayerEnsemble(8, 3, heads=5))
collected = vargate.torch.collect(model, [torch.randn(8, 4)], "lle", seed=1)
logits: npt.NDArray[np.float32] = collected.logits
written: Path = vargate.torch.collect(model, [torch.randn(8, 4)], "lle", out="preds.npz")
maps = vargate.torch.collect(model, [torch.randn(8, 4)], "lle", axes="NMCHW")
overlap: float = vargate.evaluate(maps.logits, maps.labels, axes="NMCHW", logits=True, ignore=255).miou
image: float = vargate.evaluate("z.npz", axes="NMCHW", ignore=255).images[0].abstained
for batch in vargate.torch.collect_batches(model, [torch.randn(8, 4)], "mcd", members=3):
    vargate.score(batch.logits, logits=True)
with vargate.torch.mc_dropout(model):
    pass
metric = vargate.torch.UncertaintyMetric(k=(1, 2), logits=True, preset="vge")


# --- Dask
def on_a_cluster(array: da.Array) -> vargate.Scores:
    lazy: vargate.dask.DaskScores = vargate.dask.score(array, labels=y, k=1.0, measures="gmu,gtu@1", preset="vge")
    lazy.to_shards("shards", ".npz")
    return lazy.compute()
