"""Logits of every ensemble member from a PyTorch model: MC dropout, heads, both, or several models."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from .._arrays import as_integers, whole
from .._bar import Bar
from .._files import save_arrays
from .._options import show_options
from .dropout import mc_dropout, modes

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Collected", "collect", "collect_batches", "refresh_batchnorm"]

Ensemble = Literal["mcd", "lle", "mcd-lle", "deep"]
Unpacker = Callable[[Any], tuple[Any, Any]]
Models: TypeAlias = nn.Module | Sequence[nn.Module]
ENSEMBLES = ("mcd", "lle", "mcd-lle", "deep")


class Collected(NamedTuple):
    """Logits (N, M, C) float32, and labels where the loader gave them: (N,) int64, or (N, C) where it gave 0/1 for
    every class. Of images logits (N, M, C, H, W) and label maps (N, H, W)."""

    logits: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64] | None


class CollectOptions(TypedDict, total=False):
    """The options of `collect_batches`, which `collect` passes on."""

    passes: int | None
    heads: int | None
    device: str | torch.device | None
    seed: int | None
    progress: bool | None
    unpack: Unpacker | None
    axes: str | None


# --- batches and progress ---------------------------------------------------------------------------------------------


def _device_of(model: nn.Module) -> torch.device:
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")


def _to(x: Any, device: torch.device) -> Any:
    if isinstance(x, Tensor):
        return x.to(device, non_blocking=True)
    if isinstance(x, Mapping):
        return {name: _to(value, device) for name, value in x.items()}
    return tuple(_to(value, device) for value in x) if isinstance(x, tuple) else x


def _unpack(batch: Any) -> tuple[Any, Any]:
    """Inputs and labels of a batch: inputs alone, (inputs, labels), or a mapping that may hold ``labels`` (or
    ``label``)."""
    if isinstance(batch, Mapping):
        label = next((name for name in ("labels", "label") if name in batch), None)
        return {name: value for name, value in batch.items() if name != label}, None if label is None else batch[label]
    if isinstance(batch, (tuple, list)):
        if len(batch) == 2:
            return batch[0], batch[1]
        if len(batch) != 1:
            raise ValueError(
                f"a batch has {len(batch)} parts, expected inputs, or (inputs, labels): say which are which, "
                "for instance unpack=lambda b: ((b[0], b[1]), b[2]) for a model called with two inputs"
            )
        return batch[0], None
    return batch, None


def _call(model: nn.Module, x: Any) -> Any:
    """The model on its inputs: several of a tuple, keywords of a mapping whose names ``forward`` takes."""
    if isinstance(x, tuple):
        return model(*x)
    if isinstance(x, Mapping):
        taken = inspect.signature(model.forward).parameters
        if any(p.kind is p.VAR_KEYWORD for p in taken.values()) or all(name in taken for name in x):
            return model(**x)
    return model(x)


def _maps_of(a: npt.NDArray[Any], n: int, sites: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Label maps of a batch, a class number for each site; what they leave out (255, often) is kept."""
    if a.shape == (n, 1, *sites):
        a = a[:, 0]
    if a.shape != (n, *sites):
        raise ValueError(
            f"label maps of a batch have shape {a.shape}, but the logits have sites {(n, *sites)}: scale the logits to "
            "the labels' size in the model (torch.nn.functional.interpolate)"
        )
    return as_integers(a, "labels of a batch")


def _labels_of(y: Any, n: int, classes: int, sites: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Labels of a batch, (n,) or 0/1 (n, classes), or maps of `sites`; nothing is rounded or flattened."""
    a = np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y)
    if sites:
        return _maps_of(a, n, sites)
    if a.shape == (n, 1):
        a = a[:, 0]
    if a.shape not in ((n,), (n, classes)):
        raise ValueError(
            f"labels of a batch have shape {a.shape}, expected ({n},), or ({n}, {classes}) of 0 and 1; "
            "where they are something else, say what are inputs and what are labels: "
            "unpack=lambda batch: (inputs, labels)"
        )
    packed = as_integers(a, "labels of a batch")
    if a.ndim == 2 and not bool(np.isin(packed, (0, 1)).all()):
        raise ValueError(
            f"labels of a batch have shape {a.shape} and values other than 0 and 1, expected class numbers ({n},)"
        )
    return packed


def _length(loader: Iterable[Any]) -> int | None:
    try:
        return len(loader)  # type: ignore[arg-type]
    except TypeError:
        return None


# --- members ----------------------------------------------------------------------------------------------------------


# What an output is where its axes are not named. Five are heads of images or one volume: nothing is guessed.
_BY_RANK = {2: "NC", 3: "NMC", 4: "NCHW"}


def _axes_of(z: Tensor, axes: str | None, what: str) -> str:
    named = axes or _BY_RANK.get(z.dim(), "")
    if z.dim() == len(named):
        return named
    given, shape = f"axes={axes!r} names {len(named)}" if axes else "expected logits", tuple(z.shape)
    if not axes and z.dim() == 5:
        raise ValueError(f"{what} gave {shape}: pass axes='NMCHW' if these are heads and images, 'NCHWD' if volumes")
    raise ValueError(f"{what} gave {shape}, {given}{'' if axes else ' (N, C), (N, heads, C) or (N, C, H, W)'}")


def _output(z: Any) -> Any:
    """The logits among what a model gave: itself, its ``logits``, or its entry ``logits`` or ``out``."""
    if isinstance(z, Mapping):
        return next((z[name] for name in ("logits", "out") if name in z), z)
    return z if isinstance(z, Tensor) else getattr(z, "logits", z)


def _heads(model: nn.Module, x: Any, axes: str | None, what: str = "the model") -> Tensor:
    """A pass: logits (N, heads, C), or (N, heads, C, H, W, ...) of images and volumes."""
    z = _output(_call(model, x))
    if not isinstance(z, Tensor):
        raise ValueError(f"{what} gave {type(z).__name__}, expected logits (N, C), (N, heads, C) or (N, C, H, W)")
    named = _axes_of(z, axes, what)
    if "M" not in named:
        named, z = "M" + named, z[None]
    return z.permute([named.index(letter) for letter in "NMCHWD" if letter in named])


def _checked_axes(axes: str | None) -> str | None:
    if axes is None:
        return None
    letters = sorted(axes)
    if letters != sorted(set(letters)) or not set("NC") <= set(letters) <= set("NMCHWD"):
        raise ValueError(f"axes is {axes!r}, expected the axes of the model's output: an order of N C, M, H W, D")
    return axes


class _Members:
    """Logits of a batch from every member; notes whether any two passes over the same inputs have differed."""

    def __init__(
        self, models: list[nn.Module], ensemble: str, members: int, counts: Sequence[int | None], axes: str | None
    ) -> None:
        self.models, self.ensemble, self.members, self.axes = models, ensemble, members, axes
        self.passes, self.heads = counts
        self.compared = self.differed = False

    def _compare(self, first: Tensor, second: Tensor) -> None:
        self.compared = True
        self.differed = self.differed or not torch.equal(first, second)

    def _passes(self, x: Any, first: Tensor, count: int) -> Iterator[Tensor]:
        yield first
        for t in range(1, count):
            z = _heads(self.models[0], x, self.axes)
            if t == 1:
                self._compare(first, z)
            yield z

    def __call__(self, x: Any) -> Tensor:
        """(N, M, C), and the axes of the sites."""
        if self.ensemble == "deep":
            each = [_heads(model, x, self.axes, "a model") for model in self.models]
            for other in each[1:]:
                self._compare(each[0], other)
            return torch.cat(each, dim=1)
        first = _heads(self.models[0], x, self.axes)
        count = first.shape[1]
        if self.ensemble == "lle":
            return first[:, : min(self.members, count)]
        if self.passes is not None and self.heads is not None:
            if self.heads > count:
                raise ValueError(f"the model has {count} heads, {self.heads} were asked for")
            return torch.cat([z[:, : self.heads] for z in self._passes(x, first, self.passes)], dim=1)
        if self.ensemble == "mcd":
            if count != 1:
                raise ValueError(f"the model has {count} heads: mcd needs one; take mcd-lle, or passes and heads")
            return torch.cat(list(self._passes(x, first, self.members)), dim=1)
        paired = self._passes(x, first, min(self.members, count))
        return torch.cat([z[:, t : t + 1] for t, z in enumerate(paired)], dim=1)

    def report(self) -> None:
        """Warns when no two passes, or no two models, have differed."""
        if not self.compared or self.differed:
            return
        if self.ensemble == "deep":
            said = (
                f"the {len(self.models)} models gave equal logits for every sample: they are one model, not an ensemble"
            )
        else:
            said = (
                "every pass gave equal logits for every sample: "
                "dropout changes nothing in this model, so there is no ensemble"
            )
        warnings.warn(said, UserWarning, stacklevel=4)


class _Random:
    """Dropout masks from a seed: a stream of its own, whatever else draws from PyTorch's generators between batches."""

    def __init__(self, seed: int | None, place: torch.device) -> None:
        self.seed, self.devices = seed, [place] if place.type == "cuda" else []
        self.state: Tensor | None = None
        self.device_states: list[Tensor] = []

    def __enter__(self) -> None:
        if self.seed is None:
            return
        self.fork = torch.random.fork_rng(devices=self.devices)
        self.fork.__enter__()
        if self.state is None:
            torch.manual_seed(self.seed)
        else:
            torch.set_rng_state(self.state)
            for device, state in zip(self.devices, self.device_states, strict=True):
                torch.cuda.set_rng_state(state, device)

    def __exit__(self, *raised: Any) -> None:
        if self.seed is None:
            return
        self.state = torch.get_rng_state()
        self.device_states = [torch.cuda.get_rng_state(device) for device in self.devices]
        self.fork.__exit__(*raised)


def collect_batches(
    model: Models,
    loader: Iterable[Any],
    ensemble: Ensemble = "mcd",
    members: int = 100,
    *,
    passes: int | None = None,
    heads: int | None = None,
    device: str | torch.device | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    unpack: Unpacker | None = None,
    axes: str | None = None,
) -> Iterator[Collected]:
    """What `collect` gives, one batch after another: memory for one batch of logits, whatever the loader holds.

    Parameters are `collect`'s. Between two batches the model is in its own mode.

    Examples
    --------
    >>> import torch, vargate
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    >>> loader = [torch.randn(8, 4), torch.randn(2, 4)]
    >>> scorer = vargate.Scorer(logits=True)
    >>> [len(scorer.feed(batch.logits)) for batch in collect_batches(model, loader, members=20)]
    [8, 2]
    """
    models = [model] if isinstance(model, nn.Module) and not isinstance(model, nn.ModuleList) else list(model)
    if ensemble not in ENSEMBLES:
        raise ValueError(f"ensemble is {ensemble!r}, expected one of {', '.join(map(repr, ENSEMBLES))}")
    if not models or (len(models) > 1 and ensemble != "deep"):
        raise ValueError(
            f"{len(models)} models for ensemble {ensemble!r}, expected one (several are a 'deep' ensemble)"
        )
    if (passes is None) != (heads is None):
        raise ValueError(f"passes is {passes} and heads is {heads}, expected both or neither")
    counts = [
        None if value is None else whole(value, name, 1) for name, value in (("passes", passes), ("heads", heads))
    ]
    stochastic = ensemble in ("mcd", "mcd-lle")
    if passes is not None and not stochastic:
        raise ValueError(f"passes are for ensembles with dropout: mcd or mcd-lle, not {ensemble}")
    run = _Members(models, ensemble, whole(members, "members", 1), counts, _checked_axes(axes))
    place = torch.device(device) if device is not None else _device_of(models[0])
    bar = Bar(_length(loader), sys.stderr.isatty() if progress is None else progress)
    return _batches(run, loader, place, _Random(seed, place), bar, unpack or _unpack, stochastic)


def _batches(
    run: _Members,
    loader: Iterable[Any],
    place: torch.device,
    random: _Random,
    bar: Bar,
    unpack: Unpacker,
    stochastic: bool,
) -> Iterator[Collected]:
    for each in run.models:
        each.to(place)
    for batch in loader:
        x, y = unpack(batch)
        with ExitStack() as stack:  # left before the batch is yielded, so that no other code runs in these modes
            stack.enter_context(torch.inference_mode())
            stack.enter_context(random)
            for each in run.models:
                stack.enter_context(modes(each.modules()))
                each.eval()
            if stochastic:
                stack.enter_context(mc_dropout(run.models[0]))
            z = run(_to(x, place)).float().cpu().numpy()
        labels = None if y is None else _labels_of(y, len(z), z.shape[2], z.shape[3:])
        bar.step()
        yield Collected(z, labels)
    run.report()


# fmt: off
@overload
def collect(model: Models, loader: Iterable[Any], ensemble: Ensemble = ..., members: int = ..., *,
            out: None = ..., **options: Unpack[CollectOptions]) -> Collected: ...
@overload
def collect(model: Models, loader: Iterable[Any], ensemble: Ensemble = ..., members: int = ..., *,
            out: str | os.PathLike[str], **options: Unpack[CollectOptions]) -> Path: ...
# fmt: on
def collect(
    model: Models,
    loader: Iterable[Any],
    ensemble: Ensemble = "mcd",
    members: int = 100,
    *,
    out: str | os.PathLike[str] | None = None,
    **options: Unpack[CollectOptions],
) -> Collected | Path:
    """Logits of every member for every sample of a loader, ready for ``vargate.score(logits, logits=True)``.

    Parameters
    ----------
    model : module, or a sequence or ``ModuleList`` of modules for ``"deep"``
        Gives logits (N, C), (N, heads, C) as `LastLayerEnsemble` does, or (N, C, H, W) as segmentation models do; or an
        object or mapping with ``logits``, as Hugging Face's models, or with ``out``, as torchvision's. Its mode is put
        back at the end.
    loader : iterable of batches
        A ``DataLoader`` or anything that gives, in a fixed order, inputs, (inputs, labels), or mappings: ``labels`` (or
        ``label``) are taken out, and the rest are keyword arguments of the model where its ``forward`` has their names.
    ensemble : {"mcd", "lle", "mcd-lle", "deep"}
        ``mcd``: `members` passes with dropout on. ``lle``: the heads, dropout off. ``mcd-lle``: pass t has dropout
        masks of its own and is read through head t. ``deep``: each model is a member (several, if it has heads).
    members : int, default 100
        Passes of ``mcd``; for ``lle`` and ``mcd-lle`` at most the number of heads.
    passes, heads : int, optional
        Together, with dropout on: every pass is read through the first `heads` heads; members = passes x heads.
    device : optional
        Where to run; None: where the model is.
    seed : int, optional
        Of the dropout masks; the state of PyTorch's generators is put back at the end.
    progress : bool, optional
        A bar on standard error; None: on a terminal.
    unpack : callable, optional
        Inputs and labels (or None) of a batch of any other form: ``lambda b: ((b[0], b[1]), b[2])`` calls the model
        with two inputs, a mapping as inputs is passed as keywords.
    axes : str, optional
        The axes of the model's output where they are others: ``"NMCHW"`` (heads of images), ``"NCHWD"`` (volumes),
        ``"NHWC"``.
    out : path, optional
        Write ``Z`` (and ``L``) to this ``.npz`` or ``.safetensors`` file, which the command line and `numpy.load` read,
        instead of holding them: memory stays that of a batch.

    Returns
    -------
    Collected, or Path with `out`
        A named tuple of `logits` (N, M, C) float32 and `labels` or None: (N,) int64, or (N, C) where the loader gives
        0/1 for every class (multilabel, or one-hot: take ``labels.argmax(axis=1)``). Of images `logits` is (N, M, C, H,
        W) and `labels` are maps (N, H, W), for ``score`` and ``evaluate`` with ``axes="NMCHW"``.

    Warns
    -----
    UserWarning
        When every pass (or every model) gives the same logits.

    Examples
    --------
    >>> import torch, vargate
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    >>> logits, labels = collect(model, [torch.randn(8, 4), torch.randn(2, 4)], "mcd", members=20, seed=0)
    >>> logits.shape, labels, vargate.score(logits, logits=True).m
    ((10, 20, 3), None, 20)
    """
    if out is not None and os.path.splitext(out)[1].lower() not in (".npz", ".safetensors"):
        raise ValueError(f"{os.fspath(out)}: the name must end in .npz or .safetensors")
    batches = collect_batches(model, loader, ensemble, members, **options)
    if out is not None:
        return _write(batches, Path(out))
    logits: list[npt.NDArray[np.float32]] = []
    labels: list[npt.NDArray[np.int64]] = []
    for z, y in batches:
        logits.append(z)
        if y is not None:
            labels.append(y)
    _check_count(len(logits), len(labels))
    return Collected(np.concatenate(logits), np.concatenate(labels) if labels else None)


show_options(collect, collect_batches)


def _check_count(batches: int, labelled: int) -> None:
    if not batches:
        raise ValueError("the loader gave no batch")
    if labelled not in (0, batches):
        raise ValueError(f"{labelled} of {batches} batches have labels, expected all of them or none")


def _write(batches: Iterable[Collected], path: Path) -> Path:
    """All batches as one file. Its header needs the number of samples: logits wait in a file beside it, removed in any
    case."""
    labels: list[npt.NDArray[np.int64]] = []
    shapes: list[tuple[int, ...]] = []
    with tempfile.TemporaryFile(prefix=".tmp-", dir=path.parent) as spool:
        for z, y in batches:
            if shapes and z.shape[1:] != shapes[0][1:]:
                axes = "members, classes" + (" and sites" if z.ndim > 3 else "")
                raise ValueError(f"a batch has logits {z.shape}, expected {shapes[0][1:]} as {axes}")
            shapes.append(z.shape)
            spool.write(np.ascontiguousarray(z).data)
            if y is not None:
                labels.append(y)
        _check_count(len(shapes), len(labels))
        spool.flush()
        whole_shape = (sum(shape[0] for shape in shapes), *shapes[0][1:])
        empty = 0 in whole_shape
        z = np.zeros(whole_shape, np.float32) if empty else np.memmap(spool, np.float32, "r", shape=whole_shape)
        save_arrays({"Z": z, **({"L": np.concatenate(labels)} if labels else {})}, os.fspath(path))
    return path


def refresh_batchnorm(
    model: nn.Module, loader: Iterable[Any], *, device: str | torch.device | None = None, unpack: Unpacker | None = None
) -> nn.Module:
    """Takes batch-norm statistics again without dropout: one pass over training images, plain mean over batches.

    Dropout before a batch-norm shifts the variance its running statistics were taken at; a last-layer ensemble, which
    predicts without dropout, loses accuracy to that. Statistics are replaced, except in vargate's own networks
    (`load_run`), which keep both sets and use the refreshed one when dropout is off.

    Parameters
    ----------
    model : module
        Changed in place and returned, its mode put back.
    loader : iterable of batches
        Training images, augmented as in training.
    unpack : callable, optional
        As in `collect`.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    if not norms:
        raise ValueError("the model has no batch-norm with running statistics")
    place = torch.device(device) if device is not None else _device_of(model)
    kept = [(norm, norm.momentum, _statistics(norm)) for norm in norms]
    model.to(place)
    with modes(model.modules()), torch.no_grad():
        model.eval()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # cumulative mean
            norm.train()
        seen = False
        for batch in loader:
            _call(model, _to((unpack or _unpack)(batch)[0], place))
            seen = True
        for norm, momentum, statistics in kept:
            norm.momentum = momentum
            if not seen:
                _put(norm, statistics)
            elif hasattr(norm, "keep_refreshed"):
                norm.keep_refreshed()
                _put(norm, statistics)
    if not seen:
        raise ValueError("the loader gave no batch")
    return model


def _statistics(norm: _BatchNorm) -> tuple[Tensor, Tensor]:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return norm.running_mean.clone(), norm.running_var.clone()


def _put(norm: _BatchNorm, statistics: tuple[Tensor, Tensor]) -> None:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.copy_(statistics[0])
    norm.running_var.copy_(statistics[1])
