"""vargate's run folders as PyTorch modules, and back.

A run folder holds ``best.safetensors`` and ``last.safetensors``: parameters under PyTorch-like names, the recipe and
the state of training as text. `RunNetwork` is the network such a file describes, with the same names.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _native
from . import _safetensors
from .heads import HeadPrior, LastLayerEnsemble

__all__ = ["RunNetwork", "load_run", "save_run"]

# Defaults of a recipe; only keys that shape the network.
_DEFAULTS: dict[str, Any] = {
    "network": "cnn",
    "ensemble": "lle",
    "heads": 100,
    "dropout": 0.05,
    "head_features": 0.0,
    "head_prior": 0.0,
    "head_init_scale": 0.0,
    "init": "he",
    "head_anchor": 0.0,
}


class _Norm(nn.BatchNorm2d):
    """Batch-norm that may hold a second set of statistics, taken without dropout."""

    refreshed_mean: Tensor | None
    refreshed_var: Tensor | None

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=1e-5, momentum=0.1)
        self.register_buffer("refreshed_mean", None)
        self.register_buffer("refreshed_var", None)
        self.use_refreshed = False

    def keep_refreshed(self) -> None:
        """Makes the running statistics the refreshed ones as well."""
        assert self.running_mean is not None
        assert self.running_var is not None
        self.refreshed_mean, self.refreshed_var = self.running_mean.clone(), self.running_var.clone()

    def forward(self, x: Tensor) -> Tensor:
        if self.training or not self.use_refreshed or self.refreshed_mean is None:
            return super().forward(x)
        return F.batch_norm(x, self.refreshed_mean, self.refreshed_var, self.weight, self.bias, False, 0.0, self.eps)


class _Cnn(nn.Module):
    """[conv 5x5, max-pool 2, ReLU, dropout] twice, linear, ReLU, dropout."""

    def __init__(self, shape: tuple[int, int, int], width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        channels, height, rows = shape
        if min(height, rows) < 16 or height % 4 or rows % 4:
            raise ValueError(
                f"the CNN needs images whose sides are 16 or more and divide by 4, found {height} x {rows}"
            )
        self.conv1 = nn.Conv2d(channels, width, 5)
        self.conv2 = nn.Conv2d(width, width, 5)
        area = (((height - 4) // 2 - 4) // 2) * (((rows - 4) // 2 - 4) // 2)
        self.hidden = nn.Linear(width * area, hidden)
        self.dropout = nn.Dropout(dropout)
        self.features = hidden

    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(F.relu(F.max_pool2d(self.conv1(x), 2)))
        x = self.dropout(F.relu(F.max_pool2d(self.conv2(x), 2)))
        out: Tensor = self.dropout(F.relu(self.hidden(x.flatten(1))))
        return out


class _Block(nn.Module):
    def __init__(self, channels: int, out: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = _Norm(channels)
        self.conv1 = nn.Conv2d(channels, out, 3, stride=stride, padding=1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.norm2 = _Norm(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        same = channels == out and stride == 1
        self.shortcut = None if same else nn.Conv2d(channels, out, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        first = F.relu(self.norm1(x))
        y = F.relu(self.norm2(self.dropout(self.conv1(first))))
        out: Tensor = self.conv2(y) + (x if self.shortcut is None else self.shortcut(first))
        return out


class _Wrn(nn.Module):
    """Wide residual network, pre-activation."""

    def __init__(self, shape: tuple[int, int, int], depth: int, width: int, dropout: float) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ValueError(f"wrn-{depth}-{width}: depth must be 10, 16, 22, ... (6 k + 4)")
        self.conv1 = nn.Conv2d(shape[0], 16, 3, padding=1, bias=False)
        channels, blocks = 16, (depth - 4) // 6
        for group in range(3):
            layers = nn.Sequential()
            for i in range(blocks):
                out = 16 * width << group
                layers.add_module(f"block{i + 1}", _Block(channels, out, 2 if group and not i else 1, dropout))
                channels = out
            self.add_module(f"group{group + 1}", layers)
        self.norm = _Norm(channels)
        self.features = channels

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(x)
        for group in range(3):
            x = self.get_submodule(f"group{group + 1}")(x)
        return F.relu(self.norm(x)).mean(dim=(2, 3))


def _trunk(name: str, shape: tuple[int, int, int], dropout: float) -> _Cnn | _Wrn:
    if name == "cnn":
        return _Cnn(shape, 128, 2048, dropout)
    for pattern, build in ((r"cnn-(\d+)-(\d+)", _Cnn), (r"wrn-(\d+)-(\d+)", _Wrn)):
        found = re.fullmatch(pattern, name)
        if found:
            return build(shape, int(found[1]), int(found[2]), dropout)
    raise ValueError(f"network {name!r} is not known; there are cnn, cnn-WIDTH-HIDDEN, wrn-DEPTH-WIDTH")


class RunNetwork(nn.Module):
    """The network of a vargate run: normalised images (N, channels, height, width) to logits (N, heads, classes).

    Without dropout it predicts as an LLE run does, by the refreshed batch-norm statistics where there are some; under
    `mc_dropout`, and in training, by the running ones. Made by `load_run`, or from a recipe, to be trained here and
    written by `save_run`.

    Parameters
    ----------
    recipe : mapping
        Keys of a recipe file; those that shape the network are ``network``, ``ensemble``, ``heads``, ``dropout`` and
        ``head_...``.
    image_shape : (channels, height, width)
    classes : int
    mean, std : sequence of float
        Normalisation of each channel, of values in 0..1.

    Attributes
    ----------
    recipe, state : dict
    heads : LastLayerEnsemble

    Examples
    --------
    >>> import torch
    >>> net = RunNetwork({"network": "cnn-8-32", "heads": 5}, (1, 28, 28), 10).eval()
    >>> net(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 5, 10])
    """

    def __init__(
        self,
        recipe: Mapping[str, Any],
        image_shape: tuple[int, int, int],
        classes: int,
        *,
        mean: Sequence[float] = (0.0,),
        std: Sequence[float] = (1.0,),
    ) -> None:
        super().__init__()
        self.recipe = {**_DEFAULTS, **recipe}
        if self.recipe["ensemble"] == "mcd":
            self.recipe["heads"] = 1 if "heads" not in recipe else self.recipe["heads"]
        self.image_shape, self.classes = image_shape, classes
        self.state: dict[str, Any] = {}
        channels = image_shape[0]
        self.mean, self.std = _per_channel(mean, channels), _per_channel(std, channels)
        trunk = _trunk(self.recipe["network"], image_shape, float(self.recipe["dropout"]))
        features = trunk.features
        # The trunk's layers under their own names, so that a state has the names of a checkpoint.
        for name, module in trunk.named_children():
            self.add_module(name, module)
        self._forward_trunk = type(trunk).forward
        uniform = self.recipe["init"] == "uniform"
        scale = float(self.recipe["head_init_scale"]) or math.sqrt(1 / 3 if uniform else 2)
        share = float(self.recipe["head_features"]) or 1.0
        self.heads = LastLayerEnsemble(
            features,
            classes,
            int(self.recipe["heads"]),
            features=share,
            prior=float(self.recipe["head_prior"]) or None,
            init_scale=scale,
            anchor=float(self.recipe["head_anchor"]),
            init="uniform" if uniform else "normal",
            image_shape=image_shape if self.recipe["head_prior"] else None,
        )
        for module in self.modules():
            if (
                isinstance(module, (nn.Conv2d, nn.Linear))
                and not isinstance(module, LastLayerEnsemble)
                and module.weight.requires_grad
            ):
                if uniform:
                    module.reset_parameters()  # PyTorch's default is the definition of `init: uniform`
                    continue
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def normalise(self, images: Any) -> Tensor:
        """Images (N, height, width[, channels]) of uint8, or (N, channels, height, width) of floats in 0..1, as the
        network takes them."""
        x = images if isinstance(images, Tensor) else torch.from_numpy(np.array(images))
        if x.dtype == torch.uint8:
            x = x.unsqueeze(1) if x.dim() == 3 else x.permute(0, 3, 1, 2)
            x = x.float() / 255
        mean, std = (torch.tensor(v, dtype=torch.float32).view(1, -1, 1, 1) for v in (self.mean, self.std))
        return (x.float() - mean) / std

    def forward(self, images: Tensor) -> Tensor:
        dropping = any(module.training for module in self.modules() if isinstance(module, nn.Dropout))
        for module in self.modules():
            if isinstance(module, _Norm):
                module.use_refreshed = not dropping
        out: Tensor = self.heads(self._forward_trunk(self, images), images)
        return out


def _per_channel(values: Sequence[float], channels: int) -> tuple[float, ...]:
    given = tuple(float(v) for v in values)
    return given * channels if len(given) == 1 else given[:channels]


# --- recipes as text --------------------------------------------------------------------------------------------------


def _value(text: str) -> Any:
    text = text.strip()
    if text.startswith("["):
        return [_value(part) for part in text[1:-1].split(",") if part.strip()]
    if text in ("yes", "no", "true", "false"):
        return text in ("yes", "true")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("\"'")


def _parse(text: str) -> dict[str, Any]:
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line and not line.lstrip().startswith("#"))
    return {key.strip(): _value(value) for key, _, value in pairs}


def _say(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_say(v) for v in value) + "]"
    return repr(value) if isinstance(value, float) else str(value)


# --- folders ----------------------------------------------------------------------------------------------------------

_RENAMED = {"heads.start/weight": "heads.start_weight", "heads.start/bias": "heads.start_bias"}


def _tensor_name(name: str) -> str:
    return "heads.prior." + name[6:] if name.startswith("prior/") else _RENAMED.get(name, name)


def load_run(folder: str | os.PathLike[str], checkpoint: str = "last") -> RunNetwork:
    """The network of a run folder, equal to what ``vargate predict`` runs: same logits without dropout, within float32
    rounding.

    Parameters
    ----------
    folder : path
        A run folder, or a checkpoint file.
    checkpoint : {"last", "best"}
        Which of a folder's; ``vargate predict`` has the same default.

    Returns
    -------
    RunNetwork
        In evaluation mode, on the CPU. ``recipe`` and ``state`` say how it was trained, ``normalise`` prepares images.
    """
    path = Path(folder)
    if path.is_dir() or not path.exists():
        path = path / f"{checkpoint}.safetensors"
    arrays, metadata = _safetensors.read(str(path))
    if "recipe" not in metadata or "state" not in metadata:
        raise ValueError(f"{path}: not a vargate checkpoint: no recipe or state of training in it")
    recipe, state = _parse(metadata["recipe"]), json.loads(metadata["state"])
    shape = (int(state["channels"]), int(state["height"]), int(state["width"]))
    net = RunNetwork(recipe, shape, int(state["classes"]), mean=state["mean"][: shape[0]], std=state["std"][: shape[0]])
    net.state = state
    found = {_tensor_name(name): array for name, array in arrays.items() if not name.startswith("adam.")}
    for name, module in net.named_modules():
        if isinstance(module, _Norm) and f"{name}.refreshed_mean" in found:
            module.keep_refreshed()
    _fill(net, found, str(path))
    net.eval()
    return net


@torch.no_grad()
def _fill(net: RunNetwork, found: dict[str, npt.NDArray[np.generic]], path: str) -> None:
    tensors = {name: tensor for name, tensor in net.state_dict().items() if not name.endswith("num_batches_tracked")}
    for name, tensor in tensors.items():
        if name not in found:
            raise ValueError(f"{path}: array {name!r} is missing")
        array = found.pop(name)
        if array.shape != tuple(tensor.shape):
            raise ValueError(
                f"{path}: array {name!r} has shape {array.shape}, the network expects {tuple(tensor.shape)}"
            )
        tensor.copy_(torch.from_numpy(array.astype(np.float32)))
    if found:
        raise ValueError(f"{path}: array {next(iter(found))!r} is not of this network")


def _array_name(name: str) -> str:
    if name.startswith("heads.prior."):
        return "prior/" + name[12:]
    return {new: old for old, new in _RENAMED.items()}.get(name, name)


def save_run(model: RunNetwork, folder: str | os.PathLike[str]) -> None:
    """Writes a network as a run folder that ``vargate predict`` takes: ``last.safetensors`` (and ``best``),
    ``recipe.yaml``, ``run.json``.

    Parameters
    ----------
    model : RunNetwork
        From `load_run`, trained further or not, or made from a recipe. A network trained elsewhere has no optimiser
        state: ``vargate train --resume`` does not take it.
    folder : path
        Made if need be.
    """
    if not isinstance(model, RunNetwork):
        raise TypeError(
            f"{type(model).__name__} is not a network vargate knows, expected a RunNetwork (load_run gives one)"
        )
    if model.heads.prior is not None and not isinstance(model.heads.prior, HeadPrior):
        raise TypeError("the heads' prior is not vargate's own network, so no checkpoint can hold it")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for name, tensor in model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            array = tensor.detach().cpu().float().numpy()
            arrays[_array_name(name)] = array.astype(np.uint8) if name == "heads.mask" else np.ascontiguousarray(array)
    if "heads.mask" in arrays:
        arrays["heads.weight"] = arrays["heads.weight"] * arrays["heads.mask"].astype(np.float32)
    recipe = "".join(f"{key}: {_say(value)}\n" for key, value in model.recipe.items())
    refreshed = any(name.endswith("refreshed_mean") for name in arrays)
    channels, height, width = model.image_shape
    state = {"epoch": 1, "step": 0, **model.state}
    state |= {"channels": channels, "height": height, "width": width, "classes": model.classes, "refreshed": refreshed}
    state |= {"mean": _sixteen(model.mean), "std": _sixteen(model.std)}
    version = _native.lib.vg_version().decode()
    metadata = {"vargate": version, "recipe": recipe, "state": json.dumps(state, sort_keys=True)}
    for name in ("last", "best"):
        _safetensors.write(str(path / f"{name}.safetensors"), arrays, metadata)
    _text(path / "recipe.yaml", recipe)
    about = {"version": version, "recipe": model.recipe.get("name", "unnamed"), "seed": model.recipe.get("seed", 1)}
    _text(path / "run.json", json.dumps({**about, "device": f"PyTorch {torch.__version__}"}, indent=2))


def _sixteen(values: tuple[float, ...]) -> list[float]:
    return [*values, *[0.0] * (16 - len(values))]


def _text(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text)
    beside.replace(path)
