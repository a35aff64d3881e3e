"""Structs and constants of ``include/vargate/*.h`` but ``workflow.h``, mirrored field by field for `_native`."""

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
    "MAX_FINDINGS",
    "MAX_NOTES",
    "MAX_OPERATING_POINTS",
    "MAX_RANK",
    "NAME_SIZE",
    "NOTE_SIZE",
    "OK",
    "SIZES",
    "AurocComparison",
    "AurocOptions",
    "BlockFn",
    "CalibrateOptions",
    "CalibrationCheck",
    "Candidate",
    "ClassFigures",
    "ClassRow",
    "Estimate",
    "EvaluateOptions",
    "Evaluation",
    "Finding",
    "LabelRow",
    "Measure",
    "MeasureInfo",
    "MeasureLead",
    "OodOptions",
    "OodRow",
    "Predictions",
    "ProgressFn",
    "RankPart",
    "Ranking",
    "ReliabilityBin",
    "RuleRow",
    "ScoreOptions",
    "ScoreSummary",
    "ScorerState",
    "SelectOptions",
    "Selection",
    "TallyOptions",
    "Tree",
    "Verdict",
]

NAME_SIZE = 32
NOTE_SIZE, MAX_NOTES, MAX_FINDINGS = 256, 4, 4
MAX_OPERATING_POINTS = 8
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


class Measure(Structure):
    """vg_measure"""

    _fields_ = [("name", c_char * NAME_SIZE), ("values", c_void_p), ("stride", c_size_t), ("certainty", c_int)]


class TallyOptions(Structure):
    """vg_tally_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("task", c_int),
        ("bins", c_size_t),
        ("floor", c_double),
        ("confusion", c_int),
        ("bootstrap", c_int),
        ("expected", c_size_t),
    ]


class Estimate(Structure):
    """vg_estimate"""

    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


class ClassRow(Structure):
    """vg_class_row"""

    _fields_ = [
        ("support", c_size_t),
        ("predicted", c_size_t),
        ("true_positive", c_size_t),
        ("precision", c_double),
        ("recall", c_double),
        ("f1", c_double),
    ]


class ReliabilityBin(Structure):
    """vg_reliability_bin"""

    _fields_ = [
        ("low", c_double),
        ("high", c_double),
        ("count", c_size_t),
        ("confidence", c_double),
        ("accuracy", c_double),
        ("square", c_double),
        ("hit", c_double),
    ]


class Ranking(Structure):
    """vg_ranking"""

    _fields_ = [
        ("name", c_char * NAME_SIZE),
        ("aurc", Estimate),
        ("eaurc", Estimate),
        ("augrc", Estimate),
        ("error_auroc", Estimate),
        ("error_aupr", Estimate),
        ("risk_at", Estimate * MAX_OPERATING_POINTS),
        ("coverage_at", Estimate * MAX_OPERATING_POINTS),
        ("curve", POINTER(c_double)),
    ]


class RankPart(Structure):
    """vg_rank_part"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rows_before", c_ulonglong),
        ("errors_before", c_ulonglong),
        ("rows_total", c_ulonglong),
        ("errors_total", c_ulonglong),
        ("aurc", c_double),
        ("augrc", c_double),
        ("pairs", c_double),
        ("precision", c_double),
        ("hits", c_double * MAX_OPERATING_POINTS),
        ("covered", c_double * MAX_OPERATING_POINTS),
    ]


class RuleRow(Structure):
    """vg_rule_row"""

    _fields_ = [
        ("k", c_double),
        ("name", c_char * NAME_SIZE),
        ("rows", c_size_t),
        ("kept", c_size_t),
        ("kept_errors", c_size_t),
        ("abstained", c_size_t),
        ("abstained_errors", c_size_t),
        ("abstained_correct", c_size_t),
        ("coverage", Estimate),
        ("accuracy", Estimate),
        ("abstained_by_label", POINTER(c_size_t)),
        ("abstained_by_prediction", POINTER(c_size_t)),
    ]


class EvaluateOptions(Structure):
    """vg_evaluate_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("k", POINTER(c_double)),
        ("k_count", c_size_t),
        ("coverages", POINTER(c_double)),
        ("coverage_count", c_size_t),
        ("risks", POINTER(c_double)),
        ("risk_count", c_size_t),
        ("curve_points", c_size_t),
        ("resamples", c_size_t),
        ("seed", c_uint64),
        ("confidence", c_double),
        ("threads", c_uint),
        ("progress", ProgressFn),
        ("progress_context", c_void_p),
    ]


class LabelRow(Structure):
    """vg_label_row"""

    _fields_ = [
        ("positive", ClassRow),
        ("accuracy", c_double),
        ("f1", c_double),
        ("ece", c_double),
        ("nll", c_double),
        ("brier", c_double),
        ("measures", POINTER(Ranking)),
    ]


class CalibrationCheck(Structure):
    """vg_calibration_check"""

    _fields_ = [("expected", c_double), ("p_value", c_double), ("debiased", c_double), ("mce_rows", c_size_t)]


class ClassFigures(Structure):
    """vg_class_figures"""

    _fields_ = [("recall", Estimate), ("precision", Estimate), ("uncertainty", c_double), ("abstained", c_size_t)]


class MeasureLead(Structure):
    """vg_measure_lead"""

    _fields_ = [
        ("leader", c_size_t),
        ("rival", c_size_t),
        ("difference", Estimate),
        ("p_value", c_double),
        ("corrected", c_double),
    ]


class Finding(Structure):
    """vg_finding"""

    _fields_ = [
        ("about", c_char * 16),
        ("verdict", c_char * 16),
        ("choice", c_char * NAME_SIZE),
        ("text", c_char * 480),
    ]


class AurocOptions(Structure):
    """vg_auroc_options"""

    _fields_ = [("struct_size", c_size_t), ("confidence", c_double), ("rows_per_sample", c_size_t)]


class AurocComparison(Structure):
    """vg_auroc_comparison"""

    _fields_ = [("first", Estimate), ("second", Estimate), ("difference", Estimate), ("p_value", c_double)]


class Evaluation(Structure):
    """vg_evaluation"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("task", c_int),
        ("n", c_size_t),
        ("classes", c_size_t),
        ("rows", c_size_t),
        ("bins", c_size_t),
        ("resamples", c_size_t),
        ("seed", c_uint64),
        ("confidence", c_double),
        ("accuracy", Estimate),
        ("f1_macro", Estimate),
        ("ece", Estimate),
        ("ece_adaptive", Estimate),
        ("ece_classwise", Estimate),
        ("mce", Estimate),
        ("nll", Estimate),
        ("brier", Estimate),
        ("f1_micro", Estimate),
        ("subset_accuracy", Estimate),
        ("ece_macro", Estimate),
        ("per_class", POINTER(ClassRow)),
        ("confusion", POINTER(c_uint64)),
        ("reliability", POINTER(ReliabilityBin)),
        ("coverages", c_double * MAX_OPERATING_POINTS),
        ("risks", c_double * MAX_OPERATING_POINTS),
        ("coverage_count", c_size_t),
        ("risk_count", c_size_t),
        ("curve_points", c_size_t),
        ("measure_count", c_size_t),
        ("measures", POINTER(Ranking)),
        ("rule_count", c_size_t),
        ("rule", POINTER(RuleRow)),
        ("label_count", c_size_t),
        ("labels", POINTER(LabelRow)),
        ("calibration", CalibrationCheck),
        ("errors", c_size_t),
        ("lead", MeasureLead),
        ("class_measure", c_size_t),
        ("class_figures", POINTER(ClassFigures)),
    ]


class SelectOptions(Structure):
    """vg_select_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("target_risk", c_double),
        ("target_coverage", c_double),
        ("confidence", c_double),
        ("grid", POINTER(c_double)),
        ("grid_count", c_size_t),
        ("multiplicity", c_int),
        ("starts", c_size_t),
        ("rows_per_sample", c_size_t),
        ("sample_of_row", c_void_p),
        ("unlabelled", c_void_p),
        ("unlabelled_rows", c_size_t),
        ("unlabelled_stride", c_size_t),
        ("set_aside", c_size_t),
        ("seed", c_uint64),
    ]


class Selection(Structure):
    """vg_selection"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("met", c_int),
        ("threshold", c_double),
        ("rows", c_size_t),
        ("kept", c_size_t),
        ("errors", c_size_t),
        ("coverage", c_double),
        ("risk", c_double),
        ("risk_bound", c_double),
        ("level", c_double),
        ("grid_count", c_size_t),
        ("starts", c_size_t),
        ("multiplicity", c_int),
        ("samples", c_size_t),
        ("answered", c_size_t),
        ("set_aside", c_size_t),
        ("tested", c_size_t),
        ("candidates", c_size_t),
        ("source", c_int),
        ("bound", c_int),
        ("target_risk", c_double),
        ("confidence", c_double),
        ("needed", c_size_t),
        ("fewest", c_size_t),
    ]


class Candidate(Structure):
    """vg_candidate"""

    _fields_ = [
        ("measure", Measure),
        ("rule", c_int),
        ("errors", c_void_p),
        ("unlabelled", c_void_p),
        ("unlabelled_rows", c_size_t),
        ("unlabelled_stride", c_size_t),
    ]


class OodRow(Structure):
    """vg_ood_row"""

    _fields_ = [
        ("name", c_char * NAME_SIZE),
        ("auroc", Estimate),
        ("aupr_out", Estimate),
        ("aupr_in", Estimate),
        ("fpr95", Estimate),
        ("detection_error", Estimate),
    ]


class OodOptions(Structure):
    """vg_ood_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("resamples", c_size_t),
        ("seed", c_uint64),
        ("confidence", c_double),
        ("threads", c_uint),
        ("progress", ProgressFn),
        ("progress_context", c_void_p),
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
    ]


# Sizes on a machine of 64-bit pointers, as the C compiler lays the structs out.
SIZES: dict[type[Structure], int] = {
    Predictions: 64,
    ScoreOptions: 136,
    ScoreSummary: 88,
    ScorerState: 120,
    Tree: 72,
    Verdict: 480,
    Measure: 56,
    MeasureInfo: 40,
    TallyOptions: 48,
    Estimate: 24,
    ClassRow: 48,
    ReliabilityBin: 56,
    RankPart: 200,
    Ranking: 544,
    RuleRow: 152,
    EvaluateOptions: 112,
    LabelRow: 96,
    CalibrationCheck: 32,
    AurocOptions: 24,
    AurocComparison: 80,
    Evaluation: 672,
    ClassFigures: 64,
    MeasureLead: 56,
    Finding: 544,
    SelectOptions: 120,
    Selection: 184,
    Candidate: 96,
    OodRow: 152,
    OodOptions: 56,
    CalibrateOptions: 96,
}
