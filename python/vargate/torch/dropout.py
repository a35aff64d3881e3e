"""MC dropout: every kind of dropout of a model switched on, everything else as in evaluation.

Dropout is in a model in four ways, and each reads a flag of its own:
modules (``nn.Dropout``, ...) and layers that drop inside (``nn.MultiheadAttention``, ``nn.LSTM``, ...) read their
``training``; ``nn.TransformerEncoderLayer`` in evaluation takes a fused path without any dropout; functions
(``F.dropout(x, p, self.training)``) get the flag of the module that calls them; and modules that call
``scaled_dot_product_attention`` pass a rate of 0 unless they are training. The first, second and last have their
``training`` set (the module's alone, not its children's); functions are switched on where they are called, so that the
calling module stays in evaluation.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules.dropout import _DropoutNd
from torch.overrides import TorchFunctionMode

__all__ = ["mc_dropout", "modes"]

# All have (input, rate, whether to drop) in this order.
_FUNCTIONS: set[Any] = {
    F.dropout,
    F.dropout1d,
    F.dropout2d,
    F.dropout3d,
    F.alpha_dropout,
    F.feature_alpha_dropout,
    torch.dropout,
    torch.feature_dropout,
    torch.alpha_dropout,
    torch.feature_alpha_dropout,
}
# What a forward that reads self.training mentions when it drops attention weights inside a fused call.
_ATTENTION = {"scaled_dot_product_attention", "attention_dropout", "attn_dropout", "attn_pdrop", "flash_attn_func"}
# What one that reads self.training calls when it drops or disturbs by itself: DropPath, DropBlock, added noise.
_RANDOM = re.compile(
    r"drop_?(path|block|connect)|stochastic_?depth|bernoulli_?|(rand|randn|randint)(_like)?|normal_?|uniform_|random_"
)
_RATES = ("p", "drop_prob", "drop_rate", "rate", "std", "sigma")


@contextmanager
def modes(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Puts every module's training flag back at the end."""
    kept = [(module, module.training) for module in modules]
    try:
        yield
    finally:
        for module, training in kept:
            module.training = training


class _FunctionsOn(TorchFunctionMode):
    """Dropout written as a function call drops, whatever the module that calls it says."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _FUNCTIONS:
            if len(args) > 2:
                args = (*args[:2], True, *args[3:])
            else:
                kwargs = {**kwargs, "train" if "train" in kwargs else "training": True}
        return func(*args, **kwargs)


def _names(code: CodeType) -> set[str]:
    """Every name a function reads, those of functions inside it included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


def _is_dropout(value: object) -> bool:
    return callable(value) and any(value is function for function in _FUNCTIONS)


def _written_names(module: nn.Module) -> list[set[str]]:
    """For each method of a module's classes outside PyTorch, the names it reads; of a dropout function that was
    imported under another name (``from torch.nn.functional import dropout as drop``) its own."""
    found = []
    for cls in type(module).__mro__:
        if cls is object or cls.__module__.split(".")[0] == "torch":
            continue
        for member in vars(cls).values():
            function = getattr(member, "__func__", member)
            code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
            if isinstance(code, CodeType):
                names = _names(code)
                around = getattr(getattr(function, "__wrapped__", function), "__globals__", {})
                aliases = {name for name in names if name in around and _is_dropout(around[name])}
                found.append(names | {around[name].__name__ for name in aliases})
    return found


def _reads_rate(module: nn.Module, names: set[str]) -> bool:
    """Whether a method reads the rate of a dropout (``self.dropout.p``, or a number ``self.dropout_prob``) and hands it
    to attention that is computed elsewhere, as Hugging Face's models do."""
    if not any("attention" in name.lower() or "attn" in name.lower() for name in names):
        return False
    held = [getattr(module, name, None) for name in names if "drop" in name]
    modules = any(isinstance(rate, _DropoutNd) and rate.p > 0 for rate in held) and "p" in names
    return modules or any(isinstance(rate, float) and rate > 0 for rate in held)


def _drops_attention(module: nn.Module) -> bool:
    return any(
        "training" in names and (names & _ATTENTION or _reads_rate(module, names)) for names in _written_names(module)
    )


def _calls_dropout(module: nn.Module) -> bool:
    """Whether its code names a dropout that is not one of its modules, or one beside its own training flag."""
    return any(
        "dropout" in name and ("training" in names or not isinstance(getattr(module, name, None), nn.Module))
        for names in _written_names(module)
        for name in names
    )


def _stays_off(module: nn.Module) -> bool:
    """Whether a method reads the module's training flag beside randomness that is no dropout PyTorch knows. A rate of 0
    disturbs nothing, and layers with running statistics use the flag for these."""
    rates = [value for name in _RATES if isinstance(value := getattr(module, name, None), (int, float))]
    if (rates and not any(rates)) or hasattr(module, "running_mean"):
        return False
    return any("training" in names and any(map(_RANDOM.fullmatch, names)) for names in _written_names(module))


def _warn_of_noise(named: Iterable[tuple[str, nn.Module]], switched: Iterable[nn.Module]) -> None:
    """Names the modules whose own randomness stays off: what else their flag switches is unknown."""
    on = set(switched)
    found = [(name, module) for name, module in named if module not in on and _stays_off(module)]
    if found:
        name, module = found[0]
        warnings.warn(
            f"the module {name or 'itself'!r} ({type(module).__name__})"
            + (f" and {len(found) - 1} more are" if len(found) > 1 else " is")
            + " random in training by other code than dropout, which mc_dropout leaves off; set module.training = True "
            "inside the block to switch it on",
            stacklevel=4,
        )


def _scripted(name: str, module: Any) -> bool:
    """Whether a TorchScript module is dropout; one that calls it inside compiled code cannot be switched on and is
    refused."""
    if any(word in module.original_name for word in ("Dropout", "MultiheadAttention")):
        return True
    if "dropout(" in str(getattr(module, "code", "")) or "multi_head_attention_forward" in str(
        getattr(module, "code", "")
    ):
        raise ValueError(
            f"the module {name or 'itself'!r} ({module.original_name}) calls dropout inside TorchScript, where it "
            "follows the module's own mode and cannot be switched on alone: pass the model before scripting"
        )
    return False


def _stochastic(name: str, module: nn.Module) -> bool:
    """Whether the module's own training flag switches a dropout, and nothing else."""
    if isinstance(module, torch.jit.ScriptModule):
        return _scripted(name, module)
    if isinstance(module, _DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, nn.MultiheadAttention):
        return bool(module.dropout > 0)
    if isinstance(module, nn.RNNBase):  # between its layers
        return bool(module.dropout > 0 and module.num_layers > 1)
    return _drops_attention(module)


@contextmanager
def mc_dropout(model: nn.Module) -> Iterator[nn.Module]:
    """Dropout on, everything else as in evaluation (batch-norm by its running statistics), for the length of a ``with``
    block.

    Dropout means the modules, that inside ``nn.MultiheadAttention``, ``nn.TransformerEncoderLayer`` and recurrent
    layers, calls of ``F.dropout`` and its variants in any module's ``forward``, and attention by
    ``scaled_dot_product_attention`` in modules that read their ``training``. Every flag is put back at the end. A model
    without any of them is an error, and so is TorchScript that calls dropout inside compiled code, which nothing can
    switch on alone. Modules that are random in training by other code (DropPath, added noise) stay off, and a
    warning names the first of them.

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
    named = list(model.named_modules())
    switched = [module for name, module in named if _stochastic(name, module)]
    if not switched and not any(_calls_dropout(module) for _, module in named):
        raise ValueError("the model has no dropout module with a rate above 0, and calls no dropout function")
    _warn_of_noise(named, switched)
    with modes([module for _, module in named]), _FunctionsOn():
        model.eval()
        for module in switched:
            module.training = True
        for module in model.modules():
            # The fused path of evaluation drops nothing; the layer itself has no other use of the flag.
            if isinstance(module, nn.TransformerEncoderLayer):
                module.training = True
        yield model
