"""vargate.dask: blocks give one machine's scores to the bit and its figures, on threads, on processes, and when a
process is killed."""

from __future__ import annotations

import doctest
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

import dask
import dask.array as da
from dask.delayed import delayed
from distributed import Client, LocalCluster

import vargate
import vargate.dask as vd

RNG = np.random.default_rng(11)
Y = RNG.integers(0, 4, 1000)
Z = (2 * np.eye(4)[Y][:, None] + 3 * RNG.normal(size=(1000, 6, 4))).astype(np.float32)
CHUNKS = (300, 1, 299, 400)


def same(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    """Figures equal within the tolerance, key by key."""
    if isinstance(a, dict):
        for key, value in a.items():
            if key in b and key != "best":  # measures whose figures differ in rounding alone
                same(value, b[key], tolerance)
    elif isinstance(a, list) and isinstance(b, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other, tolerance)
    elif isinstance(a, float):
        assert a == pytest.approx(b, abs=tolerance, rel=tolerance, nan_ok=True)
    else:
        assert a == b


def without_diversity(figures: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the disagreement of members, which each block takes from its own selection of samples,
    nor on calibrators, which are not fitted to blocks."""
    left_out = ("diversity", "calibrator")
    advice = {about: row for about, row in figures["advice"].items() if about not in left_out}
    return {
        **figures,
        "advice": advice,
        "findings": [row for row in figures["findings"] if row["about"] not in left_out],
    }


def check_all(lazy: vd.DaskScores, whole: vargate.Scores, names: tuple[str, ...] | None = None) -> None:
    found = lazy.compute()
    assert found.keys() == list(names or whole.keys())
    for name in found.keys():
        np.testing.assert_array_equal(found[name], whole[name])
    assert found.diversity == pytest.approx(whole.diversity, abs=1e-12)
    assert found.k_sensitivity == pytest.approx(whole.k_sensitivity, abs=1e-12)
    evaluation = vargate.evaluate(whole, curve=37, measures=names or whole.keys()).to_dict()
    ours = lazy.evaluate(curve=37).compute().to_dict()
    assert len(ours["measures"]["tu"]["curve"]) == 37
    assert set(evaluation) - set(ours) == set()
    assert set(ours) - set(evaluation) == {"diversity", "k_sensitivity", "verdict", "verdict_text", "verdict_figures"}
    judged = whole.verdict()
    assert (ours["verdict"], found.verdict().name) == (judged.name, judged.name)
    for (
        name,
        value,
    ) in judged.figures().items():  # each block selects its own samples, so that this estimate differs
        assert ours["verdict_figures"][name] == pytest.approx(value, abs=0.05 if name == "disagreement" else 1e-12), (
            name
        )
    assert ours["measures"].keys() == found.columns().keys()
    tables = {"ece_adaptive", "ece_classwise", "per_class", "reliability", "best", "errors", "mce_rows"}
    assert tables | ({"f1_micro", "subset_accuracy", "ece_macro"} if whole.multilabel else {"confusion"}) <= set(ours)
    same(without_diversity(ours), without_diversity(evaluation))
    same(without_diversity(evaluation), without_diversity(ours))
    summary, expected = lazy.summary().compute().to_dict(), whole.summary().to_dict()
    for key in ("logits", "verdict", "verdict_text", "verdict_figures"):  # the figures behind them are compared above
        del summary[key], expected[key]
    kept = names or whole.keys()
    for key in {"rule", "ties", "gated_out"} if "decision" not in kept or "flags" not in kept else set():
        expected.pop(key, None)
    expected["measures"] = {name: row for name, row in expected["measures"].items() if name.partition("@")[0] in kept}
    same(expected, summary)
    same(summary, expected)
    for k in (1.0, 0.7):
        np.testing.assert_array_equal(lazy.decide(k).compute(), whole.decide(k))
    chosen = lazy.select_k(target_risk=0.3).compute()
    assert chosen == vargate.select_k(whole, target_risk=0.3, must_meet=False)
    covered = lazy.select_k(target_coverage=0.5).compute()
    assert covered == vargate.select_k(whole, target_coverage=0.5)
    np.testing.assert_array_equal(lazy.decide(covered).compute(), whole.decide(covered))
    later = lazy.select_k(target_coverage=0.5)  # a task among tasks
    np.testing.assert_array_equal(lazy.decide(later).compute(), whole.decide(covered))


def test_blocks_give_one_machines_results() -> None:
    array = da.from_array(Z, chunks=(CHUNKS, (4, 2), (1, 3)))  # cut through members and classes too
    lazy = vd.score(array, labels=Y, logits=True, temperature=[1.5])
    check_all(lazy, vargate.score(Z, labels=Y, logits=True, temperature=1.5))
    assert lazy.gtu.chunks == (CHUNKS, (3,))
    assert lazy.mean.shape == (1000, 4)


@pytest.mark.parametrize(
    "options", [{"preset": "vge"}, {"k": 0.5, "sigma": "sample"}, {"preset": "mljku", "log_base": "2"}]
)
def test_options(options: dict[str, Any]) -> None:
    p = np.exp(Z.astype(np.float64))
    p /= p.sum(axis=2, keepdims=True)
    lazy = vd.score(
        da.from_array(p.transpose(1, 0, 2), chunks=(3, 170, 2)),
        labels=da.from_array(Y, chunks=99),
        axes="MNC",
        **options,
    )
    check_all(lazy, vargate.score(p, labels=Y, **options))


def test_multilabel() -> None:
    u = RNG.beta(0.5, 0.5, size=(200, 5, 3))
    y = (u.mean(axis=1) + 0.2 * RNG.normal(size=(200, 3)) > 0.5).astype(np.int64)
    lazy = vd.score(da.from_array(u, chunks=(77, 5, 3)), labels=y, multilabel=True)
    whole = vargate.score(u, labels=y, multilabel=True)
    np.testing.assert_array_equal(lazy.gtu.compute(), whole.gtu)
    ours, evaluation = lazy.evaluate(curve=10).compute().to_dict(), vargate.evaluate(whole, curve=10).to_dict()
    assert set(evaluation) <= set(ours)
    assert [row["measures"].keys() for row in ours["per_label"]] == [ours["measures"].keys()] * 3
    same(without_diversity(ours), without_diversity(evaluation))
    whole = vargate.score(u, labels=y, multilabel=True)
    for risk in (0.3, 0.45):
        assert lazy.select_k(target_risk=risk).compute() == vargate.select_k(whole, target_risk=risk, must_meet=False)
    half, rest = vargate.score(u[:120], labels=y[:120], multilabel=True), vargate.score(u[120:], multilabel=True)
    first = vd.score(da.from_array(u[:120], chunks=(50, 5, 3)), labels=y[:120], multilabel=True)
    second = vd.score(da.from_array(u[120:], chunks=(33, 5, 3)), multilabel=True)
    placed = first.select_k(target_risk=0.45, to_decide=second).compute()
    assert placed == vargate.select_k(half, target_risk=0.45, to_decide=rest, must_meet=False)
    assert (placed.source, placed.samples) == ("unlabelled", 120)


def test_nothing_runs_before_it_is_asked_for(tmp_path: Path) -> None:
    @delayed
    def load(i: int) -> np.ndarray:
        (tmp_path / f"{i}").touch()
        return Z[100 * i : 100 * i + 100]

    array = da.concatenate([da.from_delayed(load(i), (100, 6, 4), np.float32) for i in range(4)])
    lazy = vd.score(array, labels=Y[:400], logits=True, measures="gmu")
    pending = lazy.gmu, lazy.evaluate(), lazy.select_k(target_risk=0.1)
    assert not list(tmp_path.iterdir())
    assert len(pending[0][:50].compute()) == 50
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
    assert lazy.keys() == lazy.compute().keys() == ["gmu"]
    with pytest.raises(AttributeError, match="was not computed"):
        _ = lazy.tu


def test_sizes_that_are_not_known() -> None:
    array, labels = da.from_array(Z, chunks=(CHUNKS, 6, 4)), da.from_array(Y, chunks=(CHUNKS,))
    keep = labels != 2
    lazy = vd.score(array[keep], labels=labels[keep], logits=True)
    whole = vargate.score(Z[Y != 2], labels=Y[Y != 2], logits=True)
    np.testing.assert_array_equal(lazy.eu.compute(), whole.eu)
    some = ["gmu", "gtu@2"]
    expected = vargate.evaluate(whole, measures=some).to_dict()
    same(without_diversity(lazy.evaluate(some).compute().to_dict()), without_diversity(expected))
    assert "? samples" in repr(lazy)
    with pytest.raises(ValueError, match="sizes are unknown"):
        vd.score(array[keep], labels=Y, logits=True)


def test_empty_blocks_and_one_class_of_error() -> None:
    array = da.from_array(Z[:10], chunks=((0, 4, 0, 6), 6, 4))
    lazy = vd.score(array, labels=Z[:10].mean(axis=1).argmax(axis=1), logits=True)
    figures = lazy.evaluate(["gmu"]).compute()
    whole = vargate.evaluate(Z[:10], Z[:10].mean(axis=1).argmax(axis=1), logits=True, measures="gmu")
    same(without_diversity(figures.to_dict()), without_diversity(whole.to_dict()))


def test_shards(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", Z[:600])
    np.save(tmp_path / "b.npy", Z[600:])
    shards = [da.from_array(np.load(tmp_path / name, mmap_mode="r"), chunks=(250, 6, 4)) for name in ("a.npy", "b.npy")]
    lazy = vd.score(da.concatenate(shards), logits=True, k=(1, 2))
    paths = lazy.to_shards(tmp_path / "out")
    assert [Path(path).name for path in paths] == [f"scores-{i:05d}.npz" for i in range(5)]
    whole = vargate.score(Z, logits=True, k=(1, 2))
    for name in ("gmu", "gtu", "decision"):
        np.testing.assert_array_equal(np.concatenate([np.load(path)[name] for path in paths]), whole[name])


def test_from_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    stored = zarr.open(str(tmp_path / "z.zarr"), mode="w", shape=Z.shape, chunks=(128, 6, 4), dtype="f4")
    stored[:] = Z
    lazy = vd.score(da.from_zarr(str(tmp_path / "z.zarr")), labels=Y, logits=True, measures=["gmu", "tu", "gtu"])
    check_all(lazy, vargate.score(Z, labels=Y, logits=True), ("tu", "gmu", "gtu"))


def test_from_parquet(tmp_path: Path) -> None:
    pd, _, dd = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "dask.dataframe"))
    columns = [f"{m}_{c}" for m in range(6) for c in range(4)]
    frame = pd.DataFrame(Z.reshape(1000, 24), columns=columns).assign(label=Y)
    for i in range(4):
        frame[250 * i : 250 * i + 250].to_parquet(tmp_path / f"part.{i}.parquet")
    # One array for both: columns read apart may be cut into other blocks.
    rows = dd.read_parquet(tmp_path).to_dask_array()
    shape = ((np.nan,) * rows.numblocks[0], 6, 4)
    array = rows[:, :24].map_blocks(
        lambda block: block.astype(np.float32).reshape(-1, 6, 4), chunks=shape, new_axis=2, dtype="f4"
    )
    lazy = vd.score(array, labels=rows[:, 24], logits=True, measures="gmu")
    np.testing.assert_array_equal(lazy.gmu.compute(), vargate.score(Z, logits=True).gmu)
    same(lazy.evaluate().compute().to_dict()["measures"], vargate.evaluate(Z, Y, logits=True).to_dict()["measures"])


def test_errors_name_the_block() -> None:
    p = np.full((100, 2, 3), 1 / 3)
    p[71, 1] = [0.5, 0.1, 0.1]
    lazy = vd.score(da.from_array(p, chunks=(25, 2, 3)))
    with pytest.raises(ValueError, match=r"block 2, from sample 50 on: .*21"):
        lazy.tu.compute()
    with pytest.raises(TypeError, match="expected a Dask array"):
        vd.score(p)
    with pytest.raises(ValueError, match="preset"):
        vd.score(da.from_array(p), preset="none")
    with pytest.raises(TypeError, match="colour"):
        vd.score(da.from_array(p), colour=1)
    with pytest.raises(ValueError, match="labels"):
        vd.score(da.from_array(p), labels=np.zeros(99, int))
    with pytest.raises(ValueError, match="labels are needed"):
        vd.score(da.from_array(p)).select_k(target_risk=0.1)
    with pytest.raises(ValueError, match="was not computed"):
        vd.score(da.from_array(p), labels=np.zeros(100, int), measures="gmu").evaluate(["tu"])


def test_a_worker_killed_midway_loses_nothing(tmp_path: Path) -> None:
    def load(i: int, folder: str) -> np.ndarray:
        with open(f"{folder}/{i}-{time.monotonic_ns()}", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(0.05)
        rng = np.random.default_rng(i)
        return rng.normal(size=(50, 6, 4), scale=3).astype(np.float32)

    blocks = 40
    whole = np.concatenate(
        [np.random.default_rng(i).normal(size=(50, 6, 4), scale=3).astype(np.float32) for i in range(blocks)]
    )
    labels = RNG.integers(0, 4, len(whole))
    loads = [delayed(load)(i, str(tmp_path)) for i in range(blocks)]
    array = da.concatenate([da.from_delayed(block, (50, 6, 4), np.float32) for block in loads])
    lazy = vd.score(array, labels=labels, logits=True)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.comm.timeouts.connect": "20s"}),
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = {int(pid) for pid in client.run(os.getpid).values()}
        assert len(workers) == 3
        assert os.getpid() not in workers
        kept = lazy.persist()
        pending = client.compute(
            [kept.compute_later(), kept.evaluate(["gmu", "tu"]), kept.select_k(target_coverage=0.6)]
        )
        limit = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < blocks // 3 and time.monotonic() < limit:
            time.sleep(0.01)
        victim = next(iter(workers))
        os.kill(victim, signal.SIGKILL)
        scores, figures, chosen = client.gather(pending)
    one = vargate.score(whole, labels=labels, logits=True)
    for name in one.keys():
        np.testing.assert_array_equal(scores[name], one[name])
    same(without_diversity(figures.to_dict()), without_diversity(vargate.evaluate(one, measures="gmu,tu").to_dict()))
    assert chosen == vargate.select_k(one, target_coverage=0.6)
    seen = [path.read_text() for path in tmp_path.iterdir()]
    assert len(seen) > blocks  # what the killed worker had was done again
    assert str(victim) in seen


def test_examples_in_the_documentation() -> None:
    assert doctest.testmod(vd).failed == 0


def test_no_worker_holds_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranked in parts, the largest piece of any column is a small share of it, ties and order of blocks or not."""
    largest: list[int] = []
    walk = vargate._ranges.walk  # type: ignore[attr-defined]

    def watched(part: Any, *rest: Any) -> Any:
        largest.append(max(len(column.values) for column in part.values()))
        return walk(part, *rest)

    monkeypatch.setattr("vargate._ranges.walk", watched)
    order = np.argsort(vargate.score(Z, logits=True).gmu)  # blocks that overlap in nothing
    for rows in (np.arange(1000), order):
        largest.clear()
        array = da.from_array(Z[rows], chunks=(100, -1, -1))
        lazy = vd.score(array, labels=Y[rows], logits=True, measures="gmu,tu,snr")
        with dask.config.set(scheduler="synchronous"):
            found = lazy.evaluate().compute()
        whole = vargate.evaluate(vargate.score(Z[rows], labels=Y[rows], logits=True), measures="gmu,tu,snr")
        assert len(largest) == 10
        assert max(largest) < 200
        same({name: row.to_dict() for name, row in found.measures.items()}, whole.to_dict()["measures"])
        assert found.ece_adaptive == pytest.approx(whole.ece_adaptive, abs=1e-12)


def test_one_value_and_empty_blocks() -> None:
    p = np.full((40, 3, 2), 0.5)
    y = np.arange(40) % 2
    array = da.from_array(p, chunks=((10, 0, 30), -1, -1))
    found = vd.score(array, labels=y).evaluate().compute()
    whole = vargate.evaluate(p, y)
    same({name: row.to_dict() for name, row in found.measures.items()}, whole.to_dict()["measures"])
    assert found.classes is None
    named = vd.score(array, labels=y, classes=["no", "yes"])
    assert named.evaluate(measures="gtu@1").compute().classes == ("no", "yes")
    assert named.summary().compute().measures["tu"]["median"] == pytest.approx(np.log(2))


def test_labels_by_name_and_classes_that_stay() -> None:
    names = ["a", "b", "c", "d"]
    lazy = vd.score(da.from_array(Z, chunks=(300, -1, -1)), labels=np.array(names)[Y], logits=True, classes=names)
    assert lazy.evaluate(measures=[]).compute().accuracy == vargate.evaluate(Z, Y, logits=True).accuracy
    assert lazy.compute().classes == tuple(names)
    with pytest.raises(TypeError, match="expected the name of an array"):
        lazy[:10]  # type: ignore[index]


def spans(figures: dict[str, Any], path: str = "") -> dict[str, tuple[float, float]]:
    """Every interval by the place of its figure."""
    out: dict[str, tuple[float, float]] = {}
    for key, value in figures.items():
        if key == "intervals":
            flat = {name: ends for name, ends in value.items() if isinstance(ends, list)}
            for more in ("risk_at_coverage", "coverage_at_risk"):
                flat |= {f"{more} {at}": ends for at, ends in value.get(more, {}).items()}
            out |= {f"{path}{name}": (low, high) for name, (low, high) in flat.items()}
        elif isinstance(value, dict):
            out |= spans(value, f"{path}{key}.")
        elif isinstance(value, list):
            for i, row in enumerate(value):
                out |= spans(row, f"{path}{key}[{i}].") if isinstance(row, dict) else {}
    return out


@pytest.mark.parametrize("multilabel", [False, True])
def test_intervals_are_those_of_one_machine_but_for_the_draws(multilabel: bool) -> None:
    options: dict[str, Any] = {"multilabel": True} if multilabel else {"logits": True}
    if multilabel:
        p = RNG.beta(0.5, 0.5, size=(400, 5, 3))
        y = (p.mean(axis=1) + 0.3 * RNG.normal(size=(400, 3)) > 0.5).astype(np.int64)
    else:
        p, y = Z, Y
    names, how = ["tu", "gmu", "snr", "gtu@2"], {"bootstrap": 200, "confidence": 0.9, "risks": (0.3, 0.5)}
    array = da.from_array(p, chunks=(170, -1, -1))
    lazy = vd.score(array, labels=y, measures="all", **options).evaluate(names, seed=3, **how)
    found = lazy.compute()
    whole = vargate.evaluate(p, y, measures=names, seed=4, **how, **options)
    ours, expected = spans(found.to_dict()), spans(whole.to_dict())
    assert set(expected) == set(ours)
    lead, other_lead = found.lead, whole.lead
    assert lead is not None
    assert other_lead is not None
    assert (lead.leader, lead.rival) == (other_lead.leader, other_lead.rival)
    assert lead.difference == pytest.approx(other_lead.difference, abs=1e-12)
    width = other_lead.interval[1] - other_lead.interval[0]
    np.testing.assert_allclose(lead.interval, other_lead.interval, atol=0.25 * width)
    assert lead.p_value == pytest.approx(other_lead.p_value, abs=0.05)
    assert (found.bootstrap, found.confidence, found.seed) == (200, 0.9, 3)
    for name, (low, high) in ours.items():
        other = expected[name]
        width = other[1] - other[0]
        if name == "ece" or "per_class" in name or ("coverage_at_risk" in name and not multilabel):
            assert (low, high) == pytest.approx(other, abs=1e-12), name  # which draw nothing
        elif "coverage_at_risk" not in name:  # multilabel: wider, rows of a sample count as one
            assert abs(low - other[0]) < 0.25 * width, (name, low, high, other)
            assert abs(high - other[1]) < 0.25 * width, (name, low, high, other)


def test_weights_are_poisson_and_belong_to_samples() -> None:
    from vargate import _resample

    numbers = np.concatenate([_resample.sample_numbers(block, 50_000, 1) for block in (0, 1, 7)])
    drawn = np.array([_resample.weights(numbers, 5, r) for r in range(4)])
    for often, share in enumerate((0.36788, 0.36788, 0.18394, 0.06131)):
        assert abs(float((drawn == often).mean()) - share) < 0.003
    assert drawn.mean() == pytest.approx(1, abs=0.01)
    assert drawn.var() == pytest.approx(1, abs=0.02)
    assert abs(float(np.corrcoef(drawn)[np.triu_indices(4, 1)].max())) < 0.01
    wide = _resample.sample_numbers(3, 10, 4)
    np.testing.assert_array_equal(wide.reshape(10, 4), np.repeat(wide[::4, None], 4, axis=1))


def test_a_whole_set_is_an_evaluation() -> None:
    names = ["a", "b", "c", "d"]
    array = da.from_array(Z, chunks=(300, -1, -1))
    found = vd.score(array, labels=Y, logits=True, classes=names).evaluate(coverages=[0.5]).compute()
    assert isinstance(found, vargate.Evaluation)
    assert "svg" in found._repr_html_()
    assert len(repr(found)) < 200
    assert list(found.to_pandas("confusion").columns) == names
    assert list(found.measures["tu"].risk_at_coverage) == ["0.5"]
    assert {finding.about for finding in found.findings} == {"diversity", "calibration", "measure", "k", "abstaining"}
    bare = vd.score(array, logits=True).evaluate().compute()
    assert (bare.measures, bare.rule, bare.verdict.name) == ({}, {}, found.verdict.name)
    assert np.isnan(bare.accuracy)
    with pytest.raises(ValueError, match=r"bootstrap is -1, expected a whole number of 0 or more"):
        vd.score(array, labels=Y, logits=True).evaluate(bootstrap=-1)
