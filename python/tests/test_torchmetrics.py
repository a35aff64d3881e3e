"""`UncertaintyMetric` as a torchmetrics.Metric: collections, devices, precision, merging, processes."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

from vargate.torch import UncertaintyMetric  # noqa: E402


@pytest.fixture
def batches() -> list[tuple[Any, Any]]:
    torch.manual_seed(0)
    y = torch.randint(4, (90,))
    z = 3 * torch.nn.functional.one_hot(y, 4)[:, None] + 2 * torch.randn(90, 1, 4) + 0.3 * torch.randn(90, 6, 4)
    return [(z[i : i + 30], y[i : i + 30]) for i in (0, 30, 60)]


def fed(batches: list[tuple[Any, Any]], **options: Any) -> Any:
    metric = UncertaintyMetric(**options)
    for z, y in batches:
        metric.update(z, y)
    return metric


def test_is_a_metric(batches: Any) -> None:
    metric = fed(batches)
    assert isinstance(metric, torchmetrics.Metric)
    expected = metric.compute()
    assert metric.clone().compute() == expected
    assert pickle.loads(pickle.dumps(metric)).compute() == expected
    metric.reset()
    with pytest.warns(UserWarning, match="before the"), pytest.raises(ValueError, match="call update first"):
        metric.compute()


def test_forward_gives_the_batch_and_keeps_all(batches: Any) -> None:
    metric = UncertaintyMetric()
    for z, y in batches:
        assert metric(z, y) == fed([(z, y)]).compute()
    assert metric.compute() == pytest.approx(fed(batches).compute(), rel=1e-12)


def test_collection(batches: Any) -> None:
    """Metrics whose states look alike keep their own."""
    together = torchmetrics.MetricCollection(
        {"all": UncertaintyMetric(), "warm": UncertaintyMetric(temperature=1.001), "few": UncertaintyMetric(bins=5)}
    )
    for z, y in batches:
        together.update(z, y)
    found = together.compute()
    for name, options in (("all", {}), ("warm", {"temperature": 1.001}), ("few", {"bins": 5})):
        expected = fed(batches, **options).compute()
        assert {key: found[f"{name}_{key}"] for key in expected} == expected
    assert found["all_nll"] != found["warm_nll"]


def test_precision_of_a_module_does_not_touch_the_state(batches: Any) -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.metric = fed(batches)

    expected = fed(batches).compute()
    assert Module().half().metric.compute() == expected
    assert Module().to(torch.bfloat16).metric.compute() == expected


def test_moves_to_another_device(batches: Any) -> None:
    metric = fed(batches).to("meta")
    assert metric.device.type == "meta"
    assert all(part.device.type == "meta" for part in (*metric.sums, *metric.rows))
    if torch.cuda.is_available():
        assert fed([(z.cuda(), y.cuda()) for z, y in batches]).to("cuda").compute() == fed(batches).compute()


def test_merge(batches: Any) -> None:
    first, second = fed(batches[:1]), fed(batches[1:])
    second.merge_state(first)
    assert second.compute() == fed(batches).compute()
    other = fed(batches, k=5)
    other.merge_state(first)
    with pytest.raises(ValueError, match="other options"):
        other.compute()


def test_is_loaded_when_asked_for() -> None:
    script = "import sys, vargate.torch; print('torchmetrics' in sys.modules, vargate.torch.UncertaintyMetric.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False UncertaintyMetric\n"


def test_without_torchmetrics(batches: Any, tmp_path: Path) -> None:
    torch.save(batches, tmp_path / "batches.pt")
    script = (
        "import sys; sys.modules['torchmetrics'] = None\n"
        "import json, torch; from vargate.torch import UncertaintyMetric\n"
        "batches = torch.load(sys.argv[1])\n"
        "a, b = UncertaintyMetric(), UncertaintyMetric()\n"
        "a(*batches[0]); [b.update(*batch) for batch in batches[1:]]\n"
        "b.merge_state(a); print(json.dumps(b.compute())); b.reset(); assert b.sums == []\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "batches.pt"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == fed(batches).compute()


WORKER = """
import json, sys
import torch, torch.distributed as dist
from vargate.torch import UncertaintyMetric
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=3)
batches = torch.load(f"{folder}/batches.pt")
metric = UncertaintyMetric()
for batch in {0: batches[:1], 1: batches[1:], 2: []}[rank]:
    metric.update(*batch)
if rank == 2:
    import warnings; warnings.simplefilter("ignore")
found = metric.compute()
open(f"{folder}/{rank}.json", "w").write(json.dumps(found))
assert len(metric.sums) == {0: 1, 1: 2, 2: 0}[rank], "the process has its own state back"
dist.destroy_process_group()
"""


def test_processes_of_a_distributed_run(batches: Any, tmp_path: Path) -> None:
    """Three of them, with one, two and no batches: each computes the figures of all."""
    if not torch.distributed.is_available():
        pytest.skip("torch without distributed")
    torch.save(batches, tmp_path / "batches.pt")
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path)], stderr=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    for process in running:
        _, said = process.communicate(timeout=240)
        assert process.returncode == 0, said
    expected = fed(batches).compute()
    for rank in range(3):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == pytest.approx(expected, rel=1e-12)


def test_figures_are_those_of_the_whole_set(batches: Any) -> None:
    import vargate

    z, y = torch.cat([b[0] for b in batches]).numpy(), torch.cat([b[1] for b in batches]).numpy()
    found, e = fed(batches, measures=("tu", "gtu@2")).compute(), vargate.evaluate(z, y, logits=True)
    assert found["auroc/gtu@2"] == e.measures["gtu@2"].error_auroc
    assert found["ece"] == pytest.approx(e.ece, abs=1e-12)
    assert found["n"] == 90
    assert np.isfinite(found["diversity"])
