"""Files of every kind against what NumPy, pandas and pyarrow wrote, and `score` of a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vargate

FILES = Path(__file__).parents[2] / "tests" / "data" / "formats"
P = np.arange(60).reshape(4, 3, 5) / 64  # what tests/data/formats/make_tables.py writes
L = [0, 1, 4, 2]


@pytest.mark.skipif(not FILES.exists(), reason="needs the files of the C tests")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("long.tsv", {}),
        ("long_comma.csv", {}),
        ("long_quoted.csv", {"decimal": "comma"}),
        ("long_semicolon.csv", {"separator": ";"}),
        ("names_long.csv", {}),
        ("long.csv.gz", {}),
        ("lines.jsonl.gz", {}),
        ("records.json", {}),
        ("lists.json", {}),
        ("models.npz", {}),
        ("models_fortran.npz", {}),
        ("models_named.npz", {"key": "resnet,vit,swin"}),
    ],
)
def test_kinds(name: str, options: dict[str, str]) -> None:
    found = vargate.load(FILES / name, "predictions", **options)  # type: ignore[arg-type]
    assert found.values.shape == (4, 3, 5)
    assert not found.logits
    assert (found.values == P).all()
    assert found.labels is not None
    assert found.labels.tolist() == L


def test_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;p_cat;p_dog;truth\nx;0,75;0,25;dog\ny;0,5;0,5;cat\n")
    found = vargate.load(tmp_path / "a.csv", "predictions", label="truth")
    assert found.classes == ("cat", "dog")
    assert found.ids is not None
    assert found.ids.tolist() == ["x", "y"]
    assert found.labels is not None
    assert found.labels.tolist() == [1, 0]
    with pytest.raises(ValueError, match="csv: label: no column is named 'species'"):
        vargate.load(tmp_path / "a.csv", "predictions", label="species")
    with pytest.raises(OSError, match="nothing"):
        vargate.load(tmp_path / "nothing.csv", "predictions")
    with pytest.raises(ValueError, match="'X' is not an axis"):
        vargate.load(tmp_path / "a.csv", "predictions", axes="NXC")


def test_score_of_a_path(files: Path, logits: tuple[np.ndarray, np.ndarray]) -> None:
    z, y = logits
    of_file, of_array = vargate.score(files / "z.npz"), vargate.score(z, logits=True, labels=y)
    for name in of_array.keys():
        assert np.array_equal(of_file[name], of_array[name], equal_nan=True), name
    assert of_file.summary().to_dict() == of_array.summary().to_dict()
    u = vargate.score(str(files / "u.npz"), multilabel=True)
    assert u.tu.shape == (150, 3)


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), size=(30, 3)).astype(np.float32)
    y = rng.integers(0, 4, 30)
    n, m = np.repeat(np.arange(30), 3), np.tile(["a", "b", "c"], 30)
    columns = {"id": [f"s{i}" for i in n], "member": m, "truth": y[n]}
    columns |= {f"p{c}": p.reshape(90, 4)[:, c] for c in range(4)}
    pq.write_table(pa.table(columns), tmp_path / "long.parquet")
    found = vargate.load(tmp_path / "long.parquet", "predictions", label="truth")
    assert (found.values == p.astype(np.float64)).all()
    assert found.ids is not None
    assert found.ids[29] == "s29"
    assert found.labels is not None
    assert (found.labels == y).all()
    s, t = vargate.score(tmp_path / "long.parquet", renormalise=True), vargate.score(found.values, renormalise=True)
    assert (s.gmu == t.gmu).all()
    # Lists of lists, as in JSON lines; logits under their name.
    z = rng.normal(size=(30, 3, 4))
    pq.write_table(pa.table({"z": z.tolist(), "label": y}), tmp_path / "lists.parquet")
    found = vargate.load(tmp_path / "lists.parquet", "predictions")
    assert found.logits
    assert (found.values == z).all()
    pq.write_table(pa.table({"cat": [0.5, 0.1], "dog": [0.5, 0.1]}), tmp_path / "free.parquet")
    with pytest.raises(ValueError, match=r"free\.parquet: .*classes='cat,dog'"):
        vargate.load(tmp_path / "free.parquet", "predictions")


def test_other_programs(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([[0.5], None], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"only pickle can read.*allow_pickle=True"):
        vargate.score(tmp_path / "o.npy")
    (tmp_path / "m.pt").write_bytes(b"\x80\x02.")
    with pytest.raises(ValueError, match=r"torch\.load"):
        vargate.score(tmp_path / "m.pt")
