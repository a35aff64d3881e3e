"""`score`, `Scores` and `Scorer`: the command's bits, whatever the array looks like."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vargate
from vargate._measures import FILE_ORDER

RNG = np.random.default_rng(3)


def dirichlet(*shape: int) -> np.ndarray:
    return RNG.dirichlet(np.full(shape[-1], 0.6), size=shape[:-1])


def same(a: vargate.Scores, b: vargate.Scores) -> None:
    assert a.keys() == b.keys()
    for name in a.keys():
        assert a[name].shape == b[name].shape, name
        assert a[name].tobytes() == b[name].tobytes(), name
    assert np.array([a.diversity, a.k_sensitivity]).tobytes() == np.array([b.diversity, b.k_sensitivity]).tobytes()


# --- the command ------------------------------------------------------------------------------------------------------


def saved(program: str, path: Path, *options: str) -> dict[str, np.ndarray]:
    subprocess.run([program, "score", path, "-o", path.with_suffix(".out.npz"), "-q", *options], check=True)
    with np.load(path.with_suffix(".out.npz")) as arrays:
        return dict(arrays)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"k": (0.5, 2)}, ["-k", "0.5,2"]),
    ({"preset": "vge"}, ["--preset", "vge"]),
    ({"preset": "mljku"}, ["--preset", "mljku"]),
    ({"pairs": "distinct", "sigma": "sample"}, ["--pairs", "distinct", "--sigma", "sample"]),
    ({"log_base": 2, "normalise": True}, ["--log-base", "2", "--normalise"]),
    ({"measures": "tu,gtu,margin"}, ["--measures", "tu,gtu,margin"]),
    ({"threads": 1}, ["--threads", "1"]),
]


@pytest.mark.parametrize(("options", "arguments"), CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_same_bits_as_the_command(
    program: str, tmp_path: Path, dtype: str, options: dict[str, Any], arguments: list[str]
) -> None:
    p = dirichlet(60, 7, 5)
    if dtype == "f2":
        p = np.floor(p * 1024) / 1024  # exact in float16
        p[..., 0] += 1 - p.sum(axis=-1)
    p = np.ascontiguousarray(p.astype(dtype))
    path = tmp_path / "p.npz"
    np.savez(path, P=p)
    s = vargate.score(p, **options)
    theirs = saved(program, path, *arguments)
    figures = {"members", "member_variance", "total_variance", "disagreement", "abstained_at_1"}
    assert set(theirs) == {*s.keys(), "k", "diversity", "k_sensitivity", *figures}
    for name in s.keys():
        assert theirs[name].dtype == s[name].dtype
        assert theirs[name].shape == s[name].shape
        assert theirs[name].tobytes() == s[name].tobytes(), name
        assert getattr(s, name) is s[name] or np.shares_memory(getattr(s, name), s[name])
    assert np.array_equal(theirs["k"], s.k)
    assert (
        np.array([theirs["diversity"], theirs["k_sensitivity"]]).tobytes()
        == np.array([s.diversity, s.k_sensitivity]).tobytes()
    )


def test_logits_temperature_and_multilabel(program: str, files: Path, logits: Any, multilabel: Any) -> None:
    z = logits[0]
    for temperature in (1.7, [1, 2, 3, 4, 5, 6]):
        text = ",".join(map(str, np.atleast_1d(temperature)))
        theirs = saved(program, files / "z.npz", "--temperature", text)
        s = vargate.score(z, logits=True, temperature=temperature)
        assert all(theirs[name].tobytes() == s[name].tobytes() for name in s.keys())
    for form in ("continuous", "literal"):
        theirs = saved(program, files / "u.npz", "--multilabel", "--multilabel-form", form)
        s = vargate.score(multilabel[0], multilabel=True, multilabel_form=form)
        assert all(theirs[name].tobytes() == s[name].tobytes() for name in s.keys())
        assert s.gtu.shape == (150, 3, 3)
        assert s.mean.shape == s.tu.shape == (150, 3)


@pytest.mark.parametrize("ending", ["npz", "safetensors", "csv", "jsonl"])
def test_files_are_the_command_s(
    program: str, files: Path, tmp_path: Path, ending: str, logits: Any, multilabel: Any
) -> None:
    for name, options, s in (
        ("z", [], vargate.score(logits[0], logits=True)),
        ("u", ["--multilabel"], vargate.score(multilabel[0], multilabel=True, k=(0.5, 1))),
        ("z", ["--measures", "gmu"], vargate.score(logits[0], logits=True, measures="gmu")),
    ):
        arguments = [*options, "-k", "0.5,1"] if name == "u" else options
        theirs, ours = tmp_path / f"theirs.{ending}", tmp_path / f"ours.{ending}"
        subprocess.run([program, "score", files / f"{name}.npz", "-o", theirs, "-q", *arguments], check=True)
        s.save(ours)
        assert ours.read_bytes() == theirs.read_bytes()


def test_summary_is_the_command_s(command: Callable[..., Any], files: Path, logits: Any, multilabel: Any) -> None:
    def close(a: Any, b: Any) -> None:
        if isinstance(a, dict):
            assert list(a) == list(b)
            for key in a:
                close(a[key], b[key])
        elif isinstance(a, float):
            assert b == pytest.approx(a, rel=1e-13, abs=1e-15)
        else:
            assert a == b

    close(
        command("score", files / "z.npz"), vargate.score(logits[0], labels=logits[1], logits=True).summary().to_dict()
    )
    u, y = multilabel
    close(
        command("score", files / "u.npz", "--multilabel"),
        vargate.score(u, labels=y, multilabel=True).summary().to_dict(),
    )
    close(
        command("score", files / "ood.npz"),
        vargate.score(np.load(files / "ood.npz")["Z"], logits=True).summary().to_dict(),
    )


# --- arrays of every kind ---------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.tuples(st.integers(0, 9), st.integers(1, 7), st.integers(2, 9)),
    st.sampled_from(["f4", "f8", "f2"]),
    st.permutations([0, 1, 2]),
    st.tuples(*[st.sampled_from([1, 2, 3, -1, -2])] * 3),
    st.booleans(),
    st.integers(0, 3),
)
def test_strides_orders_dtypes(
    shape: tuple[int, int, int], dtype: str, order: list[int], steps: tuple[int, int, int], logits: bool, threads: int
) -> None:
    rng = np.random.default_rng(shape)
    z = rng.normal(size=shape).astype(dtype)
    p = z if logits else np.exp(z.astype("f8"))
    p = (p if logits else p / p.sum(axis=2, keepdims=True)).astype(dtype)
    # The same numbers, laid out in another order of axes, with gaps, and perhaps backwards.
    room = np.full([shape[axis] * abs(steps[axis]) + 1 for axis in order], np.nan, dtype)
    view = room.transpose(np.argsort(order))
    view = view[tuple(slice(None, n * abs(s), abs(s)) for n, s in zip(shape, steps, strict=True))]
    view = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)]
    view[...] = p
    options: dict[str, Any] = {"logits": logits, "renormalise": not logits, "threads": threads}
    expected = vargate.score(np.ascontiguousarray(p), logits=logits, renormalise=not logits)
    same(vargate.score(view, **options), expected)
    same(vargate.score(view.transpose(1, 0, 2), axes="MNC", **options), expected)
    same(vargate.score(np.asfortranarray(p), **options), expected)
    swapped = p.astype(p.dtype.newbyteorder())
    if dtype == "f8":
        same(vargate.score(swapped, **options), expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(2, 5), st.lists(st.integers(0, 40), max_size=4))
def test_blocks_make_no_difference(n: int, m: int, c: int, cuts: list[int]) -> None:
    p = np.random.default_rng((n, m, c)).dirichlet(np.ones(c), size=(n, m))
    whole = vargate.score(p)
    scorer = vargate.Scorer()
    parts = [scorer.feed(block) for block in np.split(p, sorted(min(cut, n) for cut in cuts))]
    for name in whole.keys():
        assert np.concatenate([part[name] for part in parts]).tobytes() == whole[name].tobytes()
    assert scorer.samples == n
    assert scorer.diversity == whole.diversity
    scorer.close()
    with pytest.raises(ValueError, match="closed"):
        scorer.feed(p)


def test_one_member_and_empty() -> None:
    p = dirichlet(5, 1, 4)
    same(vargate.score(p[:, 0]), vargate.score(p))
    assert not vargate.score(p).eu.any()
    for shape in ((0, 3, 4), (0, 4)):
        s = vargate.score(np.zeros(shape, "f4"))
        assert s.tu.shape == (0,)
        assert s.gtu.shape == (0, 3)
        assert s.summary().to_dict()["measures"]["tu"] == {"mean": None, "median": None, "p95": None}
        assert "0 samples" in repr(s)


def test_other_types_are_converted() -> None:
    p = np.eye(3, dtype=np.int64)[RNG.integers(0, 3, (10, 4))]
    expected = vargate.score(p.astype("f8"))
    for dtype in ("i1", "u2", "i8", "?", "g"):
        same(vargate.score(p.astype(dtype)), expected)
    same(vargate.score(p.tolist()), expected)
    same(vargate.score(memoryview(p.astype("f8"))), expected)

    class Interface:
        def __init__(self) -> None:
            self.held = p.astype("f8")
            self.__array_interface__ = self.held.__array_interface__

    same(vargate.score(Interface()), expected)


def test_unaligned_fields_of_records() -> None:
    records = np.zeros(6, np.dtype([("id", "u1"), ("p", "f4", (2, 3))]))
    records["p"] = dirichlet(6, 2, 3)
    assert records["p"].strides[0] % 4
    same(vargate.score(records["p"]), vargate.score(records["p"].copy()))


def test_bfloat16_and_dlpack() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    z = RNG.normal(size=(9, 4, 5)).astype(ml_dtypes.bfloat16)
    expected = vargate.score(z.astype("f4"), logits=True)
    same(vargate.score(z, logits=True), expected)

    class Dlpack:
        """An array that says nothing of itself but DLPack, on a device of our choice."""

        def __init__(self, array: np.ndarray, device: int = 1) -> None:
            self.array, self.device = array, device

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.device, 0

        def __dlpack__(self, **_: Any) -> Any:
            return self.array.__dlpack__()

    p = dirichlet(8, 3, 4)
    same(vargate.score(Dlpack(p)), vargate.score(p))
    same(vargate.score(Dlpack(p[::2, ::-1])), vargate.score(p[::2, ::-1]))
    same(vargate.score(Dlpack(p.astype("f4").swapaxes(0, 1)), axes="MNC"), vargate.score(p.astype("f4")))
    same(vargate.score(Dlpack(np.eye(3, dtype="i4")[None])), vargate.score(np.eye(3)[None]))
    with pytest.raises(TypeError, match=r"not in host memory: pass p\.cpu\(\)"):
        vargate.score(Dlpack(p, device=2))


# --- errors -----------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 19), st.integers(0, 4), st.sampled_from([np.nan, np.inf, -0.25, 1.5]), st.integers(1, 3))
def test_bad_rows_are_named(n: int, m: int, value: float, threads: int) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=(20, 5))
    p[n, m, 1] = value
    with pytest.raises(ValueError, match=rf"\b{n}\b.*\b{m}\b"):
        vargate.score(p, threads=threads)


P = dirichlet(4, 3, 2)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "1 axes", lambda: vargate.score(P[0, 0])),
        (ValueError, "4 axes", lambda: vargate.score(P[None])),
        (TypeError, "dtype complex128", lambda: vargate.score(P.astype("c16"))),
        (TypeError, "dtype object", lambda: vargate.score(np.array([[["a"]]], object))),
        (ValueError, "p: ", lambda: vargate.score([[1.0, 2.0], [1.0]])),
        (ValueError, "masked", lambda: vargate.score(np.ma.masked_less(P, 0.5))),
        (ValueError, "axes is 'XYZ'", lambda: vargate.score(P, axes="XYZ")),
        (ValueError, "preset is 'best'", lambda: vargate.score(P, preset="best")),
        (ValueError, "unknown 'tv'", lambda: vargate.score(P, measures="tv")),
        (ValueError, "different numbers", lambda: vargate.score(P, k=(1, 1))),
        (ValueError, "k", lambda: vargate.score(P, k=-1)),
        (TypeError, "k is", lambda: vargate.score(P, k=None)),
        (ValueError, "temperature is for logits", lambda: vargate.score(P, temperature=2)),
        (ValueError, "temperature", lambda: vargate.score(np.log(P), logits=True, temperature=[1, 2])),
        (ValueError, "labels has shape", lambda: vargate.score(P, labels=[0])),
        (TypeError, "labels has dtype", lambda: vargate.score(P, labels=["a"] * 4)),
        (ValueError, "threads is -1", lambda: vargate.score(P, threads=-1)),
        (OSError, "nowhere", lambda: vargate.score(P, logits=True, temperature="/nowhere/temps.json")),
        (OSError, "nowhere", lambda: vargate.score(P).save("/nowhere/x.npz")),
        (OSError, "nowhere", lambda: vargate.score(P).save("/nowhere/x.csv")),
        (ValueError, "must end in", lambda: vargate.score(P).save("x.txt")),
        (ValueError, "k is 0", lambda: vargate.score(P).decide(0)),
        (AttributeError, "epjs was not computed", lambda: vargate.score(P, measures="tu").epjs),
        (KeyError, "gtu@9", lambda: vargate.score(P)["gtu@9"]),
    ],
)
def test_errors(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_scorer_refuses_other_shapes() -> None:
    scorer = vargate.Scorer()
    scorer.feed(P)
    with pytest.raises(ValueError, match="3 members and 3 classes, expected 3 and 2"):
        scorer.feed(dirichlet(2, 3, 3))


# --- what Scores offers -----------------------------------------------------------------------------------------------


def test_decide_at_any_k(logits: Any) -> None:
    ks = (0.25, 0.5, 1.0, 2.0)
    for preset in ("paper", "vge"):
        s = vargate.score(logits[0], logits=True, k=ks, preset=preset)
        other = vargate.score(logits[0], logits=True, k=(7,), preset=preset)
        for i, k in enumerate(ks):
            assert np.array_equal(s.decide(k), s.decision[:, i])
            assert np.array_equal(other.decide(k), s.decision[:, i])


def test_multilabel_decide(multilabel: Any) -> None:
    s, other = (vargate.score(multilabel[0], multilabel=True, k=k) for k in (1.5, 9))
    assert np.array_equal(other.decide(1.5), s.decision[..., 0])


def test_pandas(logits: Any) -> None:
    pytest.importorskip("pandas")
    s = vargate.score(logits[0], logits=True, k=(0.5, 1))
    table = s.to_pandas()
    assert len(table) == 400
    assert list(table)[:8] == FILE_ORDER[:8]
    assert (table["gtu@0.5"] == s["gtu@0.5"]).all()
    assert (table["mean_3"] == s.mean[:, 3]).all()


def test_shown(logits: Any) -> None:
    s = vargate.score(logits[0], logits=True, labels=logits[1])
    assert repr(s).startswith("<vargate.Scores: 400 samples, 6 members, 4 classes, k = 1, 2, 3;")
    html = s._repr_html_()
    assert html.count("<tr>") == 1 + 8 + 1
    assert "k = 2: abstained" in html
    assert "accuracy" in str(s.summary())
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    upper, lower = s.plot(k=2)
    assert lower.get_title() == "gated, k = 2"
    assert max(line.get_ydata().max() for ax in (upper, lower) for line in ax.lines) == 1.0
    assert len(vargate.score(logits[0], logits=True, measures="tu").plot()) == 1


def test_pickles(logits: Any) -> None:
    s = vargate.score(logits[0][:3], logits=True, labels=logits[1][:3])
    same(pickle.loads(pickle.dumps(s)), s)


def test_many_threads_at_once() -> None:
    inputs = [dirichlet(30 + i, 5, 4) for i in range(16)]
    expected = [vargate.score(p) for p in inputs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for a, b in zip(pool.map(vargate.score, inputs), expected, strict=True):
                same(a, b)
    with pytest.raises(ValueError, match="sum"), ThreadPoolExecutor(4) as pool:
        list(pool.map(vargate.score, [*inputs, inputs[0] * 2]))


def test_version_and_tier() -> None:
    assert vargate.__version__.count(".") == 2
    assert vargate.cpu_tier() in ("avx512", "avx2", "neon", "portable")
