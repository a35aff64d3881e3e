"""Logits of every ensemble member from a PyTorch model: MC dropout, heads, both, or several models."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

__all__ = ["Collected", "collect", "mc_dropout", "refresh_batchnorm"]

ENSEMBLES = ("mcd", "lle", "mcd-lle", "deep")


class Collected(NamedTuple):
    """Logits (N, M, C) float32, and labels (N,) int64 where the loader gave them."""

    logits: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64] | None


@contextmanager
def _modes(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Puts every module's training flag back at the end."""
    kept = [(module, module.training) for module in modules]
    try:
        yield
    finally:
        for module, training in kept:
            module.training = training


def _dropouts(model: nn.Module) -> list[_DropoutNd]:
    return [module for module in model.modules() if isinstance(module, _DropoutNd) and module.p > 0]


@contextmanager
def mc_dropout(model: nn.Module) -> Iterator[nn.Module]:
    """Dropout on, everything else as in evaluation (batch-norm by its running statistics), for the length of a ``with`` block.

    Every flag is put back at the end. Dropout written as a function call inside ``forward`` follows its module's own ``training`` and is
    not seen: a model without a dropout module is an error.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)).eval()
    >>> x = torch.randn(4, 8)
    >>> with mc_dropout(model):
    ...     different = bool((model(x) != model(x)).any())
    >>> different, bool((model(x) == model(x)).all())
    (True, True)
    """
    dropouts = _dropouts(model)
    if not dropouts:
        raise ValueError("the model has no dropout module with a rate above 0")
    with _modes(model.modules()):
        model.eval()
        for module in dropouts:
            module.train()
        yield model


# --- batches and progress --------------------------------------------------------------------------------------------------------------


def _device_of(model: nn.Module) -> torch.device:
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")


def _to(x: Any, device: torch.device) -> Any:
    if isinstance(x, Tensor):
        return x.to(device, non_blocking=True)
    if isinstance(x, dict):
        return {name: _to(value, device) for name, value in x.items()}
    return x


def _parts(batch: Any) -> tuple[Any, Any]:
    """Inputs and labels of a batch: a tensor, or (inputs, labels, ...)."""
    if isinstance(batch, (tuple, list)):
        return batch[0], batch[1] if len(batch) > 1 else None
    return batch, None


class _Bar:
    """Batches done, on standard error."""

    def __init__(self, total: int | None, shown: bool) -> None:
        self.total, self.shown, self.begun, self.last, self.done = total, shown, time.monotonic(), 0.0, 0

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if not self.shown or (now - self.last < 0.1 and self.done != self.total):
            return
        self.last = now
        rate = self.done / max(now - self.begun, 1e-9)
        if self.total:
            filled = 30 * self.done // self.total
            text = f"collect [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} {(self.total - self.done) / rate:.0f} s left"
        else:
            text = f"collect {self.done} batches, {rate:.1f} a second"
        sys.stderr.write(f"\r{text}\x1b[K" + ("\n" if self.done == self.total else ""))
        sys.stderr.flush()


def _length(loader: Iterable[Any]) -> int | None:
    try:
        return len(loader)  # type: ignore[arg-type]
    except TypeError:
        return None


# --- members -----------------------------------------------------------------------------------------------------------------------------


def _heads(z: Any, what: str) -> Tensor:
    """Output as (N, H, C)."""
    if not isinstance(z, Tensor) or z.dim() not in (2, 3):
        shape = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise ValueError(f"{what} gave {shape}, expected logits (N, C) or (N, heads, C)")
    return z[:, None] if z.dim() == 2 else z


def _members(models: Sequence[nn.Module], x: Any, ensemble: str, members: int, passes: int | None, heads: int | None) -> Tensor:
    """Logits (N, M, C) of one batch."""
    model = models[0]
    if ensemble == "deep":
        return torch.cat([_heads(each(x), "a model") for each in models], dim=1)
    if ensemble == "lle":
        z = _heads(model(x), "the model")
        return z[:, : min(members, z.shape[1])]
    first = _heads(model(x), "the model")
    count = first.shape[1]
    if passes is not None and heads is not None:
        if heads > count:
            raise ValueError(f"the model has {count} heads, {heads} were asked for")
        return torch.cat([first[:, :heads]] + [_heads(model(x), "the model")[:, :heads] for _ in range(passes - 1)], dim=1)
    if ensemble == "mcd":
        if count != 1:
            raise ValueError(f"the model has {count} heads: mcd needs one; take mcd-lle, or passes and heads")
        return torch.cat([first] + [_heads(model(x), "the model") for _ in range(members - 1)], dim=1)
    out = [first[:, :1]]
    out += [_heads(model(x), "the model")[:, t : t + 1] for t in range(1, min(members, count))]
    return torch.cat(out, dim=1)


def collect(
    model: nn.Module | Sequence[nn.Module],
    loader: Iterable[Any],
    ensemble: str = "mcd",
    members: int = 100,
    *,
    passes: int | None = None,
    heads: int | None = None,
    device: str | torch.device | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Collected:
    """Logits of every member for every sample of a loader, ready for ``vargate.score(logits, logits=True)``.

    Parameters
    ----------
    model : module, or a sequence of modules for ``"deep"``
        Gives logits (N, C), or (N, heads, C) as `LastLayerEnsemble` does. Its mode is put back at the end.
    loader : iterable of batches
        A ``DataLoader`` or anything that gives inputs, or (inputs, labels), in a fixed order.
    ensemble : {"mcd", "lle", "mcd-lle", "deep"}
        ``mcd``: `members` passes with dropout on. ``lle``: the heads, dropout off. ``mcd-lle``: pass t has dropout masks of its own
        and is read through head t. ``deep``: each model is a member (several, if it has heads).
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

    Returns
    -------
    Collected
        A named tuple of `logits` (N, M, C) float32 and `labels` (N,) int64 or None.

    Examples
    --------
    >>> import torch, vargate
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 3))
    >>> logits, labels = collect(model, [torch.randn(8, 4), torch.randn(2, 4)], "mcd", members=20, seed=0)
    >>> logits.shape, labels, vargate.score(logits, logits=True).m
    ((10, 20, 3), None, 20)
    """
    models = [model] if isinstance(model, nn.Module) else list(model)
    if ensemble not in ENSEMBLES:
        raise ValueError(f"ensemble is {ensemble!r}, expected one of {', '.join(map(repr, ENSEMBLES))}")
    if not models or (len(models) > 1 and ensemble != "deep"):
        raise ValueError(f"{len(models)} models for ensemble {ensemble!r}, expected one (several are a 'deep' ensemble)")
    if members < 1 or (passes is None) != (heads is None) or min(passes or 1, heads or 1) < 1:
        raise ValueError(f"members {members}, passes {passes}, heads {heads}: expected 1 or more, and passes together with heads")
    stochastic = ensemble in ("mcd", "mcd-lle")
    if passes is not None and not stochastic:
        raise ValueError(f"passes are for ensembles with dropout: mcd or mcd-lle, not {ensemble}")
    place = torch.device(device) if device is not None else _device_of(models[0])
    bar = _Bar(_length(loader), sys.stderr.isatty() if progress is None else progress)
    logits: list[npt.NDArray[np.float32]] = []
    labels: list[npt.NDArray[np.int64]] = []
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        if seed is not None:
            devices = [place] if place.type == "cuda" else []
            stack.enter_context(torch.random.fork_rng(devices=devices))
            torch.manual_seed(seed)
        for each in models:
            each.to(place)
            stack.enter_context(_modes(each.modules()))
            each.eval()
        if stochastic:
            stack.enter_context(mc_dropout(models[0]))
        for batch in loader:
            x, y = _parts(batch)
            z = _members(models, _to(x, place), ensemble, members, passes, heads)
            logits.append(z.float().cpu().numpy())
            if y is not None:
                labels.append(np.asarray(y.cpu() if isinstance(y, Tensor) else y, dtype=np.int64).reshape(-1))
            bar.step()
    if not logits:
        raise ValueError("the loader gave no batch")
    return Collected(np.concatenate(logits), np.concatenate(labels) if labels else None)


def refresh_batchnorm(model: nn.Module, loader: Iterable[Any], *, device: str | torch.device | None = None) -> nn.Module:
    """Takes batch-norm statistics again without dropout: one pass over training images, plain mean over batches.

    Dropout before a batch-norm shifts the variance its running statistics were taken at; a last-layer ensemble, which predicts without
    dropout, loses accuracy to that. Statistics are replaced, except in vargate's own networks (`load_run`), which keep both sets and
    use the refreshed one when dropout is off.

    Parameters
    ----------
    model : module
        Changed in place and returned, its mode put back.
    loader : iterable of batches
        Training images, augmented as in training.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]
    if not norms:
        raise ValueError("the model has no batch-norm with running statistics")
    place = torch.device(device) if device is not None else _device_of(model)
    kept = [(norm, norm.momentum, _statistics(norm)) for norm in norms]
    model.to(place)
    with _modes(model.modules()), torch.no_grad():
        model.eval()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # cumulative mean
            norm.train()
        seen = False
        for batch in loader:
            model(_to(_parts(batch)[0], place))
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
