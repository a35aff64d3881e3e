"""Lets the peers be imported without packages that they import but do not use for the figures compared here.

torch-uncertainty and probly import torchvision, whose released builds do not load beside a CPU-only PyTorch, and
trainers, plotting and probabilistic programming. A name in ABSENT that is not installed becomes an empty module whose
attributes are classes without content; packages in PARTS are entered without running their ``__init__``. The code that
computes the figures is the peers' own, as released.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

ABSENT = [
    "torchvision",
    "lightning",
    "pytorch_lightning",
    "seaborn",
    "pyro",
    "gpytorch",
    "tikzplotlib",
    "tensorboard",
    "einops",
]
PARTS = ["torch_uncertainty", "torch_uncertainty.metrics", "probly", "probly.quantification"]


class _Empty(types.ModuleType):
    __path__ = ()  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        found = name.split(".")[0] in self.names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if found else None

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return _Empty(spec.name)

    def exec_module(self, module):  # type: ignore[no-untyped-def]
        pass


def install() -> None:
    sys.meta_path.append(_Finder([name for name in ABSENT if importlib.util.find_spec(name) is None]))
    for name in PARTS:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            continue
        module = types.ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations)
        module.__spec__ = spec
        sys.modules[name] = module
