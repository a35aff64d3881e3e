"""Structs of ``include/vargate/sets.h``, mirrored field by field for `_native`."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint64,
    c_ulonglong,
    c_void_p,
)

from ._structs import ScoreOptions

__all__ = ["SIZES", "SetPlaces", "Sets", "SetsOptions"]


class SetsOptions(Structure):
    """vg_sets_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("score", c_int),
        ("by", c_int),
        ("alphas", POINTER(c_double)),
        ("alpha_count", c_size_t),
        ("gate", c_double),
        ("lambda", c_double),
        ("k_reg", c_double),
        ("tuning", c_double),
        ("never_empty", c_int),
        ("randomise", c_int),
        ("seed", c_uint64),
        ("confidence", c_double),
        ("p_values", c_int),
        ("scoring", POINTER(ScoreOptions)),
        ("thresholds", c_char_p),
        ("calibration_map", c_char_p),
        ("sites", c_size_t),
    ]


class Sets(Structure):
    """vg_sets"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("score", c_int),
        ("by", c_int),
        ("multilabel", c_int),
        ("randomised", c_int),
        ("never_empty", c_int),
        ("gate", c_double),
        ("lambda", c_double),
        ("k_reg", c_double),
        ("confidence", c_double),
        ("seed", c_uint64),
        ("members", c_size_t),
        ("classes", c_size_t),
        ("alpha_count", c_size_t),
        ("alphas", POINTER(c_double)),
        ("calibrated", c_size_t),
        ("tuned", c_size_t),
        ("cell_count", c_size_t),
        ("cell_names", POINTER(c_char_p)),
        ("cell_samples", POINTER(c_size_t)),
        ("thresholds", POINTER(c_double)),
        ("samples", c_ulonglong),
        ("labelled", c_ulonglong),
        ("figures", c_void_p),
        ("class_names", POINTER(c_char_p)),
        ("lambdas", POINTER(c_double)),
        ("k_regs", POINTER(c_double)),
        ("by_image", c_int),
        ("images", c_ulonglong),
        ("left_out", c_ulonglong),
    ]


class SetPlaces(Structure):
    """vg_set_places"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("mask", c_void_p),
        ("size", c_void_p),
        ("pred", c_void_p),
        ("p_value", c_void_p),
        ("value", c_void_p),
        ("sites", c_size_t),
    ]


SIZES: dict[type[Structure], int] = {SetsOptions: 128, Sets: 224, SetPlaces: 56}
