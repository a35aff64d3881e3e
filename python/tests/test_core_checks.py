"""What a new user gets wrong: labels, axes, logits, tables, NumPy's numbers, threads. Each is refused with what to
write, or works."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vargate

RNG = np.random.default_rng(5)
P = RNG.dirichlet(np.ones(4), size=(60, 5))
Z = np.log(P) + 0.3
Y = RNG.integers(0, 4, 60)


# --- labels -----------------------------------------------------------------------------------------------------------


def test_rule_without_pred_has_the_same_accuracy() -> None:
    expected = vargate.score(P, labels=Y, k=(0.1, 0.4, 1)).summary()
    found = vargate.score(P, labels=Y, k=(0.1, 0.4, 1), measures="tu,decision").summary()
    assert expected.rule is not None
    assert any((row["accuracy"] or 0) > 0 for row in expected.rule.values())
    assert found.rule == expected.rule


def test_multilabel_rule_without_pred() -> None:
    u, y = RNG.beta(0.5, 0.5, size=(40, 5, 3)), RNG.integers(0, 2, (40, 3))
    expected = vargate.score(u, labels=y, multilabel=True).summary().rule
    assert vargate.score(u, labels=y, multilabel=True, measures="decision").summary().rule == expected


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (Y + 3, ValueError, "expected 0 to 3"),
        (np.where(np.arange(60) == 7, -1, Y), ValueError, "label 7 is -1, expected 0 to 3"),
        (Y + 0.5, TypeError, "no fractions"),
        ([str(v) for v in Y], TypeError, "expected integers"),
        (np.eye(4)[Y], ValueError, r"argmax\(axis=1\)"),
    ],
)
def test_labels_that_are_not_class_numbers(labels: Any, error: type[Exception], message: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: vargate.score(P, labels=labels),
        lambda: vargate.Scorer().feed(P, labels=labels),
        lambda: vargate.evaluate(vargate.score(P), labels),
        lambda: vargate.calibrate(Z, labels),
        lambda: vargate.select_k(P, labels, target_risk=0.9),
        lambda: vargate.ece(P.mean(axis=1), labels),
    ]
    for call in calls:
        with pytest.raises(error, match=message):
            call()


def test_labels_that_are() -> None:
    whole = vargate.score(P, labels=Y).labels
    for labels in (Y.astype(float), Y.astype(np.uint8), Y.tolist()):
        np.testing.assert_array_equal(vargate.score(P, labels=labels).labels, whole)
    two = RNG.dirichlet(np.ones(2), size=(60, 5))
    assert vargate.evaluate(two, Y > 1).accuracy == vargate.evaluate(two, (Y > 1).astype(int)).accuracy
    assert vargate.ece(two.mean(axis=1), Y > 1) == vargate.ece(two.mean(axis=1), (Y > 1).astype(int))
    with pytest.raises(ValueError, match="expected 0 or 1"):
        vargate.score(P, multilabel=True, labels=np.full((60, 4), 2))


def test_ece_refuses_rows_that_are_no_distributions() -> None:
    for dtype in (np.float32, np.float64):
        for c in (2, 3, 4, 5, 8, 9):
            p = np.full((3, c), 1 / c, dtype)
            assert vargate.ece(p, np.zeros(3, int)) == pytest.approx(abs(1 / c - 1))
            p[1] *= 0.4
            with pytest.raises(ValueError, match=r"sample 1: the probabilities sum to 0\.4"):
                vargate.ece(p, np.zeros(3, int))
    with pytest.raises(ValueError, match="mean over members"):
        vargate.ece(P, Y)


# --- axes -------------------------------------------------------------------------------------------------------------


def test_labels_tell_the_order_of_the_axes() -> None:
    turned = P.transpose(1, 0, 2)
    with pytest.raises(ValueError, match=r"read as 5 samples, 60 members, 4 classes \(axes='NMC'\); pass axes='MNC'"):
        vargate.score(turned, labels=Y)
    with pytest.raises(ValueError, match="pass axes='NMC'"):
        vargate.score(P, labels=Y, axes="MNC")
    with pytest.raises(ValueError, match="pass axes='CMN'"):
        vargate.score(P.transpose(2, 1, 0), labels=Y)
    with pytest.raises(ValueError, match="pass axes='MNC'"):
        vargate.calibrate(Z.transpose(1, 0, 2), Y)
    np.testing.assert_array_equal(vargate.score(turned, labels=Y, axes="MNC").tu, vargate.score(P).tu)


def test_many_more_members_than_samples_must_be_meant() -> None:
    p = np.full((5, 400, 3), 1 / 3)
    with pytest.raises(
        ValueError, match="pass axes='MNC' if these are 5 members and 400 samples, axes='NMC' if they are not"
    ):
        vargate.score(p)
    with pytest.raises(ValueError, match="axes='MNC'"):
        vargate.Scorer().feed(p)
    assert vargate.score(p, axes="NMC").n == 5
    assert vargate.score(p, axes="MNC").n == 400
    assert vargate.score(p, labels=np.zeros(5, int)).m == 400  # labels say so
    scorer = vargate.Scorer()
    scorer.feed(np.full((300, 400, 3), 1 / 3))
    assert scorer.feed(p).n == 5  # the last block of many


@pytest.mark.parametrize("shape", [(1, 100, 3), (20, 100, 3), (200, 256, 3), (1, 255, 3)])
def test_usual_shapes_are_taken(shape: tuple[int, int, int]) -> None:
    assert vargate.score(np.full(shape, 1 / 3)).m == shape[1]


def test_named_dimensions() -> None:
    xarray = pytest.importorskip("xarray")
    p = xarray.DataArray(P.transpose(1, 0, 2), dims=("member", "sample", "class"))
    with pytest.raises(ValueError, match="pass axes='MNC'"):
        vargate.score(p)
    np.testing.assert_array_equal(vargate.score(p, axes="MNC").tu, vargate.score(P).tu)
    assert vargate.score(xarray.DataArray(P, dims=("sample", "member", "class"))).n == 60
    assert vargate.score(xarray.DataArray(P, dims=("a", "b", "c"))).n == 60  # says nothing


def test_named_dimensions_of_images() -> None:
    xarray = pytest.importorskip("xarray")
    images = np.moveaxis(np.broadcast_to(P[:4, :, None, None], (4, *P.shape[1:2], 2, 3, P.shape[2])), -1, 2)
    given = ("image", "ensemble", "channel", "height", "width")
    s = vargate.score(xarray.DataArray(images, dims=given))
    np.testing.assert_array_equal(s.map("tu"), vargate.score(images, axes="NMCHW").map("tu"))
    with pytest.raises(ValueError, match=r"its dims 'pixel' name none of sample \(N\), member \(M\), class \(C\)"):
        vargate.score(xarray.DataArray(images, dims=(*given[:4], "pixel")))


class Named:
    """What xarray's arrays have that matters here."""

    def __init__(self, values: np.ndarray, dims: tuple[str, ...]) -> None:
        self.values, self.dims = values, dims

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


def test_named_dimensions_of_anything() -> None:
    with pytest.raises(
        ValueError, match=r"has dims \('member', 'sample', 'class'\), read as axes='NMC': pass axes='MNC'"
    ):
        vargate.score(Named(P.transpose(1, 0, 2), ("member", "sample", "class")))
    assert vargate.score(Named(P, ("N", "M", "C"))).n == 60
    assert vargate.score(Named(P[:, 0], ("sample", "class"))).m == 1


def test_axes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="p has 2 axes, but axes='MNC' names 3"):
        vargate.score(P[:, 0], axes="MNC")
    with pytest.raises(ValueError, match="p has 3 axes, but axes='NC' names 2"):
        vargate.score(P, axes="NC")
    np.testing.assert_array_equal(vargate.score(P[:, 0], axes="NC").tu, vargate.score(P[:, 0]).tu)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_do_not_say_what_they_hold(package: str) -> None:
    frames = pytest.importorskip(package)
    wide = frames.DataFrame({f"m{i // 4}_c{i % 4}": column for i, column in enumerate(P.reshape(60, 20).T)})
    long = frames.DataFrame({"sample": np.repeat(np.arange(60), 20), "probability": P.reshape(-1)})
    for table in (wide, long):
        with pytest.raises(TypeError, match=r"p is a table.*reshape\(samples, members, classes\)"):
            vargate.score(table)
    one = frames.DataFrame({f"class {i}": column for i, column in enumerate(P[:, 0].T)})
    np.testing.assert_allclose(vargate.score(one, axes="NC").tu, vargate.score(P[:, 0]).tu)


def test_a_wide_array_is_named() -> None:
    for dtype in (np.float32, np.float64):
        with pytest.raises(ValueError, match=r"5 members of 4 classes side by side, pass p\.reshape\(60, 5, 4\)"):
            vargate.score(P.reshape(60, 20).astype(dtype))
    with pytest.raises(ValueError, match="renormalise") as caught:
        vargate.score(P[:, 0] * 0.3)
    assert "side by side" not in str(caught.value)


# --- logits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_probabilities_are_not_logits(dtype: Any) -> None:
    p = P.astype(dtype)
    for call in (lambda: vargate.score(p, logits=True), lambda: vargate.evaluate(p, Y, logits=True)):
        with pytest.raises(ValueError, match="leave out logits=True"):
            call()
    with pytest.raises(ValueError, match="holds probabilities"):
        vargate.Scorer(logits=True).feed(p)
    with pytest.raises(ValueError, match="pass the logits, or the logarithms"):
        vargate.calibrate(p, Y)
    assert vargate.score(np.log(P), logits=True).n == 60
    assert vargate.score(np.zeros((3, 2, 4)), logits=True).n == 3
    assert vargate.score(P, logits=True, multilabel=True).n == 60  # any number is a label's logit


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [np.int64(2), np.float32(2), np.array(2), np.uint8(2), 2])
def test_numpy_numbers(one: Any) -> None:
    expected = vargate.score(P, k=2.0)
    np.testing.assert_array_equal(vargate.score(P, k=one).gtu, expected.gtu)
    np.testing.assert_array_equal(vargate.score(P, k=(one, np.float64(3))).gtu[:, 0], expected.gtu[:, 0])
    np.testing.assert_array_equal(expected.decide(one), expected.decide(2.0))
    np.testing.assert_array_equal(vargate.score(P).decide(one + 0.5), expected.decide(2.5))
    if np.asarray(one).dtype.kind in "iu":
        assert vargate.score(P, threads=one).n == 60
        assert vargate.ece(P.mean(axis=1), Y, bins=one) == vargate.ece(P.mean(axis=1), Y, bins=2)
        found = vargate.evaluate(P, Y, bins=one, bootstrap=one, seed=one, threads=one)
        assert found.ece == vargate.evaluate(P, Y, bins=2).ece
        assert found.bootstrap == 2
        assert vargate.calibrate(Z, Y, bins=one, threads=one).bins == 2
    else:
        with pytest.raises(TypeError, match="threads is"):
            vargate.score(P, threads=one)
    np.testing.assert_array_equal(vargate.score(P, k=np.arange(1, 3)).k, [1, 2])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        # type: ignore[arg-type]
        (TypeError, "k is '12', expected a number or several", lambda: vargate.score(P, k="12")),
        (TypeError, "k is '1', expected numbers", lambda: vargate.score(P, k=("1", "2"))),  # type: ignore[arg-type]
        (TypeError, "k is 'x', expected a number > 0", lambda: vargate.score(P).decide("x")),  # type: ignore[arg-type]
        (
            ValueError,
            "bins is -1, expected a whole number from 1 to 10000",
            lambda: vargate.ece(P.mean(axis=1), Y, bins=-1),
        ),
        (ValueError, "bins is -1, expected", lambda: vargate.evaluate(P, Y, bins=-1)),
        (ValueError, "bins is 0, expected", lambda: vargate.calibrate(Z, Y, bins=0)),
        # type: ignore[arg-type]
        (TypeError, "bins is 1.5, expected a whole number", lambda: vargate.evaluate(P, Y, bins=1.5)),
        (
            ValueError,
            "bootstrap is -1, expected a whole number of 0 or more",
            lambda: vargate.evaluate(P, Y, bootstrap=-1),
        ),
        (ValueError, "bootstrap is -1, expected", lambda: vargate.ood(P, P, bootstrap=-1)),
        (ValueError, "seed is -1, expected", lambda: vargate.evaluate(P, Y, seed=-1)),
        (ValueError, "curve is -1, expected", lambda: vargate.evaluate(P, Y, curve=-1)),
        (
            ValueError,
            "'gtu@7' is not at one of the settings k = 1, 2",
            lambda: vargate.score(P, k=(1, 2), measures="gtu@7"),
        ),
        (ValueError, "unknown 'tu@1'", lambda: vargate.score(P, measures="tu@1")),
    ],
)
def test_numbers_that_are_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()


def test_measures_as_text_everywhere() -> None:
    s = vargate.score(P, measures="tu, eu,gtu@1")
    assert s.keys() == ["tu", "eu", "gtu"]
    np.testing.assert_array_equal(s["gtu@1.0"], s["gtu@1"])
    assert set(vargate.evaluate(P, Y, measures="tu,gtu@1", k=1).measures) == {"tu", "gtu@1"}
    assert set(vargate.ood(P, P, measures="tu,eu").measures) == {"tu", "eu"}
    assert vargate.Scorer(measures="tu,gtu@2").feed(P).keys() == ["tu", "gtu"]


def test_decide_can_be_called() -> None:
    s = vargate.score(P, k=(0.4, 1))
    np.testing.assert_array_equal(vargate.decide(P, 0.4), s.decide(0.4))
    np.testing.assert_array_equal(vargate.decide(s, np.float64(0.4)), s.decide(0.4))
    np.testing.assert_array_equal(vargate.decide(Z, 0.4, logits=True), vargate.score(Z, logits=True).decide(0.4))
    for chosen in (
        vargate.select_k(P, target_coverage=0.5),
        vargate.select_threshold(P, by="gtu@2", target_coverage=0.5),
        vargate.select_threshold(P, by="snr", target_coverage=0.5),
    ):
        np.testing.assert_array_equal(vargate.decide(P, chosen), vargate.score(P).decide(chosen))
    with pytest.raises(TypeError, match="are for arrays"):
        vargate.decide(s, logits=True)


# --- scorers ----------------------------------------------------------------------------------------------------------


def test_four_threads_feed_one_scorer() -> None:
    """Equal blocks: the sums do not depend on which thread comes first."""
    block = np.random.default_rng(1).dirichlet(np.ones(6), size=(400, 8))
    expected = vargate.score(block)
    scorer, found, wrong = vargate.Scorer(threads=2), [], []

    def work() -> None:
        try:
            for _ in range(25):
                s = scorer.feed(block)
                found.append(
                    bool(np.array_equal(s.gtu, expected.gtu) and np.array_equal(s.decision, expected.decision))
                )
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert found == [True] * 100
    alone = vargate.Scorer()
    for _ in range(100):
        alone.feed(block)
    assert scorer.samples == 40_000
    assert scorer.diversity == alone.diversity
    assert scorer.k_sensitivity == alone.k_sensitivity


def feed_until_closed(scorer: vargate.Scorer, block: np.ndarray, said: list[str]) -> None:
    try:
        while True:
            scorer.feed(block)
    except ValueError as error:
        said.append(str(error))


def test_closing_waits_for_a_feed() -> None:
    block = np.random.default_rng(1).dirichlet(np.ones(6), size=(20_000, 8))
    for _ in range(5):
        scorer = vargate.Scorer(threads=1)
        wrong: list[str] = []
        thread = threading.Thread(target=feed_until_closed, args=(scorer, block, wrong))
        thread.start()
        scorer.close()
        thread.join(60)
        assert wrong == ["the scorer is closed"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))], ids=["deepcopy", "pickle"])
def test_copies_of_a_scorer_keep_its_state(copied: Callable[[vargate.Scorer], vargate.Scorer]) -> None:
    scorer = vargate.Scorer(k=(1, 2), logits=True, temperature=[1, 2, 3, 4, 5], measures="tu,gtu@2")
    fresh = copied(scorer)
    scorer.feed(Z[:25])
    other = copied(scorer)
    assert other.samples == 25
    assert (other.diversity, other.mean_gtu) == (scorer.diversity, scorer.mean_gtu)
    np.testing.assert_array_equal(other.feed(Z[25:]).gtu, scorer.feed(Z[25:]).gtu)
    assert (other.samples, other.diversity, other.k_sensitivity) == (60, scorer.diversity, scorer.k_sensitivity)
    fresh.feed(Z)
    assert fresh.diversity == scorer.diversity
    with pytest.raises(ValueError, match="expected 5 and 4"):
        other.feed(Z[:, :3])
    scorer.close()
    with pytest.raises(ValueError, match="closed"):
        copied(scorer).feed(Z)


@pytest.mark.parametrize("cut", [7, 1100])
def test_a_copied_scorer_judges_as_one_that_saw_everything(cut: int) -> None:
    p = RNG.dirichlet(np.full(4, 0.7), size=(3000, 5))  # more samples than the disagreement is counted on
    scorer = vargate.Scorer(measures="tu")
    scorer.feed(p[:cut])
    other = pickle.loads(pickle.dumps(scorer))
    other.feed(p[cut:])
    expected, found = vargate.score(p).verdict(), other.verdict()
    assert (found.text, found.disagreement, found.abstained) == (
        expected.text,
        expected.disagreement,
        expected.abstained,
    )
    assert (found.share, found.class_variance) == (expected.share, expected.class_variance)
