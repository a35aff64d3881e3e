"""Scores as a sequence of samples, as tables, with names of classes and samples."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate
from vargate import _native
from vargate._measures import FILE_ORDER

RNG = np.random.default_rng(5)
P = RNG.dirichlet(np.ones(3), size=(50, 6))
Y = RNG.integers(0, 3, 50)
CLASSES = ("cat", "dog", "emu")
IDS = [f"image-{i}" for i in range(50)]
S = vargate.score(P, labels=Y, classes=CLASSES, ids=IDS)


def test_the_table_of_measures_is_the_librarys() -> None:
    found = vargate.measures()
    assert not _native.lib.vg_measure_info_at(len(found))
    assert [m.name for m in found] == [name for name in FILE_ORDER if name in {m.name for m in found}]
    gated = {m.name for m in found if m.gated}
    assert gated == {"gtu", "gau", "geu", "gepce", "gepkl", "gepjs"}
    assert "snr" in {m.name for m in found if m.certainty}
    assert all(m.meaning and m.symbol and str(m).startswith(m.symbol) for m in found)


@pytest.mark.parametrize(
    "index", [slice(10, 20), slice(None, None, -2), [3, 1, 1], np.arange(50) % 3 == 0, Y == 1, np.array([], int), []]
)
def test_some_samples(index: Any) -> None:
    some, rows = S[index], np.arange(50)[index]
    expected = vargate.score(P[rows], labels=Y[rows])
    assert some.n == len(some) == len(rows)
    for name in expected.keys():
        np.testing.assert_array_equal(some[name], expected[name])
    np.testing.assert_array_equal(some.labels, Y[rows])
    assert some.ids is not None
    assert some.ids.tolist() == [IDS[i] for i in rows]
    assert some.classes == CLASSES
    if len(rows):  # mean and spread are known by sample, how often members disagree is not
        assert some.diversity == pytest.approx(expected.diversity, rel=1e-12)
        assert some.k_sensitivity == pytest.approx(expected.k_sensitivity, rel=1e-12)
        assert some._spread.member_variance == pytest.approx(expected._spread.member_variance, rel=1e-12)
        assert some._spread.total_variance == pytest.approx(expected._spread.total_variance, rel=1e-12)
    assert some.verdict().name == "unknown"
    measures = some.summary().measures["tu"]
    assert measures == expected.summary().measures["tu"]


def test_samples_of_multilabel_scores() -> None:
    u, y = RNG.beta(0.5, 0.5, size=(20, 5, 4)), RNG.integers(0, 2, (20, 4))
    whole, expected = vargate.score(u, labels=y, multilabel=True), vargate.score(u[5:9], labels=y[5:9], multilabel=True)
    some = whole[5:9]
    np.testing.assert_array_equal(some.gtu, expected.gtu)
    np.testing.assert_array_equal(some.labels, y[5:9])
    assert some.diversity == pytest.approx(expected.diversity, rel=1e-12)
    assert some._spread.member_variance == pytest.approx(expected._spread.member_variance, rel=1e-12)
    assert whole[3].label.tolist() == y[3].tolist()


def test_one_sample() -> None:
    sample = S[7]
    assert (sample.index, sample.label, sample.id) == (7, Y[7], "image-7")
    assert sample.tu == S.tu[7]
    assert sample["gtu@2"] == S["gtu@2"][7]
    assert sample.class_name == CLASSES[S.pred[7]]
    assert sample.to_dict()["pred"] == S.pred[7]
    assert S[-1].index == 49
    assert S[np.int64(3)].index == 3
    assert [s.tu for s in S] == S.tu.tolist()
    with pytest.raises(IndexError):
        S[50]
    with pytest.raises(AttributeError, match="tu was not computed"):
        _ = vargate.score(P, measures="eu")[0].tu
    with pytest.raises(IndexError, match="the mask has 3 values"):
        S[np.array([True, False, True])]
    with pytest.raises(TypeError, match="samples are chosen by"):
        S[1.5]  # type: ignore[call-overload]


def test_concatenate() -> None:
    parts = [
        vargate.score(P[a:b], labels=Y[a:b], classes=CLASSES, ids=IDS[a:b]) for a, b in ((0, 20), (20, 20), (20, 50))
    ]
    whole = vargate.concatenate(parts)
    for name in S.keys():
        np.testing.assert_array_equal(whole[name], S[name])
    np.testing.assert_array_equal(whole.labels, Y)
    assert whole.ids is not None
    assert whole.ids.tolist() == IDS
    assert whole.diversity == pytest.approx(S.diversity, rel=1e-12)
    assert whole.verdict().name == S.verdict().name
    assert vargate.concatenate([S[:10], vargate.score(P[:5], classes=CLASSES)]).labels is None
    with pytest.raises(ValueError, match="set 1 has k"):
        vargate.concatenate([S, vargate.score(P, k=1, classes=CLASSES)])
    with pytest.raises(ValueError, match="set 1 has tu, expected"):
        vargate.concatenate([S, vargate.score(P, measures="tu", classes=CLASSES)])
    with pytest.raises(ValueError, match="set 1 has classes None"):
        vargate.concatenate([S, vargate.score(P)])
    with pytest.raises(ValueError, match="nothing to concatenate"):
        vargate.concatenate([])


def test_pickles_keep_names() -> None:
    again = pickle.loads(pickle.dumps(S))
    assert (again.classes, again.diversity, again.verdict().text) == (CLASSES, S.diversity, S.verdict().text)


# --- names ------------------------------------------------------------------------------------------------------------


def test_labels_may_be_names_of_classes() -> None:
    names = [CLASSES[y] for y in Y]
    for labels in (names, np.array(names), np.array(names, dtype=object)):
        np.testing.assert_array_equal(vargate.score(P, labels=labels, classes=CLASSES).labels, Y)
        assert vargate.evaluate(vargate.score(P, classes=CLASSES), labels).accuracy == vargate.evaluate(S).accuracy
    with pytest.raises(ValueError, match="label 0 is 'cow', expected one of cat, dog, emu"):
        vargate.score(P, labels=["cow"] * 50, classes=CLASSES)
    with pytest.raises(TypeError, match="expected integers"):
        vargate.score(P, labels=names)


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="classes has 2 names, expected those of 3"):
        vargate.score(P, classes=["a", "b"])
    with pytest.raises(ValueError, match="'a' occurs twice"):
        vargate.score(P, classes=["a", "b", "a"])
    with pytest.raises(ValueError, match="ids has shape"):
        vargate.score(P, ids=[1, 2])
    with pytest.raises(ValueError, match="classes were not given"):
        vargate.score(P).decide_names()


def test_decisions_in_names() -> None:
    decided = S.decide(2)
    assert S.decide_names(2, abstain="?").tolist() == [CLASSES[d] if d >= 0 else "?" for d in decided]
    assert None in S.decide_names(2).tolist()


# --- tables -----------------------------------------------------------------------------------------------------------


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    table = S.to_pandas()
    assert table.index.tolist() == IDS
    assert table.index.name == "id"
    assert table["mean_dog"].tolist() == S.mean[:, 1].tolist()
    assert table["pred"].tolist() == [CLASSES[c] for c in S.pred]
    assert table["decision@2"].isna().tolist() == (S.decide(2) < 0).tolist()
    plain = vargate.score(P).to_pandas(index=range(100, 150), classes=["a", "b", "c"])
    assert plain.index[0] == 100
    assert "std_c" in plain
    assert isinstance(vargate.score(P).to_pandas().index, pd.RangeIndex)
    assert vargate.score(P).to_pandas()["pred"].dtype == np.int32
    with pytest.raises(ValueError, match="index has 3 values"):
        S.to_pandas(index=[1, 2, 3])


def test_arrow_and_polars_have_the_same_columns() -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    arrow, polars, pandas = S.to_arrow(), S.to_polars(), S.to_pandas()
    assert arrow.column_names == polars.columns == ["id", *pandas.columns]
    assert arrow["id"].to_pylist() == polars["id"].to_list() == IDS
    for name in ("tu", "gtu@3", "mean_emu", "flags"):
        assert arrow[name].to_pylist() == polars[name].to_list() == pandas[name].tolist()
    for name in ("pred", "decision@1"):
        expected = [None if v != v else v for v in pandas[name].tolist()]
        assert arrow[name].to_pylist() == polars[name].to_list() == expected
    assert vargate.score(P).to_arrow()["pred"].to_pylist() == S.pred.tolist()


def test_saving_does_not_replace_what_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("my,notes\n1,2\n")
    with pytest.raises(ValueError, match=r"notes\.csv"):
        S.save(path)
    assert path.read_text() == "my,notes\n1,2\n"
    S.save(path, force=True)
    S.save(path)
    assert path.read_text().startswith("n,id,tu,")
