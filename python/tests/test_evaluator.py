"""`Evaluator`: batches, merging and pickles give what `evaluate` gives for everything at once."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import vargate


@pytest.mark.parametrize("batch", [1, 37, 400, 1000])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bootstrap": 30, "curve": 20, "bins": 7, "coverages": (0.5,), "risks": (0.1, 0.2)},
        {"measures": "tu,gtu@2", "k": (2, 0.5), "preset": "vge"},
        {"temperature": 1.7, "sigma": "sample", "measures": []},
    ],
    ids=["plain", "bootstrap", "vge", "temperature"],
)
def test_batches_give_what_evaluate_gives(logits: Any, batch: int, options: dict[str, Any]) -> None:
    z, y = logits
    if batch == 1:
        z, y = z[:40], y[:40]
    evaluator = vargate.Evaluator(logits=True, **options)
    for i in range(0, len(y), batch):
        evaluator.update(z[i : i + batch], y[i : i + batch])
    assert evaluator.n == len(y)
    expected = vargate.evaluate(z, y, logits=True, **options)
    assert evaluator.compute().to_dict() == expected.to_dict()
    assert evaluator.compute().to_dict() == expected.to_dict()  # nothing is used up
    assert evaluator.scores().diversity == pytest.approx(vargate.score(z, logits=True, **scoring(options)).diversity)


def scoring(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in ("k", "preset", "temperature", "sigma")}


def test_multilabel(multilabel: Any) -> None:
    u, y = multilabel
    evaluator = vargate.Evaluator(multilabel=True)
    evaluator.update(u[:50], y[:50])
    evaluator.update(u[50:], y[50:])
    assert evaluator.compute().to_dict() == vargate.evaluate(u, y, multilabel=True).to_dict()


def test_merge_and_copies(logits: Any) -> None:
    z, y = logits
    parts = []
    for i in range(0, 400, 100):
        part = vargate.Evaluator(logits=True, bootstrap=10)
        part.update(z[i : i + 60], y[i : i + 60])
        part.update(z[i + 60 : i + 100], y[i + 60 : i + 100])
        parts.append(pickle.loads(pickle.dumps(part)))
    whole = copy.deepcopy(parts[0])
    for part in parts[1:]:
        assert whole.merge(part) is whole
    assert whole.compute().to_dict() == vargate.evaluate(z, y, logits=True, bootstrap=10).to_dict()
    assert [part.n for part in parts] == [100] * 4  # untouched
    whole.update(z[:5], y[:5])
    assert whole.n == 405
    assert parts[0].n == 100
    whole.reset()
    with pytest.raises(ValueError, match="call update first"):
        whole.compute()


def test_refusals(logits: Any) -> None:
    z, y = logits
    evaluator = vargate.Evaluator(logits=True)
    evaluator.update(z[:50], y[:50])
    with pytest.raises(ValueError, match="5 members and 4 classes, expected 6 and 4"):
        evaluator.update(z[:50, :5], y[:50])
    with pytest.raises(ValueError, match="labels has shape"):
        evaluator.update(z[:50], y[:49])
    with pytest.raises(ValueError, match="labels are needed"):
        evaluator.update(z[:50], None)
    assert evaluator.n == 50
    with pytest.raises(ValueError, match="different options"):
        evaluator.merge(vargate.Evaluator(logits=True, k=5))
    with pytest.raises(ValueError, match="different options"):
        evaluator.merge(vargate.Evaluator(logits=True, bins=5))
    with pytest.raises(TypeError, match="expected an Evaluator"):
        evaluator.merge(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown 'nope'"):  # at once, not at the first batch
        vargate.Evaluator(measures="nope")
    with pytest.raises(ValueError, match="bins is -1"):
        vargate.Evaluator(bins=-1)
    with pytest.raises(ValueError, match="coverages"):
        vargate.Evaluator(coverages=(2,))
