"""Plots and notebook views: the points drawn are the figures, whatever the number of samples, and text is escaped."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vargate
from vargate import _curves, plots
from vargate.page import ReportPage

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402


@pytest.fixture(autouse=True)
def no_figures_left() -> Any:
    yield
    plt.close("all")


@pytest.fixture
def s(logits: Any) -> vargate.Scores:
    return vargate.score(logits[0], logits=True, labels=logits[1])


@pytest.fixture
def other() -> vargate.Scores:
    rng = np.random.default_rng(9)
    return vargate.score((0.5 * rng.normal(size=(300, 6, 4))).astype(np.float32), logits=True)


def line(ax: Any, start: str) -> Any:
    """The line whose legend entry begins so."""
    return next(item for item in ax.lines if str(item.get_label()).startswith(start))


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_reliability_shows_the_bins(s: vargate.Scores) -> None:
    e = vargate.evaluate(s)
    ax = plots.reliability(e)
    bins = [b for b in e.reliability if b.count]
    drawn = line(ax, "accuracy")
    np.testing.assert_allclose(drawn.get_xdata(), [b.confidence for b in bins])
    np.testing.assert_allclose(drawn.get_ydata(), [b.accuracy for b in bins])
    assert f"ECE {e.ece:.3f}" in drawn.get_label()
    (strip,) = ax.child_axes
    assert [patch.get_height() for patch in strip.patches] == [b.count for b in e.reliability]
    same = plots.reliability(s, counts=False)
    np.testing.assert_allclose(line(same, "accuracy").get_ydata(), drawn.get_ydata())
    assert not same.child_axes
    again = plots.reliability(s, ax=ax, label="again")  # a second model: another colour, one diagonal
    assert again is ax
    assert sum(item.get_label() == "perfect" for item in ax.lines) == 1
    assert line(ax, "again").get_color() != drawn.get_color()


def test_wilson() -> None:
    stats = pytest.importorskip("scipy.stats")
    right, count = np.array([0.0, 3, 50, 99]), np.array([4.0, 7, 80, 99])
    low, high = _curves.wilson(right, count, 0.9)
    for i in range(4):
        expected = stats.binomtest(int(right[i]), int(count[i])).proportion_ci(0.9, "wilson")
        assert (low[i], high[i]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_risk_coverage(s: vargate.Scores) -> None:
    chosen = vargate.select_k(s, target_risk=0.15, must_meet=False)
    ax = plots.risk_coverage(s, chosen=chosen)
    wrong = (s.pred != s.labels)[np.argsort(s.tu, kind="stable")]
    share = np.arange(1, 257) / 256
    kept = np.ceil(share * s.n).astype(int)
    drawn = line(ax, "TU")
    np.testing.assert_allclose(drawn.get_xdata(), share)
    np.testing.assert_allclose(drawn.get_ydata(), np.cumsum(wrong)[kept - 1] / kept, atol=1e-12)
    said = s.decide(chosen)
    star = line(ax, "chosen k")
    assert star.get_xdata()[0] == pytest.approx((said >= 0).mean())
    assert star.get_ydata()[0] == pytest.approx((said[said >= 0] != s.labels[said >= 0]).mean())
    rule = line(ax, "decision rule")  # passes through the rule's own operating point
    at = np.interp(star.get_xdata()[0], rule.get_xdata(), rule.get_ydata())
    assert at == pytest.approx(star.get_ydata()[0], abs=0.01)
    assert any(str(item.get_label()) == "target risk 0.15" for item in ax.lines)
    e = vargate.evaluate(s, curve=100)
    np.testing.assert_array_equal(line(e.plot("risk_coverage"), "EU").get_ydata(), e.measures["eu"].curve)
    with pytest.raises(ValueError, match="curve=256"):
        vargate.evaluate(s).plot("risk_coverage")
    with pytest.raises(ValueError, match="labels are needed"):
        plots.risk_coverage(vargate.score(np.full((3, 2, 2), 0.5)))
    with pytest.raises(ValueError, match="'nope' was not computed"):
        plots.risk_coverage(s, by=["nope"])


def test_decomposition_adds_up(s: vargate.Scores) -> None:
    ax = plots.decomposition(s, bins=20)
    total = line(ax, "TU").get_ydata()
    expected = [group.mean() for group in np.array_split(np.sort(s.tu)[::-1], 20)]
    np.testing.assert_allclose(total, expected)
    upper = max(path.vertices[:, 1].max() for patch in ax.collections for path in patch.get_paths())
    assert upper == pytest.approx(total.max(), rel=1e-6)
    assert ax.get_ylabel() == "uncertainty (nats)"
    assert "k = 2" in line(plots.decomposition(s, k=2), "GTU").get_label()
    with pytest.raises(ValueError, match="expected one of those scored"):
        plots.decomposition(s, k=7)


def test_units(logits: Any) -> None:
    for options, unit in (({"log_base": 2}, "bits"), ({"normalise": True}, "share of log C"), ({}, "nats")):
        assert _curves.unit(vargate.score(logits[0], logits=True, **options)) == unit  # type: ignore[arg-type]
    assert _curves.unit(vargate.score(logits[0], logits=True, measures="tu")) == ""


def test_ood_plots(s: vargate.Scores, other: vargate.Scores) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    result = vargate.ood(s, other)
    marks, values = np.repeat([0, 1], [s.n, other.n]), np.concatenate([s.eu, other.eu])
    ax = plots.ood_roc(s, other)
    drawn = line(ax, "EU")
    x, y = drawn.get_xdata(), drawn.get_ydata()
    false, true, _ = metrics.roc_curve(marks, values, drop_intermediate=False)
    points = set(zip(false.round(12), true.round(12), strict=True))
    assert {(a, b) for a, b in zip(x.round(12), y.round(12), strict=True)} <= points | {(0.0, 0.0), (1.0, 1.0)}
    assert np.trapezoid(y, x) == pytest.approx(result.measures["eu"].auroc, abs=2e-3)
    assert f"AUROC {result.measures['eu'].auroc:.3f}" in drawn.get_label()
    shown = plots.ood_histogram(s, {"noise": other}, by="tu", log=False)
    heights = [
        patch.get_data().values.sum() for patch in shown.patches if patch.get_label().startswith(("in", "noise"))
    ]
    np.testing.assert_allclose(heights, 1)
    assert len(plots.ood_roc(s, {"a": other, "b": s}).lines) == 1 + 2 * 2 + 1
    certain = line(plots.ood_roc(s, other, by="snr"), "SNR")
    assert f"AUROC {result.measures['snr'].auroc:.3f}" in certain.get_label()
    assert result.plot().get_xlabel().startswith("AUROC, ood")
    with pytest.raises(ValueError, match="was not computed"):
        plots.ood_histogram(s, other, by="nope")


def test_diversity(tmp_path: Path) -> None:
    rows = [{"epoch": i + 1, "diversity": 10.0 ** -(i + 2), "collapsed": i == 2} for i in range(4)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (tmp_path, tmp_path / "metrics.jsonl", rows):
        ax = plots.diversity(source)
        np.testing.assert_allclose(line(ax, "diversity").get_ydata(), [1e-2, 1e-3, 1e-4, 1e-5])
        assert line(ax, "collapse alarm, epoch 3").get_xdata()[0] == 3
        assert ax.get_yscale() == "log"
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1, "diversity": 0.1}\n{"epo')
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 2"):
        plots.diversity(tmp_path)
    with pytest.raises(ValueError, match="no epoch with a diversity"):
        plots.diversity([{"epoch": 1}])


def test_confusion_of_the_abstained(s: vargate.Scores) -> None:
    ax = plots.abstained(s, 1.5, classes=["a", "b", "c", "d"])
    held = s.decide(1.5) < 0
    expected = np.zeros((4, 4), int)
    np.add.at(expected, (s.labels[held], s.pred[held]), 1)
    drawn = np.zeros((4, 4), int)
    for text in ax.texts:
        drawn[int(text.get_position()[1]), int(text.get_position()[0])] = int(text.get_text())
    np.testing.assert_array_equal(drawn, expected)
    assert f"{held.sum()} of 400 abstained" in ax.get_title()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "c", "d"]
    e = vargate.evaluate(s)
    heights = [bar.get_height() for bar in plots.abstained(e, 2).patches]
    assert heights == [*e.rule["2"].abstained_by_label, *e.rule["2"].abstained_by_prediction]  # type: ignore[misc]
    with pytest.raises(ValueError, match="expected 4"):
        plots.abstained(s, classes=["a"])


def test_evaluation_plot(s: vargate.Scores, multilabel: Any) -> None:
    assert len(vargate.evaluate(s, curve=50, bootstrap=20).plot()) == 4
    assert len(vargate.evaluate(s).plot()) == 3
    u, y = multilabel
    assert len(vargate.evaluate(u, y, multilabel=True, curve=50).plot()) >= 3
    ax = plt.figure().add_subplot()
    assert vargate.evaluate(s).plot("ranking", ax=ax) is ax
    with pytest.raises(ValueError, match="kind is 'pie'"):
        vargate.evaluate(s).plot("pie")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kind is needed"):
        vargate.evaluate(s).plot(ax=ax)


def test_axes_are_used(s: vargate.Scores, other: vargate.Scores) -> None:
    figure, ax = plt.subplots()
    e = vargate.evaluate(s)
    for draw in (
        lambda: plots.reliability(s, ax=ax),
        lambda: plots.risk_coverage(s, ax=ax),
        lambda: plots.decomposition(s, ax=ax),
        lambda: plots.ood_histogram(s, other, ax=ax),
        lambda: plots.ood_roc(s, other, ax=ax),
        lambda: plots.diversity([{"diversity": 0.1}], ax=ax),
        lambda: plots.abstained(s, ax=ax),
        lambda: plots.ranking(e, ax=ax),
    ):
        ax.clear()
        assert draw() is ax
        assert ax.get_xlabel()
        assert ax.get_ylabel() or ax.get_yticklabels()
    assert s.plot(ax=ax) == [ax]
    assert plt.get_fignums() == [figure.number]


def contrast(a: Any, b: Any) -> float:
    def light(shade: Any) -> float:
        parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(shade)]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((light(a), light(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_stand_out_from_the_background(s: vargate.Scores, style: str) -> None:
    with plt.style.context(style):
        for ax in (plots.risk_coverage(s), *plots.measures(s), plots.reliability(s)):
            for item in ax.lines:
                assert contrast(item.get_color(), ax.get_facecolor()) > 2.1, item.get_label()


def test_a_million_samples() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.3), size=(250_000, 2)).astype(np.float32)
    p = np.concatenate([p] * 4)
    s = vargate.score(p, labels=rng.integers(0, 4, len(p)), k=1)
    started = time.monotonic()
    for ax in (plots.reliability(s), plots.risk_coverage(s), plots.decomposition(s), plots.ood_roc(s, s)):
        assert all(len(item.get_xdata()) < 600 for item in ax.lines)
        ax.figure.savefig(io.BytesIO(), format="png")
    assert (
        time.monotonic() - started < 20
    )  # four plots on a busy machine; each takes well under a second on an idle one


# --- in notebooks -----------------------------------------------------------------------------------------------------


def pictures(html: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", html, re.S)]


def test_html(s: vargate.Scores, other: vargate.Scores) -> None:
    evil = '<img src=x onerror="alert(1)">'
    results = {
        "Scores": s,
        "Evaluation": vargate.evaluate(s, bootstrap=20),
        "Ood": vargate.ood(s, {evil: other}),
        "Selection": vargate.select_k(s, target_risk=0.2, must_meet=False),
    }
    for kind, result in results.items():
        html = result._repr_html_()  # type: ignore[attr-defined]
        assert f"<strong>vargate.{kind}</strong>" in html
        assert html.count("<tr>") <= 12
        assert len(pictures(html)) == 1
        assert len(html) < 16_000
        assert "<img" not in html
    assert "&lt;img src=x" in results["Ood"]._repr_html_()  # type: ignore[attr-defined]
    assert f"{results['Selection'].kept} of" in results["Selection"]._repr_html_()  # type: ignore[attr-defined]
    vargate.ood(s, {evil: other, "b": other})._repr_html_()
    vargate.score(np.zeros((0, 2, 3)))._repr_html_()
    vargate.select_k(s, target_coverage=0.8)._repr_html_()


def test_html_needs_no_matplotlib() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np, vargate\n"
        "p = np.random.default_rng(0).dirichlet(np.ones(3), size=(50, 4))\n"
        "s = vargate.score(p, labels=p.mean(1).argmax(1))\n"
        "assert '<svg' in s._repr_html_() and '<svg' in vargate.evaluate(s)._repr_html_()\n"
        "try: s.plot()\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "plots need matplotlib: pip install 'vargate-uq[plot]'\n"


def test_report_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.html").write_text('<p title="a&b">5 < 6</p><script>1</script>')
    page = ReportPage(tmp_path, height=300)
    frame = ET.fromstring(page._repr_html_())
    assert frame.tag == "iframe"
    assert frame.attrib["srcdoc"] == '<p title="a&b">5 < 6</p><script>1</script>'
    assert frame.attrib["height"] == "300"
    assert "allow-same-origin" not in frame.attrib["sandbox"]
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)) or True)
    assert page.open()
    assert opened == [(tmp_path / "report.html").as_uri()]
    (tmp_path / "large.html").write_bytes(b" " * (9 << 20))
    assert "srcdoc" not in ReportPage(tmp_path / "large.html")._repr_html_()
    with pytest.raises(FileNotFoundError, match="there is no page"):
        ReportPage(tmp_path / "none.html")
