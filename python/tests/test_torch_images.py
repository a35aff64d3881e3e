"""vargate.torch.collect of segmentation models: logits of every site from every member, with label maps."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

import vargate
import vargate.torch as vt

C, H, W = 3, 8, 6


class Segmenter(nn.Module):
    """(N, 1, H, W) -> (N, C, H, W), in the form that `wrap` gives it."""

    def __init__(self, wrap: Any = None) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.4), nn.Conv2d(8, C, 1))
        self.wrap = wrap

    def forward(self, x: Tensor) -> Any:
        z = self.body(x)
        return z if self.wrap is None else self.wrap(z)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def batches(kind: Any = torch.int64) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    maps = [torch.randint(0, C, (n, H, W), generator=generator) for n in (4, 3)]
    maps[0][0, :2] = 255
    return [(torch.randn(len(y), 1, H, W, generator=generator), y.to(kind)) for y in maps]


def test_members_are_passes_over_every_site() -> None:
    model = Segmenter()
    logits, labels = vt.collect(model, batches(torch.uint8), "mcd", 5, seed=3)
    assert (logits.shape, logits.dtype) == ((7, 5, C, H, W), np.float32)
    assert labels is not None
    np.testing.assert_array_equal(labels, torch.cat([y for _, y in batches()]))
    assert (logits[:, 0] != logits[:, 1]).any()
    model.eval()
    with torch.no_grad():
        plain = model(batches()[0][0])
    deep = vt.collect([model, Segmenter().eval()], [x for x, _ in batches()], "deep")
    np.testing.assert_array_equal(deep.logits[:4, 0], plain)
    assert deep.logits.shape == (7, 2, C, H, W)
    found = vargate.evaluate(logits, labels, axes="NMCHW", logits=True, ignore=255)
    assert (found.sites, found.ignored) == ((7, H, W), 2 * W)


@pytest.mark.parametrize(
    "wrap", [lambda z: OrderedDict(out=z, aux=z[:, :1]), lambda z: {"logits": z}, lambda z: SimpleNamespace(logits=z)]
)
def test_outputs_of_torchvision_and_hugging_face(wrap: Any) -> None:
    plain = Segmenter()
    wrapped = Segmenter(wrap)
    wrapped.load_state_dict(plain.state_dict())
    a, b = (vt.collect(model, batches(), members=2, seed=1).logits for model in (plain, wrapped))
    np.testing.assert_array_equal(a, b)


def test_axes_of_the_output() -> None:
    plain = vt.collect(Segmenter(), batches(), members=2, seed=1)
    torch.manual_seed(0)
    last = vt.collect(Segmenter(lambda z: z.permute(0, 2, 3, 1)), batches(), members=2, seed=1, axes="NHWC")
    np.testing.assert_array_equal(plain.logits, last.logits)

    def heads(z: Tensor) -> Tensor:
        return torch.stack([z, 2 * z], dim=1)

    several = vt.collect(Segmenter(heads), batches(), "lle", axes="NMCHW")
    assert several.logits.shape == (7, 2, C, H, W)
    np.testing.assert_array_equal(several.logits[:, 1], 2 * several.logits[:, 0])
    volume = vt.collect(
        Segmenter(lambda z: z.reshape(len(z), C, H, W // 2, 2)), [x for x, _ in batches()], members=2, axes="NCHWD"
    )
    assert volume.logits.shape == (7, 2, C, H, W // 2, 2)


def test_memory_is_that_of_a_batch(tmp_path: Path) -> None:
    """A file that evaluate reads, and a scorer that is fed."""
    model = Segmenter()
    held = vt.collect(model, batches(), members=4, seed=2)
    path = vt.collect(model, batches(), members=4, seed=2, out=tmp_path / "z.npz")
    ours = vargate.evaluate(path, axes="NMCHW", ignore=255)
    assert ours.to_dict() == vargate.evaluate(*held, axes="NMCHW", logits=True, ignore=255).to_dict()
    scorer = vargate.Scorer(logits=True, axes="NMCHW")
    parts = [scorer.feed(batch.logits) for batch in vt.collect_batches(model, batches(), members=4, seed=2)]
    whole = vargate.concatenate(parts)
    np.testing.assert_array_equal(whole.gmu, vargate.score(held.logits, axes="NMCHW", logits=True).gmu)
    assert whole.sites == (7, H, W)


@pytest.mark.parametrize(
    ("wrap", "options", "says"),
    [
        (lambda z: z[:, :, None], {}, r"gave \(4, 3, 1, 8, 6\): pass axes='NMCHW' if these are heads"),
        (lambda z: z[:, :, ::2], {}, r"label maps .* have shape \(4, 8, 6\), but the logits have sites \(4, 4, 6\)"),
        (None, {"axes": "NMCHW"}, r"gave \(4, 3, 8, 6\), axes='NMCHW' names 5"),
        (None, {"axes": "NCHX"}, "axes is 'NCHX', expected the axes of the model's output"),
        (None, {"axes": "NCHH"}, "axes is 'NCHH'"),
        (lambda z: (z,), {}, "gave tuple, expected logits"),
    ],
)
def test_what_does_not_fit_is_said(wrap: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vt.collect(Segmenter(wrap), batches(), members=2, **options)
