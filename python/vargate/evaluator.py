"""`Evaluator`: `evaluate` for predictions that come in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import whole
from ._maps import find_map
from ._options import EvaluatorOptions, compared, read_files, show_options, thread_count, words
from ._samples import concatenate
from ._score import score
from .evaluate import DEFAULT_BINS, Evaluation, evaluate, take_figure_options
from .scores import Scores

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Evaluator"]

_NEEDED = ("mean", "std", "pred", "second")


class Evaluator:
    """Fed by batches, gives what `evaluate` gives for all of them together, to the bit.

    Parts may be fed on different machines: an evaluator can be pickled, and `merge` appends what another was fed. What
    is kept of a sample is its mean and spread over members (16 bytes per class) and 8 bytes for each measure; its
    predictions are not kept. Name few `measures` where that is too much.

    Parameters
    ----------
    bins, bootstrap, seed, confidence, coverages, risks, curve, threads
        As in `evaluate`.
    **options
        The options of `score`, ``logits=True``, ``k``, ``measures`` and so on.

    Examples
    --------
    >>> import numpy as np, vargate
    >>> rng = np.random.default_rng(0)
    >>> p, y = rng.dirichlet(np.ones(3), size=(500, 8)), rng.integers(0, 3, 500)
    >>> first, second = vargate.Evaluator(), vargate.Evaluator()
    >>> for batch in range(0, 300, 100):
    ...     first.update(p[batch : batch + 100], y[batch : batch + 100])
    >>> second.update(p[300:], y[300:])
    >>> e = first.merge(second).compute()
    >>> e.to_dict() == vargate.evaluate(p, y).to_dict(), first.n
    (True, 500)
    """

    def __init__(self, **options: Unpack[EvaluatorOptions]) -> None:
        self._scoring: dict[str, Any] = dict(options)
        self._how = take_figure_options(self._scoring)
        self._how["bins"] = whole(self._scoring.pop("bins", DEFAULT_BINS), "bins", 1, 10000)
        self._how["threads"] = self._scoring.pop("threads", None)
        thread_count(self._how["threads"])
        read_files(self._scoring)
        mapped = find_map(self._scoring.get("temperature")) is not None  # what is scored are probabilities then
        self._scoring.setdefault("measures", compared(bool(self._scoring.get("logits", False)) and not mapped))
        named = self._ranked = words(self._scoring.pop("measures"))
        self._measures = [*named, *(name for name in _NEEDED if name not in named)]
        self._blocks: list[Scores] = []
        trial = np.full((1, 1, 2), 2.0 if self._scoring.get("logits") else 0.5)  # refuses wrong options now
        score(trial, **{**self._options(), "temperature": None, "class_k": None, "axes": None})

    def _options(self) -> dict[str, Any]:
        return {**self._scoring, "measures": self._measures, "threads": self._how["threads"]}

    @property
    def n(self) -> int:
        """Samples fed so far."""
        return sum(block.n for block in self._blocks)

    def update(self, p: Any, labels: Any) -> None:
        """Takes the next batch: predictions (N, M, C) as `score` takes them, and their labels. A batch that is refused
        changes nothing."""
        if labels is None:
            raise ValueError("labels are needed: true classes (N,), or 0/1 (N, C) in multilabel mode")
        block = score(p, labels=labels, **self._options())
        self._check(block)
        self._blocks.append(block)

    def _check(self, block: Scores) -> None:
        if self._blocks and (block.m, block.c) != (self._blocks[0].m, self._blocks[0].c):
            first = self._blocks[0]
            raise ValueError(
                f"p has {block.m} members and {block.c} classes, expected {first.m} and {first.c} as before"
            )

    def merge(self, other: Evaluator) -> Evaluator:
        """Appends the rows that `other` was fed to those of this one; `other` stays as it is.

        Returns
        -------
        Evaluator
            This one.
        """
        if not isinstance(other, Evaluator):
            raise TypeError(f"other is a {type(other).__name__}, expected an Evaluator")
        if repr((self._scoring, self._measures, self._how)) != repr((other._scoring, other._measures, other._how)):
            raise ValueError("the evaluators have different options")
        for block in other._blocks[:1]:
            self._check(block)
        self._blocks = [*self._blocks, *other._blocks]
        return self

    def scores(self) -> Scores:
        """The scores of all samples so far, for plots and `select_k`. `diversity` is that of all."""
        if not self._blocks:
            raise ValueError("nothing was fed: call update first")
        if len(self._blocks) > 1:
            self._blocks = [concatenate(self._blocks)]
        return self._blocks[0]

    def compute(self) -> Evaluation:
        """`evaluate` of all samples so far. More may be fed afterwards."""
        return evaluate(self.scores(), measures=self._ranked, **self._how)

    def reset(self) -> None:
        """Forgets everything."""
        self._blocks = []

    def __repr__(self) -> str:
        return f"<vargate.Evaluator: {self.n} samples>"


show_options(Evaluator, evaluate, without=("p", "labels", "extra", "extra_certainty", "ignore"))
