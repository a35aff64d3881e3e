"""Structs and constants of ``include/vargate/*.h``, mirrored field by field for `_native`.

Those of ``evaluate.h`` are in `_evaluate_structs`, those of ``workflow.h`` in `_workflow_structs`.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint64,
    c_ulonglong,
    c_void_p,
)

__all__ = [
    "BF16",
    "ELEMENTS",
    "ERR_ARGUMENT",
    "ERR_DATA",
    "ERR_FORMAT",
    "ERR_INTERRUPTED",
    "ERR_IO",
    "ERR_MEMORY",
    "ERR_NUMERIC",
    "ERR_UNSUPPORTED",
    "F16",
    "F32",
    "F64",
    "MAX_RANK",
    "OK",
    "SIZES",
    "BlockFn",
    "CalibrateOptions",
    "FitKOptions",
    "MeasureInfo",
    "Predictions",
    "ProgressFn",
    "ScoreOptions",
    "ScoreSummary",
    "ScorerState",
    "Sites",
    "Tree",
    "Verdict",
]

MAX_RANK = 8

# vg_element; predictions are one of the first four
F32, F64, F16, BF16 = 0, 1, 2, 3
ELEMENTS = {
    "f4": 0,
    "f8": 1,
    "f2": 2,
    "bf16": 3,
    "i1": 4,
    "i2": 5,
    "i4": 6,
    "i8": 7,
    "u1": 8,
    "u2": 9,
    "u4": 10,
    "u8": 11,
    "b1": 12,
}

OK, ERR_ARGUMENT, ERR_MEMORY, ERR_IO, ERR_FORMAT, ERR_DATA, ERR_UNSUPPORTED, ERR_NUMERIC, ERR_INTERRUPTED = range(9)

ProgressFn = ctypes.CFUNCTYPE(c_int, c_void_p, c_ulonglong, c_ulonglong)
# vg_logits_block_fn; the last argument is a vg_predictions to fill.
BlockFn = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t, c_void_p)


class Predictions(Structure):
    """vg_predictions"""

    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int),
        ("n", c_size_t),
        ("m", c_size_t),
        ("c", c_size_t),
        ("stride_n", c_ssize_t),
        ("stride_m", c_ssize_t),
        ("stride_c", c_ssize_t),
    ]


class Sites(Structure):
    """vg_sites"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("dtype", c_int),
        ("n", c_size_t),
        ("m", c_size_t),
        ("c", c_size_t),
        ("shape", c_size_t * 4),
        ("stride", c_ssize_t * 4),
        ("stride_m", c_ssize_t),
        ("stride_c", c_ssize_t),
        ("run", c_size_t),
        ("stride_run", c_ssize_t),
    ]


class ScoreOptions(Structure):
    """vg_score_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("task", c_int),
        ("logits", c_int),
        ("renormalise", c_int),
        ("pairs", c_int),
        ("sigma_gate", c_int),
        ("sigma_margin", c_int),
        ("log_base", c_int),
        ("normalise", c_int),
        ("floor_form", c_int),
        ("floor", c_double),
        ("gate_eps_form", c_int),
        ("margin_eps_form", c_int),
        ("eps", c_double),
        ("k", POINTER(c_double)),
        ("k_count", c_size_t),
        ("temperature", POINTER(c_double)),
        ("temperature_count", c_size_t),
        ("threads", c_uint),
        ("progress", ProgressFn),
        ("progress_context", c_void_p),
        ("scores_size", c_size_t),
        ("device", c_int),
        ("class_k", POINTER(c_double)),
        ("class_k_count", c_size_t),
    ]


class MeasureInfo(Structure):
    """vg_measure_info"""

    _fields_ = [
        ("name", c_char_p),
        ("symbol", c_char_p),
        ("meaning", c_char_p),
        ("gated", c_int),
        ("certainty", c_int),
        ("offset", c_size_t),
    ]


class ScoreSummary(Structure):
    """vg_score_summary"""

    _fields_ = [
        ("samples", c_ulonglong),
        ("diversity", c_double),
        ("k_sensitivity", c_double),
        ("mean_tu", c_double),
        ("mean_gtu", c_double),
        ("members", c_size_t),
        ("outcomes", c_size_t),
        ("member_variance", c_double),
        ("total_variance", c_double),
        ("disagreement", c_double),
        ("abstained", c_double),
        ("reserved", c_double * 8),
    ]


class Verdict(Structure):
    """vg_verdict"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("state", c_int),
        ("name", c_char_p),
        ("diversity", c_double),
        ("class_variance", c_double),
        ("share", c_double),
        ("disagreement", c_double),
        ("abstained", c_double),
        ("accuracy", c_double),
        ("chance", c_double),
        ("text", c_char * 400),
    ]


class ScorerState(Structure):
    """vg_scorer_state"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("samples", c_ulonglong),
        ("has_tu", c_int),
        ("has_gtu", c_int),
        ("variance", c_double * 2),
        ("tu", c_double * 2),
        ("gtu", c_double * 2),
        ("total", c_double * 2),
        ("disagreement", c_double * 2),
        ("abstained", c_double),
        ("looked_at", c_double),
    ]


class Tree(Structure):
    """vg_tree"""

    _fields_ = [
        ("left", c_void_p),
        ("right", c_void_p),
        ("feature", c_void_p),
        ("threshold", c_void_p),
        ("missing", c_void_p),
        ("node_stride", c_size_t),
        ("nodes", c_size_t),
        ("value", c_void_p),
        ("value_stride", c_size_t),
    ]


class CalibrateOptions(Structure):
    """vg_calibrate_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("solver", c_int),
        ("shared", c_int),
        ("t_min", c_double),
        ("t_max", c_double),
        ("tolerance", c_double),
        ("max_sweeps", c_uint),
        ("evaluations", c_uint),
        ("initial", c_uint),
        ("seed", c_uint64),
        ("bins", c_uint),
        ("folds", c_uint),
        ("threads", c_uint),
        ("progress", ProgressFn),
        ("progress_context", c_void_p),
        ("method", c_int),
        ("mean", c_int),
        ("probabilities", c_int),
        ("map_bins", c_uint),
        ("equal_mass", c_int),
        ("off_diagonal", c_double),
        ("intercept", c_double),
        ("compare", c_int),
        ("image_ends", c_void_p),
        ("image_count", c_size_t),
    ]


class FitKOptions(Structure):
    """vg_fit_k_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("logits", c_int),
        ("temperature", POINTER(c_double)),
        ("temperature_count", c_size_t),
        ("k_min", c_double),
        ("k_max", c_double),
        ("tolerance", c_double),
        ("max_iterations", c_uint),
        ("bins", c_uint),
        ("folds", c_uint),
        ("threads", c_uint),
        ("image_ends", c_void_p),
        ("image_count", c_size_t),
    ]


# Sizes on a machine of 64-bit pointers, as the C compiler lays the structs out.
SIZES: dict[type[Structure], int] = {
    Predictions: 64,
    ScoreOptions: 160,
    Sites: 144,
    ScoreSummary: 152,
    ScorerState: 120,
    Tree: 72,
    Verdict: 480,
    MeasureInfo: 40,
    CalibrateOptions: 160,
    FitKOptions: 88,
}
