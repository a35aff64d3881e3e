"""Structs and constants of ``include/vargate/evaluate.h``, mirrored field by field for `_native`."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char, c_double, c_int, c_size_t, c_uint, c_uint64, c_ulonglong, c_void_p
from typing import Any

from ._structs import ProgressFn

__all__ = [
    "MAX_FINDINGS",
    "MAX_NOTES",
    "MAX_OPERATING_POINTS",
    "NAME_SIZE",
    "NOTE_SIZE",
    "SIZES",
    "AurocComparison",
    "AurocOptions",
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
    "MeasureLead",
    "OodOptions",
    "OodRow",
    "RankPart",
    "Ranking",
    "ReliabilityBin",
    "RuleRow",
    "SelectOptions",
    "Selection",
    "TallyInfo",
    "TallyOptions",
]

NAME_SIZE = 32
NOTE_SIZE, MAX_NOTES, MAX_FINDINGS = 256, 4, 6
MAX_OPERATING_POINTS = 8


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
        ("class_k", POINTER(c_double)),
    ]


class TallyInfo(Structure):
    """vg_tally_info"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rows", c_size_t),
        ("errors", c_void_p),
        ("ratio", c_void_p),
        ("class_gaps", POINTER(c_double)),
        ("label_gaps", POINTER(c_double)),
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
        ("below", c_double * MAX_OPERATING_POINTS),
        ("within", c_double * MAX_OPERATING_POINTS),
        ("rows_per_sample", c_double),
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


# Fields that several structs of options have in this order.
_RESAMPLING: list[tuple[str, Any]] = [
    ("resamples", c_size_t),
    ("seed", c_uint64),
    ("confidence", c_double),
    ("threads", c_uint),
    ("progress", ProgressFn),
    ("progress_context", c_void_p),
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
        *_RESAMPLING,
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

    _fields_ = [
        ("recall", Estimate),
        ("precision", Estimate),
        ("uncertainty", c_double),
        ("abstained", c_size_t),
        ("iou", c_double),
    ]


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
        ("miou", Estimate),
        ("lead_variance", POINTER(c_double)),
        ("bin_products", POINTER(c_double)),
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
        *_RESAMPLING,
    ]


# As in `_structs`.
SIZES: dict[type[Structure], int] = {
    Measure: 56,
    TallyOptions: 56,
    TallyInfo: 48,
    Estimate: 24,
    ClassRow: 48,
    ReliabilityBin: 56,
    Ranking: 544,
    RankPart: 336,
    RuleRow: 152,
    EvaluateOptions: 112,
    LabelRow: 96,
    CalibrationCheck: 32,
    ClassFigures: 72,
    MeasureLead: 56,
    Finding: 544,
    AurocOptions: 24,
    AurocComparison: 80,
    Evaluation: 712,
    SelectOptions: 120,
    Selection: 184,
    Candidate: 96,
    OodRow: 152,
    OodOptions: 56,
}
