"""The ABI of libvargate: its structs, its functions, its errors. No other module touches ctypes types of the library.

Structs mirror ``include/vargate/*.h`` field by field; their sizes are checked when this module loads, and every offset
against a compiler in the tests. The library is the one inside the package (``vargate/lib``), or the file named by the
environment variable ``VARGATE_LIBRARY``. ctypes releases the GIL for the length of each call.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
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
from pathlib import Path
from types import FrameType
from typing import Any

NAME_SIZE = 32
NOTE_SIZE, MAX_NOTES = 256, 4
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
    ]


# vg_scores is twenty pointers; these are their names in order, with the element and the shape of each: "" one value a
# sample (or label), "k" one for each gate setting besides, "c" one a class.
SCORE_FIELDS: dict[str, tuple[str, str]] = {
    "tu": ("f8", ""),
    "au": ("f8", ""),
    "eu": ("f8", ""),
    "epce": ("f8", ""),
    "epkl": ("f8", ""),
    "epjs": ("f8", ""),
    "gtu": ("f8", "k"),
    "gau": ("f8", "k"),
    "geu": ("f8", "k"),
    "gepce": ("f8", "k"),
    "gepkl": ("f8", "k"),
    "gepjs": ("f8", "k"),
    "gmu": ("f8", ""),
    "snr": ("f8", ""),
    "pred": ("i4", ""),
    "second": ("i4", ""),
    "decision": ("i4", "k"),
    "mean": ("f8", "c"),
    "std": ("f8", "c"),
    "flags": ("u4", ""),
}
SCORE_INDEX = {name: i for i, name in enumerate(SCORE_FIELDS)}
ScorePlaces = c_void_p * len(SCORE_FIELDS)


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
_SIZES: dict[type[Structure], int] = {
    Predictions: 64,
    ScoreOptions: 128,
    ScoreSummary: 88,
    ScorerState: 120,
    Tree: 72,
    Verdict: 480,
    Measure: 56,
    TallyOptions: 48,
    Estimate: 24,
    ClassRow: 48,
    ReliabilityBin: 56,
    Ranking: 544,
    RuleRow: 152,
    EvaluateOptions: 112,
    LabelRow: 96,
    CalibrationCheck: 32,
    AurocOptions: 24,
    AurocComparison: 80,
    Evaluation: 600,
    SelectOptions: 120,
    Selection: 184,
    Candidate: 96,
    OodRow: 152,
    OodOptions: 56,
    CalibrateOptions: 96,
}
if ctypes.sizeof(c_void_p) != 8:
    raise ImportError("vargate needs a 64-bit Python")
for _type, _size in _SIZES.items():
    if ctypes.sizeof(_type) != _size:
        raise ImportError(f"{_type.__doc__} has {ctypes.sizeof(_type)} bytes here, the library's has {_size}")


def _open() -> ctypes.CDLL:
    named = os.environ.get("VARGATE_LIBRARY")
    inside = Path(__file__).parent / "lib" / "libvargate.so"
    path = Path(named) if named else inside
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"libvargate could not be loaded: {error}") from None


lib = _open()

# function -> (result, arguments). c_void_p stands for opaque handles and arrays passed by address.
_P = c_void_p
_D = POINTER(c_double)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "vg_error_message": (c_char_p, []),
    "vg_version": (c_char_p, []),
    "vg_cpu_tier": (c_char_p, []),
    "vg_score_options_preset": (c_int, [POINTER(ScoreOptions), c_int]),
    "vg_score": (c_int, [_P, _P, _P, _P]),
    "vg_scorer_new": (c_int, [POINTER(_P), c_size_t, c_size_t, _P]),
    "vg_scorer_free": (None, [_P]),
    "vg_scorer_feed": (c_int, [_P, _P, _P]),
    "vg_scorer_summary": (c_int, [_P, POINTER(ScoreSummary)]),
    "vg_verdict_judge": (c_int, [POINTER(Verdict), POINTER(ScoreSummary), c_ulonglong, c_ulonglong]),
    "vg_scorer_save": (c_int, [_P, POINTER(ScorerState)]),
    "vg_scorer_restore": (c_int, [_P, POINTER(ScorerState)]),
    "vg_predictions_normalised": (c_int, [_P]),
    "vg_trees_check": (c_int, [_P, c_size_t, c_size_t]),
    "vg_trees_leaves": (None, [_P, _P, c_size_t, _P, c_size_t, c_size_t]),
    "vg_trees_values": (None, [_P, _P, c_size_t, _P, c_size_t, c_size_t, c_size_t]),
    "vg_k_name": (None, [c_char * NAME_SIZE, c_double]),
    "vg_tally_new": (c_int, [POINTER(_P), c_size_t, POINTER(TallyOptions)]),
    "vg_tally_free": (None, [_P]),
    "vg_tally_feed": (c_int, [_P, _P, _P, _P, c_size_t]),
    "vg_tally_rows": (c_size_t, [_P]),
    "vg_tally_errors": (_P, [_P]),
    "vg_tally_ratio": (_P, [_P]),
    "vg_margin_ratio": (c_int, [_P, _P, _P, _P, _P, c_size_t, c_size_t]),
    "vg_margin_ratio_multilabel": (c_int, [_P, _P, _P, c_size_t]),
    "vg_evaluate": (c_int, [POINTER(POINTER(Evaluation)), _P, _P, c_size_t, POINTER(EvaluateOptions)]),
    "vg_evaluation_free": (None, [POINTER(Evaluation)]),
    "vg_calibration_check_bins": (c_int, [POINTER(CalibrationCheck), POINTER(ReliabilityBin), c_size_t]),
    "vg_evaluation_notes": (c_size_t, [_P, POINTER(Evaluation)]),
    "vg_auroc": (c_int, [POINTER(Estimate), POINTER(Measure), _P, c_size_t, POINTER(AurocOptions)]),
    "vg_auroc_compare": (
        c_int,
        [POINTER(AurocComparison), POINTER(Measure), POINTER(Measure), _P, c_size_t, POINTER(AurocOptions)],
    ),
    "vg_calibration_error": (c_int, [_P, _P, _P, c_int, _P, c_size_t, c_size_t, c_size_t]),
    "vg_rank": (c_int, [POINTER(Ranking), POINTER(Measure), _P, c_size_t, POINTER(EvaluateOptions)]),
    "vg_risk_coverage": (c_int, [_P, c_size_t, POINTER(Measure), _P, c_size_t]),
    "vg_select_threshold": (c_int, [POINTER(Selection), POINTER(Measure), _P, c_size_t, POINTER(SelectOptions)]),
    "vg_select_among": (
        c_int,
        [POINTER(Selection), POINTER(c_size_t), POINTER(Candidate), c_size_t, c_size_t, POINTER(SelectOptions)],
    ),
    "vg_selection_reason": (None, [c_char_p, c_size_t, POINTER(Selection)]),
    "vg_select_k": (c_int, [POINTER(Selection), _P, _P, c_size_t, POINTER(SelectOptions)]),
    "vg_ood_evaluate": (c_int, [_P, _P, c_size_t, _P, c_size_t, c_size_t, POINTER(OodOptions)]),
    "vg_calibrate_blocks": (
        c_int,
        [POINTER(_P), BlockFn, _P, c_size_t, c_size_t, c_size_t, _P, POINTER(CalibrateOptions)],
    ),
    "vg_calibration_free": (None, [_P]),
    "vg_temperatures_text": (c_int, [POINTER(_P), _P]),
    "vg_temperatures_text_free": (None, [_P]),
    "vg_temperatures_load": (c_int, [POINTER(_D), POINTER(c_size_t), c_char_p]),
    "vg_temperatures_free": (None, [_D]),
    "vg_writer_open": (c_int, [POINTER(_P), c_char_p]),
    "vg_writer_mark": (c_int, [_P, c_int]),
    "vg_writer_array": (c_int, [_P, c_char_p, c_int, c_size_t, POINTER(c_size_t), _P]),
    "vg_writer_close": (c_int, [_P]),
    "vg_writer_abandon": (None, [_P]),
    "vg_text_open": (c_int, [POINTER(_P), c_char_p]),
    "vg_text_write": (c_int, [_P, c_char_p, c_size_t]),
    "vg_text_close": (c_int, [_P]),
    "vg_text_abandon": (None, [_P]),
}
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments


# --- errors -----------------------------------------------------------------------------------------------------------

_EXCEPTIONS: dict[int, type[Exception]] = {ERR_MEMORY: MemoryError, ERR_IO: OSError}


def error(status: int) -> Exception:
    """The exception for a failed call: ValueError, MemoryError or OSError with the library's line."""
    line = lib.vg_error_message().decode("utf-8", "replace")
    return _EXCEPTIONS.get(status, ValueError)(line)


def check(status: int) -> None:
    """Raises when a call has failed."""
    if status:
        if status == ERR_INTERRUPTED and _stopped:
            raise _stopped.pop()
        raise error(status)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------
#
# A signal's Python handler can run only while Python runs. Long calls therefore have a progress callback: entering it
# runs the handlers that are due. What a handler raises there would be lost (ctypes has nobody to hand it to), so for
# the length of the call SIGINT's handler is wrapped: what it raises is kept, the callback asks the library to stop, and
# check() raises it.

_stopped: list[BaseException] = []


def stopped() -> bool:
    """Whether a signal has asked the call that is running to stop."""
    return bool(_stopped)


def _tick(_context: Any, _done: int, _total: int) -> int:
    # The callback runs in the thread that made the call. Only the main thread's calls are stopped, and only they may
    # raise.
    return 1 if _stopped and threading.current_thread() is threading.main_thread() else 0


progress = ProgressFn(_tick)


class Interruptible:
    """For a ``with`` block around a call that has `progress` in its options. Does nothing outside the main thread."""

    __slots__ = ("_previous",)

    def __enter__(self) -> None:
        self._previous: Any = None
        if threading.current_thread() is not threading.main_thread():
            return
        previous = signal.getsignal(signal.SIGINT)
        if not callable(previous):
            return

        def handler(number: int, frame: FrameType | None) -> None:
            try:
                previous(number, frame)
            except BaseException as raised:  # kept for check(), whatever it is
                _stopped[:] = [raised]

        _stopped.clear()
        signal.signal(signal.SIGINT, handler)
        self._previous = previous

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            # Pressed after the library had finished: nothing else would raise it.
            if _stopped and _[0] is None:
                raise _stopped.pop()


def size(struct: type[Structure]) -> int:
    """Bytes of a struct, for its struct_size."""
    return _SIZES[struct]


def doubles(values: tuple[float, ...]) -> Any:
    """A C array of doubles."""
    return (c_double * len(values))(*values)


def k_name(k: float) -> str:
    """The shortest decimal that reads back as k, as in ``gtu@0.5``.

    >>> k_name(1.0), k_name(0.25)
    ('1', '0.25')
    """
    name = (c_char * NAME_SIZE)()
    lib.vg_k_name(name, k)
    return name.value.decode()
