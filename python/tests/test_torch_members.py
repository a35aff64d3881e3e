# ruff: noqa: E402 - imports follow importorskip
"""vargate.torch on models as people write them: every kind of dropout, batches of every form, logits that memory does
not hold."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings
from collections import UserDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as F
from torch.nn.functional import dropout as leave_out

import vargate
from vargate.torch import LastLayerEnsemble, UncertaintyMetric, collect, collect_batches, mc_dropout, refresh_batchnorm


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)


# --- every kind of dropout --------------------------------------------------------------------------------------------


def without_modules(model: nn.Module) -> nn.Module:
    """The model with every nn.Dropout taken out: what is left to be stochastic is inside the layers."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


class Attention(nn.Module):
    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=dropout, batch_first=True)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.view(len(x), 2, 8)
        return self.norm(self.attention(x, x, x, need_weights=False)[0].sum(1))


class Encoder(nn.Module):
    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x.view(len(x), 2, 8)).sum(1)


class Functional(nn.Module):
    """Functional dropout beside a batch-norm of the same module, which must stay in evaluation."""

    def __init__(self, kind: Any = F.dropout) -> None:
        super().__init__()
        self.norm, self.kind, self.dropout = nn.BatchNorm1d(16), kind, 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert not self.training  # some models return other things in training
        if self.kind is F.dropout:
            return F.dropout(self.norm(x), self.dropout, self.training)
        x = self.norm(x)[:, :, None] if self.kind in (F.dropout1d, F.feature_alpha_dropout) else self.norm(x)
        return self.kind(x, p=self.dropout, training=self.training).flatten(1)


class Fused(nn.Module):
    """Attention as nanoGPT and others write it: a rate of 0 outside training."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.dropout = nn.Linear(16, 48), 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).view(len(x), 1, 8, 6).split(2, dim=3)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0).flatten(1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 8, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x.view(len(x), 4, 4))[0][:, -1]


STOCHASTIC = {
    "attention": lambda: Attention(),
    "encoder": lambda: Encoder(),
    "attention inside the encoder alone": lambda: without_modules(Encoder()),
    "functional": lambda: Functional(),
    "functional 1d": lambda: Functional(F.dropout1d),
    "functional alpha": lambda: Functional(F.alpha_dropout),
    "functional feature alpha": lambda: Functional(F.feature_alpha_dropout),
    "functional beside a module": lambda: nn.Sequential(nn.Dropout(1e-9), Functional()),
    "fused attention": lambda: Fused(),
    "recurrent": lambda: Recurrent(),
}


@pytest.mark.parametrize("name", STOCHASTIC)
@pytest.mark.parametrize("inference", [True, False])
def test_every_kind_of_dropout_is_on(name: str, inference: bool) -> None:
    model = STOCHASTIC[name]().train()
    flags = [module.training for module in model.modules()]
    x = torch.randn(6, 16)
    with torch.inference_mode(inference), mc_dropout(model):
        assert not any(
            module.training for module in model.modules() if isinstance(module, (nn.BatchNorm1d, nn.LayerNorm))
        )
        assert (model(x) != model(x)).any()
    assert [module.training for module in model.modules()] == flags
    with torch.inference_mode():
        assert torch.equal(model.eval()(x), model(x))  # nothing is left switched on


def test_dropout_has_its_rate() -> None:
    model = nn.Sequential(Functional()).eval()
    with torch.inference_mode(), mc_dropout(model):
        kept = torch.stack([model(torch.ones(50, 16)) != 0 for _ in range(40)]).float().mean()
    assert float(kept) == pytest.approx(0.5, abs=0.02)


def test_the_encoder_is_that_of_training() -> None:
    """The mean over masks of an encoder's output agrees with a copy in training mode (it has no batch-norm)."""
    model, x = Encoder(0.3).eval(), torch.randn(3, 16)
    with torch.inference_mode():
        with mc_dropout(model):
            ours = torch.stack([model(x) for _ in range(1500)]).double()
        theirs = torch.stack([model.train()(x) for _ in range(1500)]).double()
    spread = (ours.var(0) / 1500 + theirs.var(0) / 1500).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)).abs() < 5 * spread).all()
    assert (ours.std(0) / theirs.std(0)).log().abs().max() < 0.2


def test_what_cannot_be_stochastic_is_refused() -> None:
    for model in (nn.Linear(2, 2), Attention(0.0), nn.Sequential(nn.Dropout(0.0), nn.ReLU()), nn.LSTM(2, 2)):
        with pytest.raises(ValueError, match="no dropout"), mc_dropout(model):
            pass


class DropPath(nn.Module):
    """As timm writes it."""

    def __init__(self, drop_prob: float) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.drop_prob == 0.0 or not self.training:
            return x
        return x * x.new_empty(len(x), 1).bernoulli_(1 - self.drop_prob) / (1 - self.drop_prob)


class Checkpointed(nn.Module):
    """Reads its flag without being random."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone() if self.training else x


def test_other_randomness_is_named() -> None:
    class Noise(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn_like(x) if self.training else x

    noisy = nn.Sequential(nn.Dropout(0.5), DropPath(0.2), Noise())
    said = r"the module '1' \(DropPath\) and 1 more are random in training"
    with pytest.warns(UserWarning, match=said) as caught, mc_dropout(noisy):
        pass
    assert caught[0].filename == __file__
    quiet = nn.Sequential(nn.Dropout(0.5), DropPath(0.0), Checkpointed(), nn.BatchNorm1d(16), Functional(), Fused())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mc_dropout(quiet):
            pass


class Scriptable(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5, self.training)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_torchscript() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(16, 4), Scriptable()))
    with (
        pytest.raises(ValueError, match=r"the module '1' \(Scriptable\) calls dropout inside TorchScript"),
        mc_dropout(scripted),
    ):
        pass
    model, x = torch.jit.script(nn.Sequential(nn.Dropout(0.5), nn.Linear(16, 4))), torch.randn(5, 16)
    with torch.inference_mode(), mc_dropout(model):
        assert (model(x) != model(x)).any()


def test_equal_passes_are_said_to_be_so() -> None:
    x = [torch.randn(4, 16), torch.randn(3, 16)]
    silent = nn.Sequential(nn.Linear(16, 3), nn.Dropout(0.5), nn.Identity())
    silent[0].weight.data.zero_()
    silent[0].bias.data.zero_()  # 0 dropped is 0
    with pytest.warns(UserWarning, match="every pass gave equal logits"):
        assert collect(silent, x, "mcd", members=3).logits.shape == (7, 3, 3)
    headed = nn.Sequential(nn.Linear(16, 8), nn.Dropout(1e-12), LastLayerEnsemble(8, 3, 4))
    with pytest.warns(UserWarning, match="every pass gave equal logits"):
        collect(headed, x, "mcd-lle")
    with pytest.warns(UserWarning, match="they are one model, not an ensemble"):
        collect([headed, headed], x, "deep")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collect(STOCHASTIC["encoder"](), x, "mcd", members=3)
        collect(headed, x, "lle")
        collect([headed, nn.Linear(16, 3)], x, "deep")


# --- batches of every form --------------------------------------------------------------------------------------------


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.4), nn.Linear(8, 4))


X, Y = torch.randn(10, 6), torch.arange(10) % 4


def test_labels_are_neither_flattened_nor_rounded() -> None:
    one_hot = F.one_hot(Y, 4)
    for labels in (one_hot, one_hot.float(), one_hot.bool()):
        found = collect(small(), [(X, labels)], members=2).labels
        np.testing.assert_array_equal(found, one_hot.numpy())
    z = collect(small(), [(X, one_hot)], members=2)
    with pytest.raises(ValueError, match=r"argmax\(axis=1\)"):
        vargate.score(z.logits, logits=True, labels=z.labels)
    np.testing.assert_array_equal(collect(small(), [(X, Y.float()[:, None])], members=2).labels, Y)
    with pytest.raises(TypeError, match="no fractions"):
        collect(small(), [(X, Y + 0.5)], members=2)
    with pytest.raises(TypeError, match="no fractions"):
        collect(small(), [(X, F.one_hot(Y, 4) * 0.9 + 0.025)], members=2)
    with pytest.raises(ValueError, match="values other than 0 and 1"):
        collect(small(), [(X, one_hot * 2)], members=2)
    with pytest.raises(ValueError, match=r"shape \(10, 6\).*unpack="):
        collect(small(), [(X, torch.ones(10, 6))], members=2)  # a mask
    with pytest.raises(ValueError, match=r"shape \(9,\)"):
        collect(small(), [(X, Y[:9])], members=2)
    with pytest.raises(ValueError, match="1 of 2 batches have labels"):
        collect(small(), [(X, Y), X], members=2)


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = small()

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.inner(x * mask)


def test_masks_are_not_labels() -> None:
    mask = (torch.rand(10, 6) > 0.5).float()
    with pytest.raises(ValueError, match=r"a batch has 3 parts.*unpack=lambda"):
        collect(Masked(), [(X, mask, Y)], members=2)
    model = Masked()
    z, labels = collect(model, [(X, mask, Y)], members=3, seed=1, unpack=lambda b: ((b[0], b[1]), b[2]))
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(z, collect(model.inner, [X * mask], members=3, seed=1).logits)
    keyed = collect(model, [{"x": X, "mask": mask}], members=3, seed=1)
    np.testing.assert_array_equal(keyed.logits, z)
    norm = nn.Sequential(nn.BatchNorm1d(6))
    refresh_batchnorm(norm, [(X, mask, Y)], unpack=lambda b: (b[0] * b[1], b[2]))
    torch.testing.assert_close(norm[0].running_mean, (X * mask).mean(0))


class Classifier(nn.Module):
    """As Hugging Face's: keywords in, an object with logits out, a loss when it gets labels."""

    def __init__(self, output: type = SimpleNamespace) -> None:
        super().__init__()
        self.embedding, self.inner, self.output = nn.Embedding(20, 6), small(), output

    def forward(self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None) -> Any:
        assert labels is None
        x = (self.embedding(input_ids) * attention_mask[..., None]).sum(1)
        return self.output(loss=None, logits=self.inner(x))


@pytest.mark.parametrize("output", [SimpleNamespace, dict])
@pytest.mark.parametrize("mapping", [dict, UserDict])
def test_batches_of_hugging_face(output: type, mapping: type) -> None:
    ids, mask = torch.randint(20, (10, 7)), torch.ones(10, 7)
    model = Classifier(output)
    batches = [
        mapping(input_ids=ids[i : i + 4], attention_mask=mask[i : i + 4], labels=Y[i : i + 4]) for i in (0, 4, 8)
    ]
    z, labels = collect(model, batches, members=5, seed=0)
    assert z.shape == (10, 5, 4)
    np.testing.assert_array_equal(labels, Y)
    model.eval()
    with torch.no_grad():
        np.testing.assert_allclose(
            collect(model, batches, "lle").logits[:, 0], model.inner((model.embedding(ids)).sum(1)).numpy(), atol=1e-6
        )


def test_a_mapping_stays_one_where_forward_takes_it_whole() -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = small()

        def forward(self, batch: Any) -> torch.Tensor:
            out: torch.Tensor = self.inner(batch["x"])
            return out

    assert collect(Whole(), [{"x": X, "label": Y}], members=2).logits.shape == (10, 2, 4)


def test_module_lists_are_deep_ensembles() -> None:
    models = nn.ModuleList([small(), small(), small()])
    z = collect(models, [X], "deep").logits
    assert z.shape == (10, 3, 4)
    np.testing.assert_array_equal(z, collect(list(models), [X], "deep").logits)


# --- more than memory holds -------------------------------------------------------------------------------------------


def test_files_hold_what_collect_gives(tmp_path: Path, command: Any) -> None:
    model, batches = small(), [(X[i : i + 4], Y[i : i + 4]) for i in (0, 4, 8)]
    z, labels = collect(model, batches, members=6, seed=3)
    path = collect(model, batches, members=6, seed=3, out=tmp_path / "preds.npz")
    assert path == tmp_path / "preds.npz"
    assert [p.name for p in tmp_path.iterdir()] == ["preds.npz"]
    with np.load(path) as file:
        np.testing.assert_array_equal(file["Z"], z)
        np.testing.assert_array_equal(file["L"], labels)
    assert command("score", path)["n"] == 10
    collect(model, [X], members=2, out=tmp_path / "unlabelled.npz")
    with np.load(tmp_path / "unlabelled.npz") as file:
        assert file.files == ["Z"]
    with pytest.raises(ValueError, match=r"must end in \.npz or \.safetensors"):
        collect(model, batches, out=tmp_path / "preds.pt")
    with pytest.raises(ValueError, match="no batch"):
        collect(model, [], out=tmp_path / "none.npz")
    assert not (tmp_path / "none.npz").exists()


def test_memory_is_that_of_a_batch(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 200))
    batches = [torch.randn(100, 2) for _ in range(20)]  # 20 batches of 4 MB of logits
    path = collect(model, batches, members=50, out=tmp_path / "warm.npz")
    tracemalloc.start()
    try:
        collect(model, batches, members=50, out=path)
        peak = tracemalloc.get_traced_memory()[1]
        samples = 0
        with vargate.Scorer(logits=True, measures="gmu") as scorer:
            for batch in collect_batches(model, batches, members=50):
                samples += len(scorer.feed(batch.logits))
        streamed = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 75e6
    assert max(peak, streamed) < 20e6
    assert samples == scorer.samples == 2000


def test_batches_are_those_of_collect() -> None:
    model, batches = small().train(), [X[:4], X[4:]]
    whole = collect(model, batches, members=6, seed=3).logits
    state, pieces = torch.get_rng_state(), []
    for piece in collect_batches(model, batches, members=6, seed=3):
        assert model.training  # between batches the model is the caller's
        assert not torch.is_inference_mode_enabled()
        torch.rand(3)  # somebody else's draws change nothing
        pieces.append(piece.logits)
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    assert not torch.equal(torch.get_rng_state(), state)
    with pytest.raises(ValueError, match="members is 0, expected a whole number of 1 or more"):
        collect_batches(model, batches, members=0)  # refused by the call, not at the first batch


# --- the metric -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_of_a_metric_keep_its_state(copied: Any) -> None:
    z, y = torch.randn(40, 5, 3), torch.randint(3, (40,))
    metric = UncertaintyMetric(k=np.arange(1, 3), measures="tu,gtu@2", bins=np.int64(10))
    metric.update(z[:25], y[:25])
    other = copied(metric)
    for each in (metric, other):
        each.update(z[25:], y[25:])
    assert other.compute() == metric.compute()
    assert {"tu", "gtu@2", "aurc/gtu@2"} <= metric.compute().keys()
    whole = vargate.score(z.numpy(), logits=True, k=(1, 2))
    assert other.compute()["diversity"] == pytest.approx(whole.diversity, rel=1e-12)


def test_metric_refuses_probabilities() -> None:
    with pytest.raises(ValueError, match="logits=False"):
        UncertaintyMetric().update(torch.randn(5, 3, 4).softmax(-1))


class _Renamed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = leave_out(self.inner(x), 0.5, self.training)
        return out


def test_dropout_under_another_name_is_found() -> None:
    model, x = _Renamed().eval(), torch.ones(8, 4)
    with mc_dropout(model), torch.no_grad():
        assert bool((model(x) != model(x)).any())


def test_a_recurrent_layer_alone_has_no_dropout() -> None:
    with pytest.warns(UserWarning, match="num_layers"):
        single = nn.LSTM(4, 4, 1, dropout=0.5)
    with pytest.raises(ValueError, match="no dropout"), mc_dropout(single):
        pass


def attention_forward(q: torch.Tensor, dropout: float) -> torch.Tensor:
    """Attention that a module calls with a rate, as Hugging Face's models do."""
    return F.scaled_dot_product_attention(q, q, q, dropout_p=dropout)


class _ByModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return attention_forward(x, 0.0 if not self.training else self.dropout.p)


class _ByNumber(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dropout_prob = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return attention_forward(x, self.dropout_prob if self.training else 0.0)


@pytest.mark.parametrize("kind", [_ByModule, _ByNumber])
def test_rates_handed_to_attention_are_switched_on(kind: type[nn.Module]) -> None:
    model, x = nn.Sequential(kind(), nn.BatchNorm1d(6)).eval(), torch.randn(4, 6, 8)
    with mc_dropout(model), torch.no_grad():
        assert bool((model(x) != model(x)).any())
        assert not model[1].training
    assert not any(module.training for module in model.modules())
