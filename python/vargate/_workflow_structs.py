"""Structs of ``include/vargate/workflow.h`` and of training (``nn.h``), mirrored field by field for `_native`."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

from ._evaluate_structs import Evaluation, Finding, OodRow
from ._structs import ScoreOptions, ScoreSummary, Verdict

__all__ = [
    "RECIPE_ROOM",
    "SIZES",
    "EpochMetrics",
    "EvaluateFileOptions",
    "EvaluationResult",
    "ImageRow",
    "InputOptions",
    "Job",
    "JobFn",
    "JobMessage",
    "NamedFile",
    "OodResult",
    "OodSet",
    "Page",
    "PageOptions",
    "PredictRunsOptions",
    "PredictRunsResult",
    "PredictionOptions",
    "RunRecipeOptions",
    "RunResult",
    "ScoreFileOptions",
    "ScoreSet",
    "TrainRecipeOptions",
    "TrainResult",
]

# Bytes set aside for a vg_recipe, of which Python reads only the name it begins with; a test compares with its size.
RECIPE_ROOM = 1 << 16


class JobMessage(Structure):
    """vg_job_message"""

    _fields_ = [
        ("event", c_int),
        ("text", c_char_p),
        ("unit", c_char_p),
        ("done", c_ulonglong),
        ("total", c_ulonglong),
    ]


JobFn = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(JobMessage))


class Job(Structure):
    """vg_job"""

    _fields_ = [("notify", JobFn), ("context", c_void_p)]


class EpochMetrics(Structure):
    """vg_epoch_metrics"""

    _fields_ = [
        ("epoch", c_size_t),
        ("train_loss", c_double),
        ("train_accuracy", c_double),
        ("val_loss", c_double),
        ("val_accuracy", c_double),
        ("val_ece", c_double),
        ("diversity", c_double),
        ("k_sensitivity", c_double),
        ("rate", c_double),
        ("images_per_s", c_double),
        ("verdict", Verdict),
        ("reserved", c_double * 8),
    ]


class TrainResult(Structure):
    """vg_train_result"""

    _fields_ = [
        ("last", EpochMetrics),
        ("best", EpochMetrics),
        ("seconds", c_double),
        ("collapsed", c_int),
        ("epochs_done", c_size_t),
        ("reserved", c_double * 8),
    ]


# The fields that the options of train and of run begin with.
_RUN: list[tuple[str, Any]] = [
    ("struct_size", c_size_t),
    ("recipe", c_void_p),
    ("folder", c_char_p),
    ("data", c_char_p),
    ("device", c_char_p),
    ("threads", c_uint),
]


class TrainRecipeOptions(Structure):
    """vg_train_recipe_options"""

    _fields_ = [
        *_RUN,
        ("resume", c_int),
        ("event", c_void_p),
        ("event_context", c_void_p),
        ("job", Job),
        ("jobs", c_uint),
        ("tensorboard", c_int),
    ]


class PredictRunsOptions(Structure):
    """vg_predict_runs_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("runs", POINTER(c_char_p)),
        ("run_count", c_size_t),
        ("checkpoint", c_int),
        ("split", c_char_p),
        ("input", c_char_p),
        ("data", c_char_p),
        ("device", c_char_p),
        ("threads", c_uint),
        ("ensemble", c_int),
        ("members", c_size_t),
        ("passes", c_size_t),
        ("heads", c_size_t),
        ("logits", c_int),
        ("output", c_char_p),
        ("force", c_int),
        ("job", Job),
        ("skip_corrupt", c_int),
        ("labels_optional", c_int),
    ]


class PredictRunsResult(Structure):
    """vg_predict_runs_result"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("samples", c_size_t),
        ("members", c_size_t),
        ("classes", c_size_t),
        ("epoch", c_size_t),
        ("has_labels", c_int),
    ]


class PredictionOptions(Structure):
    """vg_prediction_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_char_p),
        ("members_first", c_int),
        ("logits", c_int),
        ("labels_key", c_char_p),
        ("id", c_char_p),
        ("classes", c_char_p),
        ("member", c_char_p),
        ("multilabel", c_int),
        ("labels_from", c_int),
        ("separator", c_char_p),
        ("decimal", c_char_p),
        ("axes", c_char_p),
        ("group", c_char_p),
    ]


class InputOptions(Structure):
    """vg_input_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_char_p),
        ("axes", c_char_p),
        ("logits", c_int),
        ("classes", c_char_p),
        ("id", c_char_p),
        ("member", c_char_p),
        ("labels", c_char_p),
        ("labels_key", c_char_p),
        ("labels_from", c_int),
        ("temperature", c_char_p),
        ("fields", ctypes.c_uint32),
        ("scoring", POINTER(ScoreOptions)),
        ("separator", c_char_p),
        ("decimal", c_char_p),
        ("format", c_char_p),
        ("class_k", c_char_p),
        ("ignore", POINTER(ctypes.c_int64)),
        ("group", c_char_p),
    ]


class ScoreFileOptions(Structure):
    """vg_score_file_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("output", c_char_p),
        ("force", c_int),
        ("summary", c_int),
        ("job", Job),
        ("maps", c_char_p),
        ("pictures", c_size_t),
    ]


class ScoreSet(Structure):
    """vg_score_set"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("n", c_size_t),
        ("m", c_size_t),
        ("c", c_size_t),
        ("logits", c_int),
        ("multilabel", c_int),
        ("k", POINTER(c_double)),
        ("k_count", c_size_t),
        ("scores", c_void_p),
        ("summary", POINTER(ScoreSummary)),
        ("labels", c_void_p),
        ("class_names", POINTER(c_char_p)),
        ("ids", POINTER(c_char_p)),
        ("threads", c_uint),
        ("class_k", POINTER(c_double)),
    ]


class EvaluateFileOptions(Structure):
    """vg_evaluate_file_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("bins", c_size_t),
        ("resamples", c_size_t),
        ("seed", ctypes.c_uint64),
        ("confidence", c_double),
        ("coverages", POINTER(c_double)),
        ("coverage_count", c_size_t),
        ("risks", POINTER(c_double)),
        ("risk_count", c_size_t),
        ("curve_points", c_size_t),
        ("job", Job),
    ]


class ImageRow(Structure):
    """vg_image_row"""

    _fields_ = [
        ("sites", c_ulonglong),
        ("errors", c_ulonglong),
        ("abstained", c_ulonglong),
        ("accuracy", c_double),
        ("abstained_share", c_double),
        ("mean", c_double),
        ("max", c_double),
        ("median", c_double),
        ("p95", c_double),
    ]


class EvaluationResult(Structure):
    """vg_evaluation_result"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("file", c_char_p),
        ("n", c_size_t),
        ("m", c_size_t),
        ("c", c_size_t),
        ("logits", c_int),
        ("multilabel", c_int),
        ("evaluation", POINTER(Evaluation)),
        ("whole", c_void_p),
        ("measures", c_void_p),
        ("interval_columns", c_size_t),
        ("brief", c_void_p),
        ("verdict", c_void_p),
        ("finding_count", c_size_t),
        ("findings", POINTER(Finding)),
        ("class_names", POINTER(c_char_p)),
        ("sites", c_size_t * 4),
        ("image_count", c_size_t),
        ("ignored", c_ulonglong),
        ("images", POINTER(ImageRow)),
        ("image_order", c_void_p),
        ("advice", c_char_p),
    ]


class OodSet(Structure):
    """vg_ood_set"""

    _fields_ = [
        ("name", c_char_p),
        ("file", c_char_p),
        ("n", c_size_t),
        ("rows", POINTER(OodRow)),
        ("table", POINTER(c_size_t)),
    ]


class OodResult(Structure):
    """vg_ood_result"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("id_file", c_char_p),
        ("id_n", c_size_t),
        ("resamples", c_size_t),
        ("confidence", c_double),
        ("set_count", c_size_t),
        ("sets", POINTER(OodSet)),
    ]


class NamedFile(Structure):
    """vg_named_file"""

    _fields_ = [("name", c_char_p), ("path", c_char_p)]


class Page(Structure):
    """vg_page"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("folder", c_char_p),
        ("path", c_char_p),
        ("figures", c_void_p),
        ("figure_count", c_size_t),
    ]


class PageOptions(Structure):
    """vg_page_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("ood", POINTER(NamedFile)),
        ("ood_count", c_size_t),
        ("title", c_char_p),
        ("images", c_char_p),
        ("class_names", c_char_p),
        ("metrics", c_char_p),
        ("data", c_char_p),
        ("force", c_int),
        ("job", Job),
        ("command", POINTER(c_char_p)),
        ("command_words", c_size_t),
        ("transient", c_int),
        ("calibration", c_char_p),
    ]


class RunRecipeOptions(Structure):
    """vg_run_recipe_options"""

    _fields_ = [
        *_RUN,
        ("event", c_void_p),
        ("event_context", c_void_p),
        ("job", Job),
        ("jobs", c_uint),
        ("tensorboard", c_int),
        ("mcd_lle", c_int),
        ("later", c_void_p),
        ("later_count", c_size_t),
    ]


class RunResult(Structure):
    """vg_run_result"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("folder", c_char_p),
        ("training", TrainResult),
        ("test", POINTER(EvaluationResult)),
        ("test_calibrated", POINTER(EvaluationResult)),
        ("ood", POINTER(OodResult)),
        ("ood_calibrated", POINTER(OodResult)),
        ("ood_names", POINTER(c_char_p)),
    ]


# As in `_structs`.
SIZES: dict[type[Structure], int] = {
    EpochMetrics: 624,
    EvaluateFileOptions: 96,
    EvaluationResult: 192,
    ImageRow: 72,
    InputOptions: 152,
    Job: 16,
    JobMessage: 40,
    NamedFile: 16,
    OodResult: 56,
    OodSet: 40,
    Page: 40,
    PageOptions: 120,
    PredictRunsOptions: 144,
    PredictRunsResult: 48,
    PredictionOptions: 96,
    RunRecipeOptions: 112,
    RunResult: 1392,
    ScoreFileOptions: 56,
    ScoreSet: 112,
    TrainRecipeOptions: 88,
    TrainResult: 1336,
}
