"""Evaluation and OOD detection of any values beside the measures, and of the measures that are asked for alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vargate
from vargate import _native

RNG = np.random.default_rng(21)
Y = RNG.integers(0, 4, 500)
Z = 2 * np.eye(4)[Y][:, None] + 3 * RNG.normal(size=(500, 6, 4))
OTHER = RNG.normal(size=(300, 6, 4))


def count_ranked(monkeypatch: pytest.MonkeyPatch, name: str, place: int) -> list[int]:
    """How many columns each call of a function of the library was given."""
    given: list[int] = []
    real = getattr(_native.lib, name)

    class Library:
        def __getattr__(self, wanted: str) -> Any:
            if wanted != name:
                return getattr(lib, wanted)

            def call(*arguments: Any) -> Any:
                given.append(arguments[place])
                return real(*arguments)

            return call

    lib = _native.lib
    monkeypatch.setattr(_native, "lib", Library())
    return given


def test_only_what_was_asked_for_is_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    s, whole = vargate.score(Z, logits=True, labels=Y), vargate.evaluate(Z, Y, logits=True)
    given = count_ranked(monkeypatch, "vg_evaluate", 3)
    for measures, names in (
        ("gtu@2", ["gtu@2"]),
        ("tu,gtu@1", ["tu", "gtu@1"]),
        (["gtu", "snr"], ["snr", "gtu@1", "gtu@2", "gtu@3"]),
        ("entropies", ["tu", "au", "eu"]),
        ("gtu@1,gtu", ["gtu@1", "gtu@2", "gtu@3"]),
    ):
        for e in (vargate.evaluate(Z, Y, logits=True, measures=measures), vargate.evaluate(s, measures=measures)):
            assert list(e.measures) == names
            assert e.accuracy == whole.accuracy
            for name in names:
                assert e.measures[name] == whole.measures[name]
        assert given == [len(names)] * 2
        given.clear()


def test_only_what_was_asked_for_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vargate.ood(Z, OTHER, logits=True)
    given = count_ranked(monkeypatch, "vg_ood_evaluate", 5)
    found = vargate.ood(Z, OTHER, logits=True, measures="eu,geu@3")
    assert given == [2]
    assert found.measures == {name: whole.measures[name] for name in ("eu", "geu@3")}


def test_values_of_ones_own_in_evaluate() -> None:
    p = np.exp(Z) / np.exp(Z).sum(axis=-1, keepdims=True)
    s = vargate.score(p, labels=Y)
    confidence = p.mean(axis=1).max(axis=1)
    noise = RNG.normal(size=500).astype(np.float32)
    e = vargate.evaluate(
        s, extra={"my tu": s.tu, "confidence": confidence, "noise": noise}, extra_certainty=["confidence"], bootstrap=20
    )
    assert list(e.measures)[-3:] == ["my tu", "confidence", "noise"]
    assert e.measures["my tu"] == e.measures["tu"]
    reference = vargate.rank(confidence, s.pred != Y, certainty=True)
    assert e.measures["confidence"].aurc == reference.aurc
    assert e.measures["confidence"].error_auroc == reference.error_auroc > 0.5
    turned = vargate.evaluate(s, extra={"confidence": confidence}, measures="tu")
    assert turned.measures["confidence"].error_auroc == pytest.approx(1 - reference.error_auroc)
    assert e.measures["noise"].intervals is not None
    assert e.to_dict()["measures"]["noise"]["aurc"] == e.measures["noise"].aurc


def test_values_of_ones_own_of_multilabel_sets() -> None:
    u, y = RNG.beta(0.5, 0.5, size=(60, 5, 3)), RNG.integers(0, 2, (60, 3))
    s = vargate.score(u, labels=y, multilabel=True)
    e = vargate.evaluate(s, extra={"mine": s.gmu})
    assert e.measures["mine"] == e.measures["gmu"]
    assert e.per_label[2].measures["mine"] == e.per_label[2].measures["gmu"]
    with pytest.raises(ValueError, match=r"extra: 'mine' has shape \(60,\), expected \(60, 3\)"):
        vargate.evaluate(s, extra={"mine": np.zeros(60)})


def test_values_of_ones_own_in_ood() -> None:
    s, other = vargate.score(Z, logits=True), vargate.score(OTHER, logits=True)
    found = vargate.ood(s, other, extra={"mine": (s.eu, other.eu)}, extra_certainty=[])
    assert found.measures["mine"] == found.measures["eu"]
    energy = [np.log(np.exp(z).sum(axis=-1)).mean(axis=1) for z in (Z, OTHER)]
    turned = vargate.ood(
        s,
        {"a": other, "b": s},
        extra={"energy": (energy[0], {"a": energy[1], "b": energy[0]})},
        extra_certainty=("energy",),
    )
    expected = vargate.detect(energy[0], energy[1], certainty=True)
    assert turned.sets["a"].measures["energy"] == expected
    assert turned.sets["b"].measures["energy"].auroc == 0.5
    with pytest.raises(ValueError, match=r"extra: 'mine' has shape \(3,\), expected \(500,\)"):
        vargate.ood(s, other, extra={"mine": ([1, 2, 3], other.eu)})


def test_names_of_ones_own_are_checked() -> None:
    s = vargate.score(Z, logits=True, labels=Y)
    with pytest.raises(ValueError, match="'tu' is the name of a measure"):
        vargate.evaluate(s, extra={"tu": s.tu})
    with pytest.raises(ValueError, match="characters"):
        vargate.evaluate(s, extra={"a very long name that the library has no room for": s.tu})


def test_class_names_in_evaluations() -> None:
    pd = pytest.importorskip("pandas")
    names = ["ant", "bee", "cat", "dog"]
    e = vargate.evaluate(Z, Y, logits=True, classes=names)
    assert e.classes == tuple(names)
    assert [row["name"] for row in e.to_dict()["per_class"]] == names
    plain = vargate.evaluate(Z, Y, logits=True).to_dict()
    assert e.to_dict()["confusion"] == plain["confusion"]
    assert not any("name" in row for row in plain["per_class"])
    table = e.to_pandas("classes")
    assert table.index.tolist() == names
    assert table.loc["bee", "support"] == (Y == 1).sum()
    confusion = e.to_pandas("confusion")
    assert confusion.loc["cat", "ant"] == e.confusion[2, 0]  # type: ignore[index]
    assert (confusion.index.name, confusion.columns.name) == ("true", "predicted")
    measures = e.to_pandas()
    assert isinstance(measures, pd.DataFrame)
    assert measures.loc["gmu", "aurc"] == e.measures["gmu"].aurc
    assert measures.loc["tu", "risk@0.8"] == e.measures["tu"].risk_at_coverage["0.8"]
    assert vargate.evaluate(Z, Y, logits=True).to_pandas("classes").index.tolist() == [0, 1, 2, 3]


def test_files_of_predictions_are_evaluated(tmp_path: Any) -> None:
    np.savez(tmp_path / "z.npz", Z=Z, L=Y, classes=list("abcd"))
    np.savez(tmp_path / "other.npz", Z=OTHER)
    p = vargate.load(tmp_path / "z.npz", "predictions")
    e = vargate.evaluate(p, measures="tu")
    assert e.to_dict() == vargate.evaluate(Z, Y, logits=True, measures="tu", classes=list("abcd")).to_dict()
    assert e.classes == ("a", "b", "c", "d")
    assert vargate.evaluate(p, (Y + 1) % 4).accuracy < e.accuracy
    assert vargate.ood(p, vargate.load(tmp_path / "other.npz")).measures == vargate.ood(Z, OTHER, logits=True).measures
    assert vargate.select_k(p, target_coverage=0.5) == vargate.select_k(Z, Y, logits=True, target_coverage=0.5)
    np.testing.assert_array_equal(vargate.decide(p, 2.0), vargate.decide(Z, 2.0, logits=True))


def test_baselines_stand_beside_our_measures() -> None:
    """Their values against NumPy; evaluate and ood rank them unless measures are named."""
    p = np.exp(Z) / np.exp(Z).sum(axis=-1, keepdims=True)
    s = vargate.score(Z, logits=True, measures="all,baselines,maxlogit,energy")
    top = np.sort(p.mean(axis=1), axis=1)
    np.testing.assert_allclose(s.maxprob, 1 - top[:, -1], atol=1e-12)
    np.testing.assert_allclose(s.gap, 1 - (top[:, -1] - top[:, -2]), atol=1e-12)
    np.testing.assert_allclose(s.topstd, np.take_along_axis(p.std(axis=1), s.pred[:, None], axis=1)[:, 0], atol=1e-12)
    votes = np.array([np.bincount(row, minlength=4).max() for row in p.argmax(axis=-1)])
    np.testing.assert_allclose(s.votes, 1 - votes / 6, atol=1e-12)
    np.testing.assert_allclose(s.maxlogit, -Z.mean(axis=1).max(axis=1), atol=1e-12)
    np.testing.assert_allclose(s.energy, -np.log(np.exp(Z).sum(axis=-1)).mean(axis=1), atol=1e-12)
    of_logits, of_both = {"maxlogit", "energy"}, {"maxprob", "gap", "topstd", "votes"}
    assert of_logits | of_both <= set(vargate.evaluate(Z, Y, logits=True).measures)
    assert set(vargate.evaluate(p, Y).measures) & (of_logits | of_both) == of_both
    assert of_both <= set(vargate.ood(p, p[:50]).measures)
    assert "maxprob" not in vargate.score(p)
    assert list(vargate.evaluate(p, Y, measures="votes").measures) == ["votes"]
