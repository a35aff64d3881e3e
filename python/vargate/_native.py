"""The ABI of libvargate: its structs, its functions, its errors. No other module touches ctypes types of the library.

Structs mirror ``include/vargate/*.h`` field by field (`_structs`, `_evaluate_structs`, `_workflow_structs`); their
sizes are checked when this module loads, and every offset against a compiler in the tests. The library is the one
inside the package (``vargate/lib``), or the file named by the environment variable ``VARGATE_LIBRARY``. ctypes releases
the GIL for the length of each call.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import threading
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from types import FrameType
from typing import Any

from . import _evaluate_structs as _evaluate
from . import _sets_structs, _structs, _workflow_structs
from ._evaluate_structs import *  # noqa: F403
from ._sets_structs import *  # noqa: F403
from ._structs import *  # noqa: F403
from ._workflow_structs import *  # noqa: F403

_SIZES: dict[type[Structure], int] = {
    **_structs.SIZES,
    **_evaluate.SIZES,
    **_workflow_structs.SIZES,
    **_sets_structs.SIZES,
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
    "vg_score_options_preset": (c_int, [POINTER(_structs.ScoreOptions), c_int]),
    "vg_score": (c_int, [_P, _P, _P, _P]),
    "vg_scorer_new": (c_int, [POINTER(_P), c_size_t, c_size_t, _P]),
    "vg_scorer_free": (None, [_P]),
    "vg_scorer_feed": (c_int, [_P, _P, _P, _P]),
    "vg_scorer_summary": (c_int, [_P, POINTER(_structs.ScoreSummary)]),
    "vg_verdict_judge": (
        c_int,
        [POINTER(_structs.Verdict), POINTER(_structs.ScoreSummary), ctypes.c_ulonglong, ctypes.c_ulonglong],
    ),
    "vg_scorer_save": (c_int, [_P, POINTER(_structs.ScorerState)]),
    "vg_scorer_restore": (c_int, [_P, POINTER(_structs.ScorerState)]),
    "vg_predictions_normalised": (c_int, [_P]),
    "vg_trees_check": (c_int, [_P, c_size_t, c_size_t]),
    "vg_trees_leaves": (None, [_P, _P, c_size_t, _P, c_size_t, c_size_t]),
    "vg_trees_values": (None, [_P, _P, c_size_t, _P, c_size_t, c_size_t, c_size_t]),
    "vg_k_name": (None, [ctypes.c_char * _evaluate.NAME_SIZE, c_double]),
    "vg_tally_new": (c_int, [POINTER(_P), c_size_t, POINTER(_evaluate.TallyOptions)]),
    "vg_tally_free": (None, [_P]),
    "vg_tally_feed": (c_int, [_P, _P, _P, _P, c_size_t]),
    "vg_tally_describe": (c_int, [POINTER(_evaluate.TallyInfo), _P]),
    "vg_margin_ratio": (c_int, [_P, _P, _P, _P, _P, c_size_t, c_size_t]),
    "vg_evaluate": (
        c_int,
        [POINTER(POINTER(_evaluate.Evaluation)), _P, _P, c_size_t, POINTER(_evaluate.EvaluateOptions)],
    ),
    "vg_evaluation_free": (None, [POINTER(_evaluate.Evaluation)]),
    "vg_evaluation_finish": (c_int, [POINTER(_evaluate.Evaluation), _P]),
    "vg_evaluation_notes": (c_size_t, [_P, POINTER(_evaluate.Evaluation)]),
    "vg_evaluation_findings": (c_size_t, [_P, POINTER(_evaluate.Evaluation), _P]),
    "vg_calibrator_finding": (c_int, [_P, _P, _P, c_size_t, c_size_t, c_uint]),
    "vg_auroc": (
        c_int,
        [POINTER(_evaluate.Estimate), POINTER(_evaluate.Measure), _P, c_size_t, POINTER(_evaluate.AurocOptions)],
    ),
    "vg_auroc_compare": (
        c_int,
        [
            POINTER(_evaluate.AurocComparison),
            POINTER(_evaluate.Measure),
            POINTER(_evaluate.Measure),
            _P,
            c_size_t,
            POINTER(_evaluate.AurocOptions),
        ],
    ),
    "vg_calibration_error": (c_int, [_P, _P, _P, c_int, _P, c_size_t, c_size_t, c_size_t]),
    "vg_rank": (
        c_int,
        [POINTER(_evaluate.Ranking), POINTER(_evaluate.Measure), _P, c_size_t, POINTER(_evaluate.EvaluateOptions)],
    ),
    "vg_rank_part_walk": (
        c_int,
        [POINTER(_evaluate.RankPart), _P, c_size_t, POINTER(_evaluate.Measure), _P, c_size_t, _P],
    ),
    "vg_rank_parts_merge": (c_int, [POINTER(_evaluate.Ranking), POINTER(_evaluate.RankPart), c_size_t, _P]),
    "vg_risk_coverage": (c_int, [_P, c_size_t, POINTER(_evaluate.Measure), _P, c_size_t]),
    "vg_select_threshold": (
        c_int,
        [POINTER(_evaluate.Selection), POINTER(_evaluate.Measure), _P, c_size_t, POINTER(_evaluate.SelectOptions)],
    ),
    "vg_select_among": (
        c_int,
        [
            POINTER(_evaluate.Selection),
            POINTER(c_size_t),
            POINTER(_evaluate.Candidate),
            c_size_t,
            c_size_t,
            POINTER(_evaluate.SelectOptions),
        ],
    ),
    "vg_selection_reason": (None, [c_char_p, c_size_t, POINTER(_evaluate.Selection)]),
    "vg_select_k": (c_int, [POINTER(_evaluate.Selection), _P, _P, c_size_t, POINTER(_evaluate.SelectOptions)]),
    "vg_ood_evaluate": (c_int, [_P, _P, c_size_t, _P, c_size_t, c_size_t, POINTER(_evaluate.OodOptions)]),
    "vg_calibrate_blocks": (
        c_int,
        [POINTER(_P), _structs.BlockFn, _P, c_size_t, c_size_t, c_size_t, _P, POINTER(_structs.CalibrateOptions)],
    ),
    "vg_calibration_free": (None, [_P]),
    "vg_temperatures_text": (c_int, [POINTER(_P), _P]),
    "vg_fit_k": (c_int, [POINTER(_P), _P, _P, POINTER(_structs.FitKOptions)]),
    "vg_k_fit_json": (c_int, [POINTER(_P), _P, c_int]),
    "vg_free": (None, [_P]),
    "vg_sets_new": (c_int, [POINTER(POINTER(_sets_structs.Sets)), POINTER(_sets_structs.SetsOptions)]),
    "vg_sets_free": (None, [POINTER(_sets_structs.Sets)]),
    "vg_sets_feed": (c_int, [POINTER(_sets_structs.Sets), POINTER(_sets_structs.SetPlaces), _P, _P, _P]),
    "vg_sets_text": (c_int, [POINTER(_P), POINTER(_sets_structs.Sets), c_int]),
    "vg_calibration_map_load": (c_int, [POINTER(_P), c_char_p]),
    "vg_calibration_map_apply": (c_int, [_P, _P, _P, _P, POINTER(_structs.Predictions), c_int, c_uint]),
    "vg_temperatures_load": (c_int, [POINTER(_D), POINTER(c_size_t), c_char_p]),
    "vg_writer_open": (c_int, [POINTER(_P), c_char_p]),
    "vg_writer_array": (c_int, [_P, c_char_p, c_int, c_size_t, POINTER(c_size_t), _P]),
    "vg_writer_close": (c_int, [_P]),
    "vg_writer_abandon": (None, [_P]),
    "vg_text_save": (c_int, [c_char_p, c_char_p, c_size_t]),
    "vg_measure_info_at": (POINTER(_structs.MeasureInfo), [c_size_t]),
    "vg_fields_parse": (c_int, [POINTER(ctypes.c_uint32), c_char_p]),
    "vg_fields_word": (c_char_p, [c_size_t]),
    "vg_evaluate_file": (
        c_int,
        [
            POINTER(POINTER(_workflow_structs.EvaluationResult)),
            c_char_p,
            POINTER(_workflow_structs.InputOptions),
            POINTER(_workflow_structs.EvaluateFileOptions),
        ],
    ),
    "vg_evaluation_result_free": (None, [POINTER(_workflow_structs.EvaluationResult)]),
    "vg_score_set_finish": (c_int, [POINTER(_P), POINTER(_workflow_structs.ScoreSet), _P]),
    "vg_score_result_json": (c_int, [POINTER(_P), _P]),
    "vg_score_result_free": (None, [_P]),
    "vg_recipe_defaults": (None, [_P]),
    "vg_recipe_set": (c_int, [_P, c_char_p]),
    "vg_recipe_find": (c_int, [_P, c_char_p, POINTER(c_char_p), c_size_t]),
    "vg_recipe_text": (c_int, [POINTER(_P), _P]),
    "vg_train_recipe": (
        c_int,
        [POINTER(_workflow_structs.TrainResult), POINTER(_workflow_structs.TrainRecipeOptions)],
    ),
    "vg_predict_runs": (
        c_int,
        [POINTER(_workflow_structs.PredictRunsResult), POINTER(_workflow_structs.PredictRunsOptions)],
    ),
    "vg_run_recipe": (
        c_int,
        [POINTER(POINTER(_workflow_structs.RunResult)), POINTER(_workflow_structs.RunRecipeOptions)],
    ),
    "vg_run_result_free": (None, [POINTER(_workflow_structs.RunResult)]),
    "vg_page_write": (
        c_int,
        [
            POINTER(POINTER(_workflow_structs.Page)),
            c_char_p,
            c_char_p,
            POINTER(_workflow_structs.InputOptions),
            POINTER(_workflow_structs.PageOptions),
        ],
    ),
    "vg_score_file": (
        c_int,
        [
            _P,
            c_char_p,
            POINTER(_workflow_structs.InputOptions),
            POINTER(_workflow_structs.ScoreFileOptions),
        ],
    ),
    "vg_page_free": (None, [POINTER(_workflow_structs.Page)]),
    "vg_doctor": (c_int, [POINTER(_P), POINTER(c_size_t)]),
    "vg_doctor_json": (c_int, [POINTER(_P), _P, c_size_t]),
    "vg_doctor_free": (None, [_P]),
    "vg_sites_view": (
        c_int,
        [POINTER(_structs.Sites), _P, c_int, c_char_p, c_size_t, POINTER(c_size_t), POINTER(ctypes.c_ssize_t)],
    ),
    "vg_prediction_file_open": (c_int, [POINTER(_P), c_char_p, POINTER(_workflow_structs.PredictionOptions)]),
    "vg_prediction_file_close": (None, [_P]),
    "vg_prediction_file_shape": (
        None,
        [_P, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_size_t), POINTER(c_int)],
    ),
    "vg_prediction_file_labels": (c_int, [_P, POINTER(_P), POINTER(c_size_t)]),
    "vg_prediction_file_classes": (c_int, [_P, POINTER(POINTER(c_char_p))]),
    "vg_prediction_file_ids": (c_int, [_P, POINTER(POINTER(c_char_p))]),
    "vg_prediction_file_block": (c_int, [_P, c_size_t, c_size_t, POINTER(_structs.Predictions)]),
}
for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments


# --- errors -----------------------------------------------------------------------------------------------------------

_EXCEPTIONS: dict[int, type[Exception]] = {_structs.ERR_MEMORY: MemoryError, _structs.ERR_IO: OSError}


_OPTION = re.compile(r"--([a-z][a-z-]*)( (?:[A-Z]+|\d+|comma|point|[^ ,;]+,[^ ;]+)(?![\w']))?")
_SWITCHES = ("force", "logits", "multilabel", "renormalise")


def in_pythons_words(line: str) -> str:
    """A line of the library with the command's options as the keyword arguments of the same names.

    >>> in_pythons_words("(logits: --logits; if not, give --axes MNC)")
    "(logits: logits=True; if not, give axes='MNC')"
    """

    def argument(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), (found[2] or "").strip()
        if found[1] in _SWITCHES:
            return f"{name}=True{found[2] or ''}"
        return f"{name}={value if value.isdigit() else repr(value)}" if value else name

    return _OPTION.sub(argument, line)


def error(status: int) -> Exception:
    """The exception for a failed call: ValueError, MemoryError or OSError with the library's line."""
    line = in_pythons_words(lib.vg_error_message().decode("utf-8", "replace"))
    return _EXCEPTIONS.get(status, ValueError)(line)


def check(status: int) -> None:
    """Raises when a call has failed."""
    if status:
        if status == _structs.ERR_INTERRUPTED and _stopped:
            raise _stopped.pop()
        raise error(status)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------
#
# A signal's Python handler can run only while Python runs. Long calls therefore have a progress callback: entering it
# runs the handlers that are due. What a handler raises there would be lost (ctypes does not pass exceptions on), so for
# the length of the call SIGINT's handler is wrapped: what it raises is kept, the callback asks the library to stop, and
# check() raises it.

_stopped: list[BaseException] = []


def stopped() -> bool:
    """Whether a signal has asked the call that is running to stop."""
    return bool(_stopped)


def stopped_here() -> bool:
    """Whether it has asked the calling thread. Only the main thread's calls are stopped, and only they may raise."""
    return bool(_stopped) and threading.current_thread() is threading.main_thread()


def take_stopped() -> BaseException | None:
    """What the signal's handler has raised; it is then settled."""
    return _stopped.pop() if _stopped else None


def _tick(_context: Any, _done: int, _total: int) -> int:
    return 1 if stopped_here() else 0  # the callback runs in the thread that made the call


progress = _structs.ProgressFn(_tick)


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
    name = (ctypes.c_char * _evaluate.NAME_SIZE)()
    lib.vg_k_name(name, k)
    return name.value.decode()
