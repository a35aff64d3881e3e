"""Uncertainty of ensemble classifiers, gated by variance.

>>> import numpy as np, vargate
>>> p = np.random.default_rng(0).dirichlet(np.ones(10), size=(1000, 20))     # samples, members, classes
>>> s = vargate.score(p)
>>> s.gmu.shape, s.gtu.shape, s.decide(k=1).shape
((1000,), (1000, 3), (1000,))
"""

from pathlib import Path as _Path

from . import plots
from ._distribution import warn_of_the_other as _warn_of_the_other
from ._doctor import Finding, doctor
from ._images import save_maps
from ._jobs import Progress
from ._maps import CalibrationMap
from ._measures import MeasureInfo, measures
from ._native import lib as _lib
from ._predictions import Predictions, load
from ._ranking import AurocComparison, auroc, compare_auroc, ece, rank
from ._samples import Sample, concatenate
from ._score import score
from .calibrate import Calibration, calibrate
from .decide import Selection, decide, select_k, select_threshold
from .evaluate import Evaluation, evaluate
from .evaluator import Evaluator
from .gates import GateFit, fit_k
from .ood import Ood, detect, ood
from .scorer import Scorer
from .scores import Scores, ScoreSummary, Verdict
from .sets import Conformal, PredictionSets, sets
from .workflow import EpochFigures, RunResult, TrainResult, predict, report, run, train

_warn_of_the_other(_Path(__file__).parent.parent)
__version__: str = _lib.vg_version().decode()


def cpu_tier() -> str:
    """The SIMD tier in use: ``"avx512"``, ``"avx2"``, ``"neon"`` or ``"portable"``.

    The environment variable ``VARGATE_CPU`` forces a lower one.
    """
    tier: str = _lib.vg_cpu_tier().decode()
    return tier


__all__ = [
    "AurocComparison",
    "Calibration",
    "CalibrationMap",
    "Conformal",
    "EpochFigures",
    "Evaluation",
    "Evaluator",
    "Finding",
    "GateFit",
    "MeasureInfo",
    "Ood",
    "PredictionSets",
    "Predictions",
    "Progress",
    "RunResult",
    "Sample",
    "ScoreSummary",
    "Scorer",
    "Scores",
    "Selection",
    "TrainResult",
    "Verdict",
    "__version__",
    "auroc",
    "calibrate",
    "compare_auroc",
    "concatenate",
    "cpu_tier",
    "decide",
    "detect",
    "doctor",
    "ece",
    "evaluate",
    "fit_k",
    "load",
    "measures",
    "ood",
    "plots",
    "predict",
    "rank",
    "report",
    "run",
    "save_maps",
    "score",
    "select_k",
    "select_threshold",
    "sets",
    "train",
]
