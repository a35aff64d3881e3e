"""`vargate decide --label-risk`: the k of every label against `select_k` of that label alone and the rule in NumPy."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import numpy as np

import vargate


def test_one_k_for_each_label(program: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    truth = rng.uniform(-3, 3, size=(1200, 1, 3))
    p = 1 / (1 + np.exp(-(truth + rng.normal(size=(1200, 7, 3)) * [0.3, 0.8, 1.5])))
    y = (rng.uniform(size=(1200, 3)) < 1 / (1 + np.exp(-1.5 * truth[:, 0]))).astype(int)
    np.savez(tmp_path / "val.npz", P=p[:700], L=y[:700])
    np.savez(tmp_path / "test.npz", P=p[700:], L=y[700:])
    command = [
        program,
        "decide",
        "test.npz",
        "--multilabel",
        "--calibration",
        "val.npz",
        "--label-risk",
        "0.1,0.15,0.2",
    ]
    command += ["--save", "policy.json", "-o", "decisions.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = [label["k"] for label in json.loads(done.stdout)["labels"]]
    for c, risk in enumerate((0.1, 0.15, 0.2)):
        one = vargate.score(np.ascontiguousarray(p[:700, :, [c]]), multilabel=True, axes="NMC")
        other = vargate.score(np.ascontiguousarray(p[700:, :, [c]]), multilabel=True, axes="NMC")
        assert found[c] == vargate.select_k(one, y[:700, [c]], target_risk=risk, to_decide=other).k
    u, sigma = p[700:].mean(1), p[700:].std(1)
    most = np.maximum(u, 1 - u)
    expected = np.where(most - found * sigma > 1 - most + found * sigma, u > 0.5, -1)
    with open(tmp_path / "decisions.csv", newline="") as file:
        rows = [[int(row[f"decision_{c}"]) for c in range(3)] for row in csv.DictReader(file)]
    assert np.array_equal(rows, expected)
    assert np.array_equal(vargate.decide(p[700:], policy=tmp_path / "policy.json"), expected)
