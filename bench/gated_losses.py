#!/usr/bin/env python3
"""What the gated loss does to a last-layer ensemble: a table of means over seeds, with 95 % intervals.

    python3 bench/gated_losses.py --recipe quickstart --set network=cnn-32-256 --set rate=1e-3 --out runs/losses

For each number of heads, loss and seed it trains a network and evaluates its test set and an out-of-distribution set
with the program `vargate`; existing runs are not trained again. A network with the gated loss predicts by its
gated members (Q), the others by their members.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path
from typing import Any

# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
FIGURES = {
    "accuracy": 4,
    "ECE": 4,
    "NLL": 3,
    "error AUROC, TU": 3,
    "OOD AUROC, TU": 3,
    "FPR95, TU": 3,
    "OOD AUROC, AU": 3,
    "OOD AUROC, EU": 3,
}


def call(program: str, *arguments: str | Path) -> str:
    done = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


def measure(o: argparse.Namespace, heads: int, loss: str, seed: int) -> dict[str, float]:
    run = o.out / f"lle{heads}-{loss}-{seed}"
    threads = ["--threads", str(o.threads)]
    if not (run / "done").exists():
        settings = [*o.set, f"heads={heads}", f"loss={loss}", f"seed={seed}"]
        sets = [word for one in settings for word in ("--set", one)]
        call(o.program, "train", o.recipe, *sets, "--out", run, "--resume", "-q", *threads)
        call(o.program, "predict", run, "--logits", "-o", run / "test.npz", "--force", "-q", *threads)
        call(o.program, "predict", run, "--input", o.ood, "--logits", "-o", run / "ood.npz", "--force", "-q", *threads)
        (run / "done").touch()
    key = ["--key", "Q" if loss == "gated" else "Z", "--json", *threads]
    test: dict[str, Any] = json.loads(call(o.program, "evaluate", run / "test.npz", *key))
    other: dict[str, Any] = json.loads(call(o.program, "ood", run / "test.npz", run / "ood.npz", *key))
    ood = next(iter(other["ood"].values()))["measures"]
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    return {
        "accuracy": test["accuracy"],
        "ECE": test["ece"],
        "NLL": test["nll"],
        "error AUROC, TU": test["measures"]["tu"]["error_auroc"],
        "OOD AUROC, TU": ood["tu"]["auroc"],
        "FPR95, TU": ood["tu"]["fpr95"],
        "OOD AUROC, AU": ood["au"]["auroc"],
        "OOD AUROC, EU": ood["eu"]["auroc"],
        "D": last["diversity"],
        "least k": min(last.get("k", [math.nan])),
        "largest k": max(last.get("k", [math.nan])),
    }


def interval(values: list[float], digits: int) -> str:
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    half = STUDENT[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="vargate")
    parser.add_argument("--recipe", default="quickstart")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--ood", default="digits-ood")
    parser.add_argument("--heads", type=int, nargs="+", default=[5, 100])
    parser.add_argument("--losses", nargs="+", default=["mean", "mixture", "gated"])
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 11), metavar="1..10")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/losses"))
    o = parser.parse_args()
    print("| heads, loss |", " | ".join([*FIGURES, "D"]), "|")
    print("| --- |", " | ".join(["---"] * (len(FIGURES) + 1)), "|")
    for heads in o.heads:
        for loss in o.losses:
            rows = [measure(o, heads, loss, seed) for seed in range(1, o.seeds + 1)]
            cells = [interval([row[name] for row in rows], digits) for name, digits in FIGURES.items()]
            cells.append(f"{statistics.mean(row['D'] for row in rows):.1e}")
            print(f"| {heads}, {loss} |", " | ".join(cells), "|", flush=True)
            if loss == "gated":
                print(
                    f"k: {min(r['least k'] for r in rows):.3f} to {max(r['largest k'] for r in rows):.3f}", flush=True
                )


if __name__ == "__main__":
    main()
