"""Forests read in place: members' probabilities by blocks of samples, never those of all samples at once.

Each tree's node table stays in scikit-learn's memory, and the library descends the trees there. The numbers of the
leaves take no more memory than one of the two arrays that ``forest.predict_proba`` makes for the same samples, so that
reading a forest needs less memory than ``predict_proba``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._options import Preset
from ._samples import concatenate
from .scorer import Scorer
from .scores import Scores

__all__ = ["Forest", "scores_by_blocks"]

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
UInt32 = npt.NDArray[np.uint32]
_FIELDS = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left")
# Leaves are found for many samples at once, 4 bytes each: as much memory as the result of predict_proba, or 1 MB. Their
# distributions are copied out for fewer, 1 MB for each thread, so that the scorer finds them in the cache.
_LEAST_LEAVES = 1 << 18
_VALUES = 1 << 17
_LEAST_ROWS = 16


class Forest:
    """The trees of a fitted forest of one output, as the library reads them."""

    def __init__(self, estimator: Any) -> None:
        trees = [member.tree_ for member in estimator.estimators_]
        self.classes = int(trees[0].max_n_classes)
        self._features = int(estimator.n_features_in_)
        self._trees = (_native.Tree * len(trees))()
        self._kept: list[object] = []  # views of the trees' memory
        for entry, tree in zip(self._trees, trees, strict=True):
            fields = [getattr(tree, name) for name in _FIELDS]
            values = tree.value[:, 0, :]
            entry.left, entry.right, entry.feature, entry.threshold, entry.missing = [a.ctypes.data for a in fields]
            entry.node_stride, entry.nodes = fields[0].strides[0], tree.node_count
            entry.value, entry.value_stride = values.ctypes.data, values.strides[0] // 8
            self._kept.append((fields, values))
        _native.check(_native.lib.vg_trees_check(self._trees, len(trees), self._features))

    @staticmethod
    def reads(estimator: Any) -> bool:
        """Whether the trees of a fitted forest lie as the library expects them: one output, nodes as structs of known
        types."""
        for member in estimator.estimators_:
            tree = getattr(member, "tree_", None)
            if (
                tree is None
                or tree.n_outputs != 1
                or tree.node_count == 0
                or not all(hasattr(tree, name) for name in _FIELDS)
            ):
                return False
            fields = [getattr(tree, name) for name in _FIELDS]
            kinds = [a.dtype for a in fields[:4]] == [np.dtype(np.int64)] * 3 + [np.dtype(np.float64)]
            strides = {a.strides[0] for a in fields}
            values = tree.value
            if not kinds or fields[4].dtype.itemsize != 1 or len(strides) != 1 or values.dtype != np.float64:
                return False
            if values.strides[2] != 8:
                return False
        return True

    def __len__(self) -> int:
        return len(self._trees)

    def _leaves(self, x: Float32, room: UInt32) -> UInt32:
        """The node of each tree at which each sample ends, (M, N), at the beginning of `room`."""
        rows = np.ascontiguousarray(x, np.float32)
        out = room[: len(self) * len(rows)].reshape(len(self), len(rows))
        _native.lib.vg_trees_leaves(
            out.ctypes.data, self._trees, len(self), rows.ctypes.data, len(rows), self._features
        )
        return out

    def _values(self, leaves: UInt32, first: int, room: Float64) -> Float64:
        """The distributions at these leaves (M, N, C), from sample `first` on, as many as `room` holds."""
        m, n = leaves.shape
        count = min(n - first, len(room) // (m * self.classes))
        out = room[: m * count * self.classes].reshape(m, count, self.classes)
        at = leaves.ctypes.data + first * leaves.itemsize
        _native.lib.vg_trees_values(out.ctypes.data, self._trees, m, at, n, count, self.classes)
        return out

    def blocks(self, x: Float32, jobs: int) -> Iterator[Float64]:
        """Predictions (M, N, C) of one block of samples after another, each valid until the next; `jobs` threads walk
        the trees."""
        n, m, jobs = len(x), len(self), max(jobs, 1)
        walked = max(max(2 * n * self.classes, _LEAST_LEAVES) // (m * jobs), _LEAST_ROWS)
        size = max(_VALUES * jobs // (m * self.classes), _LEAST_ROWS)
        pieces = [x[first : first + walked] for first in range(0, n, walked)] or [x]
        ends = [np.empty(m * min(walked, n), np.uint32) for _ in range(min(jobs, len(pieces)))]
        room = np.empty(m * min(size, max(n, 1)) * self.classes)
        with ThreadPoolExecutor(jobs) as pool:
            for first in range(0, len(pieces), jobs):
                some = pieces[first : first + jobs]
                for leaves in pool.map(self._leaves, some, ends) if len(some) > 1 else map(self._leaves, some, ends):
                    yield from (self._values(leaves, at, room) for at in range(0, max(leaves.shape[1], 1), size))


def scores_by_blocks(forest: Forest, x: Float32, k: float, preset: Preset, measures: list[str], jobs: int) -> Scores:
    """`vargate.score` of the members of a forest, to the bit, without holding their predictions."""
    found: list[Scores] = []
    with Scorer(k=k, preset=preset, measures=measures, axes="MNC", threads=jobs) as scorer:
        for p in forest.blocks(x, jobs):
            found.append(scorer.feed(p))
        figures = scorer._figures
    return concatenate(found)._but(figures=figures)
