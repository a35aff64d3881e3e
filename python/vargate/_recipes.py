"""Recipes of training from Python: a file, the name of one that ships, or a mapping of keys; and changes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from ctypes import c_char, c_char_p, create_string_buffer
from pathlib import Path
from typing import Any, Literal, TypedDict

from . import _native

__all__ = ["Device", "RecipeKeys", "data_folder", "find_recipe"]

Device = Literal["auto", "cpu", "cuda"]


class RecipeKeys(TypedDict, total=False):
    """Keys of a recipe; docs/training.md explains each."""

    name: str
    dataset: str
    ood: Sequence[str]
    validation: float
    test: float
    train_limit: int
    test_limit: int
    resize: int | str
    center_crop: int | str
    channels: Literal["auto", 1, 3]
    skip_corrupt: bool
    in_memory: bool | Literal["auto"]
    crop: int
    flip: float
    erase: float
    brightness: float
    contrast: float
    saturation: float
    hue: float
    network: str
    ensemble: Literal["mcd", "lle", "mcd-lle", "deep", "deep-mcd", "deep-lle", "deep-mcd-lle"]
    heads: int
    members: int
    passes: int
    dropout: float
    loss: Literal["mean", "mixture", "gated"]
    head_features: float
    head_prior: float
    head_bootstrap: bool
    head_init_scale: float
    head_anchor: float
    init: Literal["he", "uniform"]
    bn_refresh: bool | Literal["auto"]
    batch: int
    epochs: int
    rate: float
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    optimiser: Literal["adam", "adamw", "sgd"]
    momentum: float
    nesterov: bool
    clip_norm: float
    ema: float
    label_smoothing: float
    class_weights: Literal["none", "balanced"] | Sequence[float]
    sampling: Literal["shuffle", "balanced"]
    schedule: Literal["constant", "cosine", "cyclic"]
    compute: Literal["float32", "bfloat16", "tf32"]
    seed: int
    split_seed: int
    limit_seed: int
    checkpoint: Literal["last", "best"]
    best_by: Literal["accuracy", "loss"]
    patience: int
    min_delta: float
    snapshots: int
    checkpoint_every: int | str
    monitor_passes: int
    collapse_fraction: float
    collapse_epochs: int
    k: float | Sequence[float]
    calibrate: bool


def _value(value: object) -> str:
    """As a recipe file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    return "[" + ", ".join(map(_value, value)) + "]"


def _changes(keys: Mapping[str, Any]) -> list[bytes]:
    # k and ood are lists, one entry or several
    return [
        f"{key}={_value([v] if key == 'k' and isinstance(v, (int, float)) else v)}".encode() for key, v in keys.items()
    ]


def _shipped(name: str, folder: str) -> Path | None:
    """What came with the wheel lies under the environment's prefix, which the library does not know."""
    place = Path(sys.prefix) / "share" / "vargate" / folder / name
    return place if name and place.exists() else None


def data_folder(data: str | os.PathLike[str] | None) -> bytes | None:
    """The folder searched first for data sets: the caller's, or the one that came with the wheel."""
    if data is not None:
        return os.fsencode(data)
    place = _shipped(".", "data")
    return None if place is None else os.fsencode(place)


def find_recipe(recipe: str | os.PathLike[str] | Mapping[str, Any], keys: Mapping[str, Any]) -> tuple[Any, str]:
    """The library's recipe, and its name."""
    room = create_string_buffer(_native.RECIPE_ROOM)
    lib = _native.lib
    if isinstance(recipe, Mapping):
        lib.vg_recipe_defaults(room)
        for change in _changes({**recipe, **keys}):
            _native.check(lib.vg_recipe_set(room, change))
    else:
        name, changes = os.fspath(recipe), _changes(keys)
        if not os.path.exists(name) and os.sep not in name and not os.path.exists(f"recipes/{name}.yaml"):
            name = str(_shipped(name if name.endswith(".yaml") else f"{name}.yaml", "recipes") or name)
        listed = (c_char_p * max(len(changes), 1))(*changes)
        _native.check(lib.vg_recipe_find(room, os.fsencode(name), listed, len(changes)))
    return room, (c_char * _native.RECIPE_ROOM).from_buffer(room).value.decode()
