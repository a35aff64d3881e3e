"""`Policy`: what ``vargate decide --save`` chose on validation data, applied to predictions or their scores."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._options import DecisionOptions

if TYPE_CHECKING:
    from .scores import Scores

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy:
    """A saved way to decide. `vargate.decide` and `Scores.decide` take it, or the file's name, as ``policy=``.

    Attributes
    ----------
    by, threshold : str, float
        ``"k"`` and k of the decision rule; or a measure, and the value below which (``snr``: above which) samples are
        kept.
    members, classes : int
        The ensemble that it was chosen for; others are refused.
    class_names : tuple of str, or None
    temperature : tuple of float, or None
        Logits are divided by it, one number or one per member.
    class_k : tuple of float, or None
        A k for every class, of which `threshold` of the rule is a multiple.
    conventions : dict
        The switches of the measures it was chosen under.
    sentence : str
        What is kept, and what was promised.
    """

    by: str
    threshold: float
    members: int
    classes: int
    class_names: tuple[str, ...] | None
    temperature: tuple[float, ...] | None
    conventions: dict[str, Any]
    sentence: str
    class_k: tuple[float, ...] | None = None

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Policy:
        """Reads what ``vargate decide --save FILE`` wrote (docs/schema/policy.schema.json)."""
        path = Path(file)
        text = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(text, dict) or text.get("command") != "policy":
            raise ValueError(f"{path}: not a policy; 'vargate decide --save' writes one")
        if text.get("schema") != "vargate/1":
            raise ValueError(f"{path}: a policy of schema {text.get('schema')}; this vargate reads vargate/1")
        try:
            by = str(text["by"])
            return cls(
                by=by,
                threshold=float(text["k" if by == "k" else "threshold"]),
                members=int(text["members"]),
                classes=int(text["classes"]),
                class_names=tuple(text["class_names"]) if "class_names" in text else None,
                temperature=tuple(float(t) for t in text["temperature"]) if "temperature" in text else None,
                conventions=dict(text["conventions"]),
                sentence=str(text.get("sentence", "")),
                class_k=tuple(float(k) for k in text["class_k"]) if "class_k" in text else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: not a whole policy: {error}") from None

    def options(self) -> DecisionOptions:
        """The options of `vargate.score` that measure as the choice did."""
        c = self.conventions
        out: DecisionOptions = {
            "preset": "vge" if c["gate_eps"] == "inside" else "mljku" if c["floor_form"] == "add" else "paper",
            "pairs": c["pairs"],
            "log_base": "2" if c["log_base"] == "2" else "e",
            "normalise": c["normalise"],
            "renormalise": c["renormalise"],
            "floor": c["floor"],
            "eps": c["eps"],
            "multilabel": c["task"] != "multiclass",
            "multilabel_form": "literal" if c["task"] == "multilabel-literal" else "continuous",
        }
        if c["sigma_gate"] == c["sigma_margin"]:
            out["sigma"] = c["sigma_gate"]
        if self.temperature is not None:
            out["temperature"] = self.temperature[0] if len(self.temperature) == 1 else self.temperature
        if self.class_k is not None:
            out["class_k"] = self.class_k
        return out

    def check(self, scores: Scores) -> None:
        """Refuses scores of another ensemble."""
        if (scores.m, scores.c) != (self.members, self.classes):
            raise ValueError(
                f"{scores.m} members and {scores.c} classes, the policy is for {self.members} and {self.classes}: "
                "what is chosen on one ensemble promises nothing about another"
            )


def as_policy(policy: Policy | str | os.PathLike[str]) -> Policy:
    """A policy as it is given: itself, or the name of its file."""
    return policy if isinstance(policy, Policy) else Policy.load(policy)
