"""PyTorch: last-layer ensembles, MC dropout, logits of every member ready for `vargate.score`, vargate's runs as
modules.

>>> import torch, vargate
>>> from vargate.torch import LastLayerEnsemble, collect
>>> _ = torch.manual_seed(0)
>>> head = LastLayerEnsemble(32, 3, heads=10, features=0.5)
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), head)
>>> x, y = torch.randn(64, 4), torch.randint(3, (64,))
>>> loss = model[-1].loss(model(x), y)
>>> loss.backward()
>>> z, labels = collect(model, [(x, y)], ensemble="lle")
>>> vargate.score(z, logits=True, labels=labels).eu.shape
(64,)
"""

from typing import TYPE_CHECKING, Any

from .dropout import mc_dropout
from .heads import HeadPrior, LastLayerEnsemble, bootstrap_weights
from .members import Collected, collect, collect_batches, refresh_batchnorm
from .runs import RunNetwork, load_run, save_run

if TYPE_CHECKING:
    from .metric import UncertaintyMetric

__all__ = [
    "Collected",
    "HeadPrior",
    "LastLayerEnsemble",
    "RunNetwork",
    "UncertaintyMetric",
    "bootstrap_weights",
    "collect",
    "collect_batches",
    "load_run",
    "mc_dropout",
    "refresh_batchnorm",
    "save_run",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: torchmetrics, its base class where there is one, takes seconds to import.
    if name == "UncertaintyMetric":
        from .metric import UncertaintyMetric

        return UncertaintyMetric
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
