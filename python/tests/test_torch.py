# ruff: noqa: E402 - imports follow importorskip
"""vargate.torch: heads and their switches against plain PyTorch, members, batch-norm, the metric, runs of the program
as modules."""

from __future__ import annotations

import doctest
import gzip
import importlib
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as F

import vargate
from vargate.torch import (
    HeadPrior,
    LastLayerEnsemble,
    RunNetwork,
    UncertaintyMetric,
    bootstrap_weights,
    collect,
    load_run,
    mc_dropout,
    refresh_batchnorm,
    save_run,
)

DATA = Path(__file__).parents[2] / "data"
RUN = Path(__file__).parent / "data" / "run"


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)


def digits() -> np.ndarray:
    path = DATA / "digits" / "t10k-images-idx3-ubyte.gz"
    if not path.exists():
        pytest.skip("the digits that ship are not beside the tests")
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(-1, 28, 28)


# --- heads ------------------------------------------------------------------------------------------------------------


def test_heads_are_linear_layers() -> None:
    heads = LastLayerEnsemble(7, 3, heads=4)
    x = torch.randn(5, 7)
    z = heads(x)
    assert z.shape == (5, 4, 3)
    for h in range(4):
        one = F.linear(x, heads.weight[3 * h : 3 * h + 3], heads.bias[3 * h : 3 * h + 3])
        torch.testing.assert_close(z[:, h], one)


def test_initial_scale_and_features() -> None:
    wide = LastLayerEnsemble(400, 5, heads=50, init_scale=3.0)
    assert float(wide.weight.detach().std()) == pytest.approx(3 / 20, rel=0.02)
    quarter = LastLayerEnsemble(400, 5, heads=50, features=0.25, init_scale=3.0)
    assert quarter.mask is not None
    by_head = quarter.mask.view(50, 5, 400)
    assert (by_head.sum(dim=2) == 100).all()
    assert (by_head == by_head[:, :1]).all()
    assert not (by_head[0] == by_head[1]).all()
    read = quarter.weight[quarter.mask > 0]
    assert float(read.detach().std()) == pytest.approx(3 / 20 * 2, rel=0.02)
    assert (quarter.weight[quarter.mask == 0] == 0).all()


def test_masked_weights_are_never_trained() -> None:
    heads = LastLayerEnsemble(20, 3, heads=6, features=0.3, anchor=0.1)
    optimiser = torch.optim.Adam(heads.parameters(), 0.1)
    for _ in range(5):
        optimiser.zero_grad()
        heads.loss(heads(torch.randn(8, 20)), torch.randint(3, (8,))).backward()
        optimiser.step()
    assert heads.mask is not None
    assert (heads.weight[heads.mask == 0] == 0).all()
    assert (heads.weight[heads.mask > 0] != 0).all()


def test_loss_is_the_mean_of_cross_entropies() -> None:
    heads = LastLayerEnsemble(6, 4, heads=3)
    z, y = heads(torch.randn(9, 6)), torch.randint(4, (9,))
    each = torch.stack([F.cross_entropy(z[:, h], y, reduction="none") for h in range(3)], dim=1)
    torch.testing.assert_close(heads.loss(z, y), each.mean())
    weights = bootstrap_weights(100, 3)[:9]
    torch.testing.assert_close(heads.loss(z, y, weights=weights), (each * weights).mean())
    mixture = F.nll_loss(z.softmax(-1).mean(1).log(), y)
    torch.testing.assert_close(heads.loss(z, y, mixture=True), mixture)
    with pytest.raises(ValueError, match="not for mixture"):
        heads.loss(z, y, weights=weights, mixture=True)


def test_anchor_pulls_to_the_start() -> None:
    heads = LastLayerEnsemble(6, 4, heads=3, anchor=0.5)
    z, y = torch.zeros(2, 3, 4), torch.tensor([0, 1])
    before = heads.loss(z, y)
    with torch.no_grad():
        heads.weight += 0.1
        heads.bias -= 0.2
    moved = 0.5 / 3 * (72 * 0.1**2 + 12 * 0.2**2)
    assert float((heads.loss(z, y) - before).detach()) == pytest.approx(moved, rel=1e-4)


def test_bootstrap_weights_are_exponential() -> None:
    w = bootstrap_weights(20000, 5, seed=3)
    assert float(w.mean()) == pytest.approx(1, abs=0.02)
    assert float((w > 1).float().mean()) == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize(("shape", "inside"), [((1, 28, 28), 512), ((3, 32, 32), 1024)])
def test_prior(shape: tuple[int, int, int], inside: int) -> None:
    images = torch.randn(64, *shape)
    heads = LastLayerEnsemble(6, 4, heads=3, prior=2.5)
    with pytest.raises(ValueError, match="call fit_prior"):
        heads(torch.zeros(1, 6), images[:1])
    heads.fit_prior(images)
    assert isinstance(heads.prior, HeadPrior)
    assert heads.prior.heads.weight.shape == (12, inside)
    with pytest.raises(ValueError, match="need the images"):
        heads(torch.zeros(1, 6))
    z = heads(torch.zeros(64, 6), images)
    assert float(z.detach().std(unbiased=False)) == pytest.approx(2.5, rel=1e-3)
    heads.loss(z, torch.zeros(64, dtype=torch.int64)).backward()
    assert all(parameter.grad is None for parameter in heads.prior.parameters())
    assert sorted(name for name, p in heads.named_parameters() if p.requires_grad) == ["bias", "weight"]


def test_prior_as_a_module() -> None:
    prior = nn.Sequential(nn.Flatten(), nn.Linear(9, 12))
    heads = LastLayerEnsemble(6, 4, heads=3, prior=prior)
    x, images = torch.randn(5, 6), torch.randn(5, 1, 3, 3)
    plain = F.linear(x, heads.weight, heads.bias) + prior(images)
    torch.testing.assert_close(heads(x, images), plain.view(5, 3, 4))


@pytest.mark.parametrize(
    "options", [{"features": 0.0}, {"features": 1.5}, {"init_scale": -1.0}, {"anchor": float("nan")}]
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        LastLayerEnsemble(6, 4, heads=3, **options)


# --- members ----------------------------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self, heads: int = 0, norm: bool = True) -> None:
        super().__init__()
        self.first = nn.Linear(6, 16)
        self.norm = nn.BatchNorm1d(16) if norm else nn.Identity()
        self.dropout = nn.Dropout(0.3)
        self.last = LastLayerEnsemble(16, 4, heads) if heads else nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.last(self.dropout(F.relu(self.norm(self.first(x)))))
        return out


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    x, y = torch.randn(50, 6), torch.randint(4, (50,))
    return [(x[i : i + 16], y[i : i + 16]) for i in range(0, 50, 16)]


def test_mc_dropout_puts_everything_back() -> None:
    net = Net().train()
    net.norm.eval()
    flags = [module.training for module in net.modules()]
    x = torch.randn(8, 6)
    with mc_dropout(net):
        assert net.dropout.training
        assert not net.norm.training
        assert (net(x) != net(x)).any()
    assert [module.training for module in net.modules()] == flags
    with pytest.raises(RuntimeError), mc_dropout(net):
        raise RuntimeError
    assert [module.training for module in net.modules()] == flags
    with pytest.raises(ValueError, match="no dropout"), mc_dropout(nn.Linear(2, 2)):
        pass


def test_collect_mcd() -> None:
    net, data = Net().train(), batches()
    state = torch.get_rng_state()
    z, labels = collect(net, data, "mcd", members=30, seed=5)
    assert torch.equal(torch.get_rng_state(), state)
    assert net.training
    assert z.shape == (50, 30, 4)
    assert z.dtype == np.float32
    np.testing.assert_array_equal(labels, torch.cat([y for _, y in data]))
    np.testing.assert_array_equal(collect(net, data, "mcd", members=30, seed=5).logits, z)
    assert z.std(axis=1).min() > 0
    # The mean over many masks approaches the mean over all of them: the last layer is linear in the dropped features.
    many = collect(net, data, "mcd", members=400, seed=6).logits.mean(axis=1)
    with torch.no_grad():
        plain = net.eval()(torch.cat([x for x, _ in data])).numpy()
    assert np.abs(many - plain).max() < 0.2
    assert vargate.score(z, logits=True, labels=labels).m == 30


def test_collect_heads() -> None:
    net, data = Net(heads=5), batches()
    x = torch.cat([x for x, _ in data])
    with torch.no_grad():
        expected = net.eval()(x).numpy()
    np.testing.assert_allclose(collect(net, data, "lle").logits, expected, atol=1e-6)
    assert collect(net, data, "lle", members=3).logits.shape == (50, 3, 4)
    paired = collect(net, data, "mcd-lle", seed=1).logits
    assert paired.shape == (50, 5, 4)
    assert np.abs(paired - expected).max() > 0
    many = np.mean([collect(net, data, "mcd-lle", seed=i).logits for i in range(60)], axis=0)
    assert np.abs(many - expected).max() < 0.3  # member t is head t under masks of its own
    assert np.abs(many - np.roll(expected, 1, axis=1)).max() > 0.5
    assert collect(net, data, "mcd-lle", passes=7, heads=2).logits.shape == (50, 14, 4)
    with pytest.raises(ValueError, match="mcd needs one"):
        collect(net, data, "mcd")
    with pytest.raises(ValueError, match="5 heads, 6 were asked for"):
        collect(net, data, "mcd-lle", passes=2, heads=6)


def test_collect_deep_and_mistakes() -> None:
    nets, data = [Net(), Net(), Net()], [x for x, _ in batches()]
    z, labels = collect(nets, data, "deep")
    assert labels is None
    with torch.no_grad():
        np.testing.assert_allclose(z[:, 1], nets[1].eval()(torch.cat(data)).numpy(), atol=1e-6)
    for arguments, message in [
        ((nets[0], data, "both"), "expected one of"),
        ((nets, data, "mcd"), "3 models"),
        ((nets[0], [], "mcd"), "no batch"),
        ((nn.Flatten(0), data, "lle"), "expected logits"),
    ]:
        with pytest.raises(ValueError, match=message):
            collect(*arguments)


def test_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    collect(Net(), batches(), "mcd", members=2, progress=True)
    assert "4/4" in capsys.readouterr().err
    collect(Net(), batches(), "mcd", members=2)
    assert capsys.readouterr().err == ""


def test_refresh_batchnorm() -> None:
    net = Net()
    data = [x * 3 + 1 for x, _ in batches()]
    assert refresh_batchnorm(net, data) is net
    with torch.no_grad():
        inside = [net.first(x) for x in data]
    expected_mean = torch.stack([v.mean(0) for v in inside]).mean(0)
    expected_var = torch.stack([v.var(0) for v in inside]).mean(0)
    torch.testing.assert_close(net.norm.running_mean, expected_mean)
    torch.testing.assert_close(net.norm.running_var, expected_var)
    assert net.norm.momentum == 0.1
    kept = net.norm.running_mean.clone()
    with pytest.raises(ValueError, match="no batch"):
        refresh_batchnorm(net, [])
    torch.testing.assert_close(net.norm.running_mean, kept)
    with pytest.raises(ValueError, match="no batch-norm"):
        refresh_batchnorm(Net(norm=False), data)


# --- the metric -------------------------------------------------------------------------------------------------------


def test_metric_equals_evaluation(logits: tuple[np.ndarray, np.ndarray]) -> None:
    z, y = logits
    metric = UncertaintyMetric(k=(1, 2), measures=("tu", "gmu", "gtu@2"))
    for i in range(0, len(y), 33):
        metric.update(torch.from_numpy(z[i : i + 33]), torch.from_numpy(y[i : i + 33]))
    found = metric.compute()
    s = vargate.score(z, logits=True, k=(1, 2), labels=y)
    whole = vargate.evaluate(s)
    for name in ("accuracy", "f1_macro", "ece", "mce", "nll", "brier"):
        assert found[name] == pytest.approx(getattr(whole, name), abs=1e-12)
    for name in ("tu", "gmu", "gtu@2"):
        assert found[name] == pytest.approx(s[name].mean(), abs=1e-12)
        assert found[f"aurc/{name}"] == whole.measures[name].aurc
        assert found[f"auroc/{name}"] == whole.measures[name].error_auroc
    assert found["diversity"] == pytest.approx(s.diversity, rel=1e-12)
    assert found["k_sensitivity"] == pytest.approx(s.k_sensitivity, rel=1e-12)
    assert found["coverage@2"] == whole.rule["2"].coverage
    metric.reset()
    with pytest.raises(ValueError, match="call update first"):
        metric.compute()


def test_metric_without_labels_and_with_some() -> None:
    metric = UncertaintyMetric()
    metric.update(torch.randn(5, 3, 4, requires_grad=True))
    assert "accuracy" not in metric.compute()
    with pytest.raises(ValueError, match="some batches"):
        metric.update(torch.randn(5, 3, 4), torch.zeros(5, dtype=torch.int64))


def test_metric_takes_half_precision() -> None:
    z = torch.randn(5, 3, 4).bfloat16()
    half, full = UncertaintyMetric(), UncertaintyMetric()
    half.update(z)
    full.update(z.float())
    assert half.compute()["tu"] == pytest.approx(full.compute()["tu"], rel=1e-9)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_run_gives_the_programs_logits() -> None:
    net = load_run(RUN, "best")
    assert net.recipe["head_features"] == 0.5
    assert net.recipe["ood"] == []
    with torch.no_grad():
        z = net(net.normalise(digits()[:40])).numpy()
    expected = np.load(RUN / "logits.npz")
    assert np.abs(z - expected["Z"]).max() < 1e-4
    assert (z.mean(axis=1).argmax(axis=1) == expected["L"]).mean() > 0.8
    assert collect(net, [net.normalise(digits()[:40])], "mcd-lle").logits.shape == (40, 5, 10)


RECIPES = {
    "prior": {"network": "cnn-4-16", "heads": 3, "head_prior": 2, "head_init_scale": 2},
    "mcd": {"network": "cnn-4-16", "ensemble": "mcd", "heads": 1, "dropout": 0.2},
    "wrn": {"network": "wrn-10-1", "heads": 3, "dropout": 0.3, "head_features": 0.5},
}


def test_uniform_initialisation_is_that_of_torch(trains: str, tmp_path: Path) -> None:
    # A rate of 1e-30 leaves the first values as they were drawn; torch's own layers of the same shapes give the
    # moments.
    keys = "name: u\ndataset: digits\nnetwork: cnn-16-96\nheads: 40\ninit: uniform\nepochs: 1\nbatch: 64\n"
    keys += "train_limit: 64\nrate: 1e-30\n"
    (tmp_path / "recipe.yaml").write_text(keys)
    arguments = [
        trains,
        "train",
        tmp_path / "recipe.yaml",
        "--data",
        DATA,
        "--threads",
        "1",
        "--out",
        tmp_path / "u",
        "--quiet",
    ]
    subprocess.run(arguments, check=True)
    net = load_run(tmp_path / "u")
    theirs = {
        "conv1": nn.Conv2d(1, 16, 5),
        "conv2": nn.Conv2d(16, 16, 5),
        "hidden": nn.Linear(256, 96),
        "heads": nn.Linear(96, 400),
    }
    again = RunNetwork(net.recipe, (1, 28, 28), 10, mean=[0.13], std=[0.31])
    for name, layer in theirs.items():
        for part in ("weight", "bias"):
            for made in (net, again):
                ours, torchs = getattr(made.get_submodule(name), part).detach(), getattr(layer, part).detach()
                assert ours.numel() == torchs.numel()
                bound = 1 / math.sqrt(layer.weight[0].numel())
                assert float(ours.abs().max()) <= bound * (1 + 1e-6)
                spread = 5 / math.sqrt(2 * ours.numel())
                assert abs(float(ours.std()) / (bound / math.sqrt(3)) - 1) < spread, (name, part)
                assert abs(float(ours.std() / torchs.std()) - 1) < 2 * spread, (name, part)


@pytest.fixture(scope="session")
def trains(training_program: str) -> str:
    if subprocess.run([training_program, "train", "quickstart", "--show"], capture_output=True).returncode:
        pytest.skip("the program was built without training")
    if not (DATA / "digits").exists():
        pytest.skip("the digits that ship are not beside the tests")
    return training_program


def predicted(program: str, run: Path, out: Path) -> np.ndarray:
    arguments = [program, "predict", run, "--ensemble", "lle", "--members", "1" if "mcd" in run.name else "0"]
    subprocess.run([*arguments, "--data", DATA, "--threads", "1", "--logits", "--quiet", "-o", out], check=True)
    z: np.ndarray = np.load(out)["Z"][:30]
    return z


@pytest.mark.parametrize("name", RECIPES)
def test_runs_there_and_back(name: str, trains: str, tmp_path: Path) -> None:
    recipe = {
        "name": name,
        "dataset": "digits",
        "train_limit": 100,
        "epochs": 1,
        "batch": 32,
        "rate": 1e-3,
        **RECIPES[name],
    }
    (tmp_path / "recipe.yaml").write_text("".join(f"{key}: {value}\n" for key, value in recipe.items()))
    run = tmp_path / name
    subprocess.run(
        [trains, "train", tmp_path / "recipe.yaml", "--data", DATA, "--threads", "1", "--out", run, "--quiet"],
        check=True,
    )
    expected = predicted(trains, run, tmp_path / "z.npz")
    net = load_run(run)
    images = net.normalise(digits()[:30])
    with torch.no_grad():
        assert np.abs(net(images).numpy() - expected).max() < 1e-4
        if name == "wrn":
            with mc_dropout(net):  # dropout's statistics are the running ones
                net(images)
                assert not net.norm.use_refreshed
    optimiser = torch.optim.SGD(net.parameters(), 0.01)
    net.train()
    net.heads.loss(net(images), torch.zeros(30, dtype=torch.int64)).backward()
    optimiser.step()
    if name == "wrn":
        before = net.norm.running_mean.clone()
        refresh_batchnorm(net, [images])
        torch.testing.assert_close(net.norm.running_mean, before)
        assert (net.norm.refreshed_mean != before).any()
    net.eval()
    back = tmp_path / f"{name}-back"
    save_run(net, back)
    with torch.no_grad():
        moved = net(images).numpy()
        torch.testing.assert_close(load_run(back)(images), net(images))
    assert np.abs(moved - expected).max() > 1e-3
    assert np.abs(predicted(trains, back, tmp_path / "back.npz") - moved).max() < 1e-4


def test_network_made_here_runs_there(trains: str, tmp_path: Path) -> None:
    net = RunNetwork({"dataset": "digits", "network": "cnn-4-16", "heads": 2}, (1, 28, 28), 10, mean=[0.13], std=[0.31])
    save_run(net, tmp_path / "made")
    with torch.no_grad():
        expected = net.eval()(net.normalise(digits()[:30])).numpy()
    assert np.abs(predicted(trains, tmp_path / "made", tmp_path / "z.npz") - expected).max() < 1e-4


def test_safetensors_elsewhere_reads_what_is_saved(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    net = load_run(RUN, "best")
    save_run(net, tmp_path)
    ours, theirs = numpy.load_file(tmp_path / "best.safetensors"), numpy.load_file(RUN / "best.safetensors")
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype
        np.testing.assert_array_equal(ours[name], array)


def test_damaged_runs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_run(tmp_path / "nowhere")
    whole = (RUN / "best.safetensors").read_bytes()
    for cut in (0, 5, 100, len(whole) - 10):
        (tmp_path / "last.safetensors").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"last\.safetensors"):
            load_run(tmp_path)
    with pytest.raises(TypeError, match="not a network vargate knows"):
        save_run(nn.Linear(2, 2), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", ["", ".dropout", ".heads", ".members", ".metric", ".runs"])
def test_examples_in_the_documentation(module: str) -> None:
    result = doctest.testmod(importlib.import_module("vargate.torch" + module))
    assert result.attempted > 0
    assert result.failed == 0
