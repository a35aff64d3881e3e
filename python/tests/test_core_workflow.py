"""Training, predicting, whole runs and reports in this process, against the command; stopping them; reading files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import warnings
from ctypes import byref, c_char_p, c_void_p, cast, create_string_buffer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate
from vargate import _native
from vargate._recipes import RecipeKeys

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"name": "tiny", "dataset": "digits", "network": "cnn-4-8", "heads": 4, "epochs": 2}
SMALL |= {"train_limit": 128, "test_limit": 50, "batch": 32, "rate": 1e-3, "ood": ["digits-ood"]}


@pytest.fixture(scope="module")
def data() -> Path:
    folder = ROOT / "data"
    if not folder.exists():
        pytest.skip("the data set that ships is not beside the tests")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, data: Path) -> vargate.RunResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # temperatures of a network that has seen 128 images
        return vargate.run(SMALL, tmp_path_factory.mktemp("run") / "tiny", data=data, threads=1)


def write_recipe(folder: Path, **changes: Any) -> Path:
    path = folder / "tiny.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in {**SMALL, **changes}.items()))
    return path


# --- training ---------------------------------------------------------------------------------------------------------


def test_training_is_the_commands(program: str, tmp_path: Path, data: Path) -> None:
    """The same weights to the bit, from a mapping, from a file with changes as keywords, and by the command."""
    path = write_recipe(tmp_path, epochs=9)
    one = vargate.train(SMALL, tmp_path / "one", data=data, threads=1, device="cpu")
    two = vargate.train(path, tmp_path / "two", data=data, threads=1, device="cpu", epochs=2)
    command = [
        program,
        "train",
        path,
        "--set",
        "epochs=2",
        "--data",
        data,
        "-o",
        tmp_path / "three",
        "-t",
        "1",
        "--quiet",
    ]
    subprocess.run([*map(str, command), "--device", "cpu"], check=True)
    assert (tmp_path / "one/last.safetensors").read_bytes() == (tmp_path / "three/last.safetensors").read_bytes()
    assert (tmp_path / "one/last.safetensors").read_bytes() == (tmp_path / "two/last.safetensors").read_bytes()
    assert (one.epochs_done, one.last.epoch, one.folder) == (2, 2, tmp_path / "one")
    assert one.last.val_accuracy == two.last.val_accuracy
    assert isinstance(one.last.verdict, vargate.Verdict)
    line = json.loads((tmp_path / "one/metrics.jsonl").read_text().splitlines()[-1])
    assert one.last.val_loss == pytest.approx(line["val_loss"], rel=1e-6)
    again = vargate.train(SMALL, tmp_path / "one", data=data, resume=True)
    assert (again.epochs_done, again.last.val_accuracy) == (0, one.last.val_accuracy)


def test_progress_and_stopping_from_the_listener(tmp_path: Path, data: Path) -> None:
    heard: list[vargate.Progress] = []

    def listen(message: vargate.Progress) -> None:
        heard.append(message)
        if message.event == "progress" and message.done >= 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        vargate.train(SMALL, tmp_path / "run", data=data, threads=1, epochs=50, progress=listen)
    assert heard[-1].event == "progress" or heard[-1].event == "end"
    assert {"begin", "progress", "note"} <= {message.event for message in heard}
    steps = [message for message in heard if message.event == "progress"]
    assert steps[-1].done == 3
    assert steps[0].total == 50 * 4
    assert steps[0].text.startswith("epoch 1/50")
    assert (tmp_path / "run/last.safetensors").exists()
    with pytest.raises(TypeError, match="progress is 3"):
        vargate.train(SMALL, tmp_path / "run", progress=3)  # type: ignore[arg-type]


def test_ctrl_c_writes_a_checkpoint_to_go_on_from(tmp_path: Path, data: Path) -> None:
    """Stopped and resumed, a run ends with the bits of one that was not stopped."""
    whole = vargate.train(SMALL, tmp_path / "whole", data=data, threads=1, epochs=6)

    def press(message: vargate.Progress) -> None:
        if message.event == "progress" and message.done == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"last\.safetensors; resume=True continues from it"):
        vargate.train(SMALL, tmp_path / "cut", data=data, threads=1, epochs=6, progress=press)
    rest = vargate.train(SMALL, tmp_path / "cut", data=data, threads=1, epochs=6, resume=True)
    assert 0 < rest.epochs_done <= 6
    assert rest.last.val_loss == whole.last.val_loss
    assert (tmp_path / "cut/last.safetensors").read_bytes() == (tmp_path / "whole/last.safetensors").read_bytes()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_may_train(tmp_path: Path, data: Path) -> None:
    found: list[vargate.TrainResult] = []
    worker = threading.Thread(target=lambda: found.append(vargate.train(SMALL, tmp_path / "run", data=data, epochs=1)))
    worker.start()
    worker.join()
    assert found[0].epochs_done == 1


def test_a_deep_ensemble_by_two_jobs(tmp_path: Path, data: Path) -> None:
    deep: dict[str, Any] = {**SMALL, "ensemble": "deep", "heads": 1, "members": 2, "epochs": 1}
    one = vargate.train(deep, tmp_path / "one", data=data, threads=1)
    two = vargate.train(deep, tmp_path / "two", data=data, threads=1, jobs=2)
    assert one.last.val_loss == two.last.val_loss
    assert vargate.predict(tmp_path / "one", data=data).m == 2
    with pytest.raises(ValueError, match="jobs is 0"):
        vargate.train(deep, tmp_path / "three", jobs=0)


def test_snapshots_and_events(tmp_path: Path, data: Path) -> None:
    keys: dict[str, Any] = {"epochs": 2, "snapshots": 2, "schedule": "cyclic", "optimiser": "sgd", "momentum": 0.9}
    vargate.train(SMALL, tmp_path / "run", data=data, tensorboard=True, class_weights=[1.0] * 10, **keys)
    assert list((tmp_path / "run" / "tensorboard").glob("*tfevents*"))
    assert vargate.predict(tmp_path / "run", data=data).m == 2 * SMALL["heads"]


def test_a_line_of_text(tmp_path: Path, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vargate.train(SMALL, tmp_path / "run", data=data, epochs=1, progress=True)
    said = capfd.readouterr()
    assert said.out == ""
    assert "128 images to train on" in said.err
    assert "epoch 1/1  loss" in said.err
    vargate.train(SMALL, tmp_path / "silent", data=data, epochs=1)
    assert capfd.readouterr().err == ""


def test_recipes_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown key 'epoch'.*epochs"):
        vargate.train({**SMALL, "epoch": 3}, tmp_path)
    with pytest.raises(ValueError, match="heads"):
        vargate.train(SMALL, tmp_path, heads=0)
    with pytest.raises(OSError, match="nothing-of-this-name"):
        vargate.train("nothing-of-this-name", tmp_path)


def test_typed_keys_are_the_librarys() -> None:
    """Every key that type checkers know is one of a recipe."""
    room, text = create_string_buffer(_native.RECIPE_ROOM), c_void_p()
    _native.lib.vg_recipe_defaults(room)
    _native.check(_native.lib.vg_recipe_text(byref(text), room))
    lines = (cast(text, c_char_p).value or b"").decode().splitlines()
    _native.lib.vg_free(text)
    known = {line.partition(":")[0] for line in lines if line and not line.startswith(("#", " "))}
    assert set(RecipeKeys.__annotations__) <= known
    assert len(known) > 40


# --- whole runs -------------------------------------------------------------------------------------------------------


def test_a_whole_run(finished: vargate.RunResult) -> None:
    results = json.loads((finished.folder / "results.json").read_text())
    assert finished.test.accuracy == results["test"]["accuracy"]
    assert finished.test.measures["gmu"].aurc == results["test"]["measures"]["gmu"]["aurc"]
    assert finished.test_calibrated is not None
    assert finished.test_calibrated.nll == results["test_calibrated"]["nll"]
    for ours, theirs in ((finished.ood, results["ood"]), (finished.ood_calibrated, results["ood_calibrated"])):
        assert ours.keys() == theirs.keys() == {"digits-ood"}
        assert ours["digits-ood"].measures["tu"].auroc == theirs["digits-ood"]["measures"]["tu"]["auroc"]
        assert len(ours["digits-ood"].measures) == len(theirs["digits-ood"]["measures"])
    assert finished.training.last.epoch == 2


def test_a_run_that_is_done_is_not_done_again(finished: vargate.RunResult, data: Path) -> None:
    heard: list[str] = []
    again = vargate.run(SMALL, finished.folder, data=data, progress=lambda m: heard.append(m.text))
    assert again.training.epochs_done == 0
    assert again.training.last.val_accuracy == finished.training.last.val_accuracy
    assert again.test.accuracy == finished.test.accuracy
    other = vargate.run(SMALL, finished.folder, data=data, k=2.5)  # comes after training
    assert list(other.test.rule) == ["2.5"]


# --- predictions ------------------------------------------------------------------------------------------------------


def test_predictions(finished: vargate.RunResult, tmp_path: Path, data: Path) -> None:
    p = vargate.predict(finished.folder, data=data, threads=1)
    assert (p.m, p.c, p.path, p.logits) == (4, 10, None, True)
    assert p.values.shape == (p.n, 4, 10)
    with np.load(finished.folder / "test.npz") as file:
        np.testing.assert_array_equal(p.values[:50], file["Z"][:50])
        np.testing.assert_array_equal(p.labels, file["L"])
        assert p.classes == tuple(map(str, file["classes"].tolist()))
    s = p.score(measures="tu,pred")
    assert s.classes == p.classes
    assert s.summary().accuracy == pytest.approx(finished.test.accuracy, abs=1e-12)
    stored = vargate.predict([finished.folder, finished.folder], tmp_path / "p.safetensors", logits=False, data=data)
    assert (stored.m, stored.logits, stored.path) == (8, False, tmp_path / "p.safetensors")
    np.testing.assert_allclose(stored.values.sum(axis=-1), 1, atol=1e-5)
    (tmp_path / "mine.npz").write_text("my notes")
    with pytest.raises(ValueError, match=r"mine\.npz"):
        vargate.predict(finished.folder, tmp_path / "mine.npz", data=data)
    assert (tmp_path / "mine.npz").read_text() == "my notes"
    with pytest.raises((ValueError, OSError), match="nowhere"):
        vargate.predict(tmp_path / "nowhere")


# --- reports ----------------------------------------------------------------------------------------------------------


def test_report_of_a_run(finished: vargate.RunResult, data: Path) -> None:
    page = vargate.report(finished.folder, data=data, title="My title")
    assert page.path == finished.folder / "report" / "report.html"
    assert "My title" in page.path.read_text()
    assert "srcdoc" in page._repr_html_()


def test_report_of_arrays_and_scores(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    p, other = rng.dirichlet([4, 1, 1], size=(80, 5)), rng.dirichlet([1, 1, 1], size=(60, 5))
    y = rng.integers(0, 3, 80)
    one = vargate.report(p, tmp_path / "one", labels=y, ood={"noise": other}, classes=["cat", "a, b", "emu"], k=2)
    s = vargate.score(p, labels=y, k=2, classes=["cat", "a, b", "emu"])
    two = vargate.report(s, tmp_path / "two", ood={"noise": vargate.score(other, k=2)})
    for page in (one, two):
        text = page.path.read_text()
        assert "a, b" in text
        assert "noise" in text
    temporary = vargate.report(s).path
    assert temporary.is_file()
    assert temporary.parent.name.startswith("vargate-report-")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("mine")
    with pytest.raises(ValueError, match=r"report\.html"):
        vargate.report(s, tmp_path / "mine")
    with pytest.raises(ValueError, match="names for"):
        vargate.report(p, tmp_path / "three", classes=["one"])


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npz", "safetensors", "csv", "jsonl"])
@pytest.mark.parametrize("multilabel", [False, True])
def test_scores_are_read_back(tmp_path: Path, ending: str, multilabel: bool) -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, size=(30, 4, 3)) if multilabel else rng.dirichlet(np.ones(3), size=(30, 4))
    y = rng.integers(0, 2, (30, 3)) if multilabel else rng.integers(0, 3, 30)
    s = vargate.score(p, k=(0.5, 2), multilabel=multilabel, classes=["a", "b", "c"], ids=[f"x{i}" for i in range(30)])
    path = tmp_path / f"scores.{ending}"
    s.save(path)
    again = vargate.load(path, "scores", labels=y)
    assert (again.keys(), again._k, again.n, again.c, again.multilabel) == (s.keys(), s._k, 30, 3, multilabel)
    for name in s.keys():
        assert again[name].dtype == s[name].dtype
        assert again[name].tobytes() == s[name].tobytes(), name
    assert again.diversity == s.diversity
    assert again.ids is not None
    assert again.ids.tolist() == [f"x{i}" for i in range(30)]
    assert vargate.evaluate(again).accuracy == vargate.evaluate(s, y).accuracy
    if ending in ("npz", "safetensors"):
        assert again.classes == s.classes
        assert again._but(labels=None).verdict().text == s.verdict().text
        assert again.m == 4
    with pytest.raises(ValueError, match="holds scores, expected predictions"):
        vargate.load(path, "predictions")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_predictions_are_read(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(20, 3, 4)).astype(dtype)
    np.savez(tmp_path / "z.npz", Z=z, L=rng.integers(0, 4, 20), classes=list("abcd"), id=[f"i{k}" for k in range(20)])
    p = vargate.load(tmp_path / "z.npz", "predictions")
    assert (p.n, p.m, p.c, p.logits, p.classes) == (20, 3, 4, True, ("a", "b", "c", "d"))
    np.testing.assert_array_equal(p.values, z)
    assert p.ids is not None
    assert p.ids[3] == "i3"
    s = p.score()
    np.testing.assert_array_equal(s.tu, vargate.score(z, logits=True).tu)
    assert (s.classes, s[3].id) == (p.classes, "i3")
    np.save(tmp_path / "p.npy", np.asfortranarray(rng.dirichlet(np.ones(4), size=(20, 3))))
    plain = vargate.load(tmp_path / "p.npy", "predictions")
    np.testing.assert_array_equal(plain.values, np.load(tmp_path / "p.npy"))
    assert (plain.labels, plain.classes, plain.ids) == (None, None, None)


def test_temperatures_are_read(tmp_path: Path, logits: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = vargate.calibrate(*logits)
    fit.save(tmp_path / "temps.json")
    again = vargate.load(tmp_path / "temps.json", "calibration")
    assert again.to_dict() == fit.to_dict()
    with pytest.raises(OSError, match=r"nothing\.npz"):
        vargate.load(tmp_path / "nothing.npz")


def test_reports_of_labels_and_of_sets(tmp_path: Path) -> None:
    """A page of multilabel predictions or scores, and sets that are calibrated on other predictions."""
    rng = np.random.default_rng(0)
    p, other = rng.random((60, 4, 5)), rng.dirichlet(np.ones(3), size=(80, 4))
    truth, classes = (p.mean(axis=1) > 0.5).astype(int), other.mean(axis=1).argmax(axis=1)
    for i, source in enumerate((p, vargate.score(p, multilabel=True, labels=truth))):
        page = vargate.report(source, tmp_path / str(i), multilabel=True, labels=truth)
        assert '"labels":5,' in page.path.read_text(encoding="utf-8")
    halves = vargate.report(other, tmp_path / "halves", labels=classes).path.read_text(encoding="utf-8")
    assert '"sets_from":"a random half of these"' in halves
    page = vargate.report(other, tmp_path / "sets", labels=classes, calibration=(other, classes))
    meta = re.search(r'id="vg-meta">(.*?)</script>', page.path.read_text(encoding="utf-8"))
    assert meta is not None
    assert json.loads(json.loads(meta[1])["sets"])[0]["calibrated"] == 80
    with pytest.raises(TypeError, match="calibration is a path, or a pair of predictions and labels"):
        vargate.report(other, tmp_path / "none", labels=classes, calibration=other)
