"""`vargate.onnx`: members from files, outputs, axes and passes of models made here, against NumPy and PyTorch."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from vargate.onnx import collect, collect_batches  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 4)).astype(np.float32)
W = RNG.normal(size=(5, 4, 3)).astype(np.float32)  # five members of four features and three classes


def model(nodes: list[Any], arrays: dict[str, Any], outputs: dict[str, list[Any]], n: Any = "N") -> bytes:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [n, 4])]
    outs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, outs, held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString())


def linear(w: Any, n: Any = "N") -> bytes:
    return model([helper.make_node("MatMul", ["x", "w"], ["z"])], {"w": w}, {"z": [n, 3]}, n)


def dropout(on: bool) -> bytes:
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Dropout", ["h", "ratio", "on"], ["d"]),
        helper.make_node("MatMul", ["d", "w"], ["z"]),
    ]
    arrays = {"w": W[0], "ratio": np.float32(0.5), "on": np.array(on)}
    return model(nodes, arrays, {"z": ["N", 3]})


def outputs(names: Sequence[str]) -> bytes:
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [name]) for i, name in enumerate(names)]
    return model(nodes, {f"w{i}": W[i] for i in range(len(names))}, {name: ["N", 3] for name in names})


EXPECTED = np.einsum("nf,mfc->nmc", X, W)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("batch", [7, 256])
def test_files_are_members(tmp_path: Path, batch: int) -> None:
    paths = []
    for i, w in enumerate(W):
        paths.append(tmp_path / f"{i}.onnx")
        paths[-1].write_bytes(linear(w))
    z = collect(paths, X, batch=batch)
    assert z.shape == (50, 5, 3)
    assert z.dtype == np.float32
    close(z, EXPECTED)
    assert vargate.score(z, logits=True).m == 5
    close(collect([str(paths[0]), runtime.InferenceSession(linear(W[1])), linear(W[2])], X), EXPECTED[:, :3])
    close(collect(paths, X.astype(np.float64)), EXPECTED)  # taken in the model's precision
    close(collect(paths, (X[i : i + 9] for i in range(0, 50, 9))), EXPECTED)  # a loader of batches
    close(collect(paths, {"x": X}), EXPECTED)


def test_outputs_and_axes_are_members() -> None:
    many = outputs(["a", "b", "c"])
    close(collect(many, X, outputs=["a", "c"]), EXPECTED[:, [0, 2]])
    with pytest.raises(ValueError, match=r"outputs a tensor\(float\), b .*: name those to read"):
        collect(many, X)
    with pytest.raises(ValueError, match="has no 'd', but a, b, c"):
        collect(many, X, outputs=["a", "d"])
    reshape = [helper.make_node("MatMul", ["x", "w"], ["f"]), helper.make_node("Reshape", ["f", "s"], ["z"])]
    arrays = {"w": W.transpose(1, 0, 2).reshape(4, 15), "s": np.array([-1, 5, 3])}
    heads = model(reshape, arrays, {"z": ["N", 5, 3]})
    close(collect(heads, X, axis=1), EXPECTED)
    turned = [*reshape[:1], helper.make_node("Reshape", ["f", "s"], ["t"])]
    turned.append(helper.make_node("Transpose", ["t"], ["z"], perm=[1, 0, 2]))
    close(collect(model(turned, arrays, {"z": [5, "N", 3]}), X, axis=0), EXPECTED)
    close(collect([heads, heads], X[:9], axis=1), np.concatenate([EXPECTED[:9]] * 2, axis=1))
    with pytest.raises(ValueError, match="pass axis=1"):
        collect([heads, heads], X)
    with pytest.raises(ValueError, match="has 2 axes"):
        collect([linear(W[0]), linear(W[1])], X, axis=1)


def test_a_fixed_number_of_samples_is_padded() -> None:
    close(collect([linear(w, 8) for w in W], X), EXPECTED)  # 50 = 6 x 8 + 2
    with pytest.raises(ValueError, match=r"\[4, 8\] samples per run"):
        collect([linear(W[0], 8), linear(W[1], 4)], X)


def test_passes() -> None:
    z = collect(dropout(True), X, passes=400, seed=1)
    assert z.shape == (50, 400, 3)
    plain = np.maximum(X, 0) @ W[0]
    error, expected = z.mean(axis=1) - plain, z.std(axis=1) / np.sqrt(400)
    assert np.abs(error / np.maximum(expected, 1e-3)).max() < 5  # masks are scaled so that the mean stays
    np.testing.assert_array_equal(collect(dropout(True), X, passes=400, seed=1), z)
    assert (collect(dropout(True), X, passes=400, seed=2) != z).any()


@pytest.mark.parametrize("fixed", ["N", 4000])
def test_masks_are_independent(fixed: Any) -> None:
    """All 16 masks of four units are about as frequent, and those of a second layer do not depend on them; runs one
    after another, as onnxruntime seeds them, give 8 masks of the 16."""
    nodes = [
        helper.make_node("Dropout", ["x", "ratio", "on"], ["a"]),
        helper.make_node("Dropout", ["x", "ratio", "on"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["z"], axis=1),
    ]
    arrays = {"ratio": np.float32(0.5), "on": np.array(True)}
    with pytest.raises(ValueError, match="takes 3 samples per run, fewer than the 3200 passes"):
        collect(model(nodes, arrays, {"z": [3, 8]}, 3), X, passes=3200)
    twice = model(nodes, arrays, {"z": [fixed, 8]}, fixed)
    z = collect(twice, np.ones((3, 4), np.float32), passes=3200, seed=0)
    for sample in z > 0:
        first, second = sample[:, :4] @ [1, 2, 4, 8], sample[:, 4:] @ [1, 2, 4, 8]
        for masks in (first, second):
            counts = np.bincount(masks, minlength=16)
            assert ((counts - 200) ** 2 / 200).sum() < 45  # chi-square of 15 degrees of freedom: 1 in 10,000
        both = np.corrcoef(sample.T.astype(float)) - np.eye(8)
        assert np.abs(both).max() < 4.5 / np.sqrt(3200)


def test_inference_mode_is_refused_at_the_first_batch() -> None:
    batches = collect_batches(dropout(False), X, passes=5, batch=10)
    with pytest.raises(ValueError, match="all 5 passes of model 0 give the same outputs: its dropout is off"):
        next(batches)
    given = runtime.InferenceSession(dropout(False))
    with pytest.raises(ValueError, match="EliminateDropout"):
        collect(given, X, passes=5)
    assert collect(dropout(False), X, passes=1).shape == (50, 1, 3)  # a single member, as asked
    with pytest.raises(ValueError, match="all members give the same outputs for all 50 samples"):
        collect([linear(W[0])] * 3, X)


def test_pytorch_exports() -> None:
    """The export that the message describes: dropout on, and kept by onnxruntime, which removes it by default."""
    torch = pytest.importorskip("torch")
    from vargate.torch import mc_dropout

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 64), torch.nn.BatchNorm1d(64), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(64, 3)
    ).eval()

    def export(**how: Any) -> bytes:
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            axes = {"x": {0: "N"}, "z": {0: "N"}}
            torch.onnx.export(
                net,
                (torch.ones(2, 4),),
                file,
                input_names=["x"],
                output_names=["z"],
                dynamic_axes=axes,
                dynamo=False,
                **how,
            )
        return file.getvalue()

    with pytest.raises(ValueError, match=r"TrainingMode\.PRESERVE"):
        collect(export(), X, passes=4)
    with mc_dropout(net):
        on = export(training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    z = collect(on, X, passes=200)
    with torch.inference_mode():
        plain = net(torch.from_numpy(X)).numpy()
    s = vargate.score(z, logits=True)
    assert s.verdict().name not in ("identical", "one-member")
    assert np.abs(z.mean(axis=1) - plain).max() < 6 * (z.std(axis=1) / np.sqrt(200)).max()


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="one model with one output: members are several files"):
        collect(linear(W[0]), X)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.onnx"):
        collect([tmp_path / "none.onnx"], X)
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"bad\.onnx: onnxruntime cannot load it"):
        collect([tmp_path / "bad.onnx"], X)
    with pytest.raises(ValueError, match=r"'NopeProvider' is not in this onnxruntime, expected some of .*CPU"):
        collect([linear(W[0])] * 2, X, providers=["NopeProvider"])
    with pytest.raises(ValueError, match="inputs are y, but model 0 has x"):
        collect([linear(W[0])] * 2, {"y": X})
    with pytest.raises(ValueError, match=r"members have \[2, 3\] classes"):
        collect(
            [linear(W[0]), model([helper.make_node("MatMul", ["x", "w"], ["z"])], {"w": W[0][:, :2]}, {"z": ["N", 2]})],
            X,
        )
    with pytest.raises(ValueError, match="inputs are empty"):
        collect([linear(W[0]), linear(W[1])], X[:0])
    collect([linear(W[0]), linear(W[1])], X, providers=["CPUExecutionProvider"], threads=1, progress=True, batch=25)
    assert "2/2" in capsys.readouterr().err


def test_feeds_an_evaluator() -> None:
    labels = EXPECTED.mean(axis=1).argmax(axis=1)
    models = [linear(w) for w in W]
    evaluator = vargate.Evaluator(logits=True)
    first = 0
    for z in collect_batches(models, X, batch=16):
        evaluator.update(z, labels[first : first + len(z)])
        first += len(z)
    assert evaluator.compute().to_dict() == vargate.evaluate(collect(models, X), labels, logits=True).to_dict()


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'vargate-uq\[onnx\]'"):
        collect([linear(W[0])], X)
