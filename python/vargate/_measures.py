"""The library's table of measures and fields: names, meanings, groups, and where each result lies in ``vg_scores``."""

from __future__ import annotations

from ctypes import byref, c_uint32, c_void_p
from dataclasses import dataclass

from . import _native

__all__ = ["FILE_ORDER", "GATED", "GROUPS", "MEASURES", "OF_LOGITS", "PLAIN", "MeasureInfo", "is_certainty", "measures"]


@dataclass(frozen=True)
class MeasureInfo:
    """One measure of uncertainty, as the library describes it.

    Attributes
    ----------
    name : str
        In arrays, options and files: ``"gtu"``.
    symbol : str
        In text and plots: ``"GTU"``.
    meaning : str
        One line.
    gated : bool
        One value for each gate setting k.
    certainty : bool
        Larger values are more certain, not less.
    """

    name: str
    symbol: str
    meaning: str
    gated: bool
    certainty: bool

    def __str__(self) -> str:
        return f"{self.symbol}: {self.meaning}"


def _table() -> dict[str, tuple[MeasureInfo, int]]:
    """Every measure by name with the index of its pointer in ``vg_scores``."""
    out: dict[str, tuple[MeasureInfo, int]] = {}
    while found := _native.lib.vg_measure_info_at(len(out)):
        row = found.contents
        texts = [text.decode() for text in (row.name, row.symbol, row.meaning)]
        out[texts[0]] = MeasureInfo(texts[0], texts[1], texts[2], bool(row.gated), bool(row.certainty)), row.offset // 8
    return out


def _words() -> list[str]:
    """What the library's list of fields takes: names of fields, then of groups, of which ``all`` is the first."""
    found: list[str] = []
    while (word := _native.lib.vg_fields_word(len(found))) is not None:
        found.append(word.decode())
    return found


def _members(group: str, fields: list[str]) -> tuple[str, ...]:
    chosen = c_uint32()
    _native.check(_native.lib.vg_fields_parse(byref(chosen), group.encode()))
    return tuple(name for i, name in enumerate(fields) if chosen.value >> i & 1)


_TABLE = _table()
MEASURES: dict[str, MeasureInfo] = {name: info for name, (info, _) in _TABLE.items()}
PLAIN = [name for name, info in MEASURES.items() if not info.gated]
GATED = [name for name, info in MEASURES.items() if info.gated]
_WORDS = _words()
# The order of the fields in files: measures, gated ones after the others, and the rest.
FILE_ORDER = _WORDS[: _WORDS.index("all")]
GROUPS: dict[str, tuple[str, ...]] = {group: _members(group, FILE_ORDER) for group in _WORDS[len(FILE_ORDER) :]}

# Fields in neither group: baselines that only logits have.
OF_LOGITS = tuple(name for name in PLAIN if name not in (*GROUPS["all"], *GROUPS["baselines"]))

# Element and shape of each field: "" one value per sample (or label), "k" one for each gate setting besides, "c" one
# per class; then the index in ``vg_scores`` of those that are not measures.
_OTHERS = {"pred": ("i4", ""), "second": ("i4", ""), "decision": ("i4", "k"), "mean": ("f8", "c"), "std": ("f8", "c")}
_OTHERS["flags"] = ("u4", "")
SCORE_FIELDS: dict[str, tuple[str, str]] = {
    name: _OTHERS.get(name) or ("f8", "k" if MEASURES[name].gated else "") for name in FILE_ORDER
}
SCORE_INDEX = {name: index for name, (_, index) in _TABLE.items()} | {name: 14 + i for i, name in enumerate(_OTHERS)}
ScorePlaces = c_void_p * (1 + max(SCORE_INDEX.values()))


def is_certainty(name: str) -> bool:
    """Whether larger values of a column (``"snr"``, ``"gtu@1"``, multilabel ``"snr_min"``) are more certain."""
    stem = name.partition("@")[0]
    info = MEASURES.get(stem) or MEASURES.get(stem.rpartition("_")[0])
    return info is not None and info.certainty


def measures() -> list[MeasureInfo]:
    """Every measure, with its name, its symbol and one line of what it means, in the order of files.

    Examples
    --------
    >>> import vargate
    >>> print(vargate.measures()[0])
    TU: total uncertainty: entropy of the mean distribution
    >>> [m.name for m in vargate.measures() if m.certainty][0]
    'snr'
    """
    return list(MEASURES.values())
