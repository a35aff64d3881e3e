#!/usr/bin/env python3
"""Runs two builds of vargate with the same random calls and compares what they do.

    scripts/compare_programs.py OLD NEW [--calls 200] [--seed 1] [--commands score,evaluate,...]

For a change that must not alter results (code that moves, a kernel that is rewritten bit for bit). Every call gets
random prediction files and random options; exit status, standard output, standard error and every file written must
agree to the byte. The first differences are shown and the exit status is 1. Needs NumPy."""

import argparse
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

COMMANDS = ("score", "evaluate", "decide", "ood", "calibrate", "report", "stream")
MEASURES = [
    "tu",
    "au",
    "eu",
    "epce",
    "epkl",
    "epjs",
    "gtu",
    "gau",
    "geu",
    "gepce",
    "gepkl",
    "gepjs",
    "gmu",
    "snr",
    "pred",
    "decision",
]


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def logits(rng: np.random.Generator, n: int, m: int, c: int, labels: np.ndarray) -> np.ndarray:
    """Members that know the label more or less, and differ more or less."""
    common = rng.normal(size=(n, 1, c)) * rng.uniform(0.2, 3)
    common[np.arange(n), 0, labels] += rng.uniform(0, 5)
    return (common + rng.normal(size=(n, m, c)) * rng.choice([1e-4, 0.1, 1])).astype(np.float32)


class Case:
    """Files and arguments of one random call."""

    def __init__(self, command: str, seed: int, folder: pathlib.Path) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.folder, self.command, self.stdin = folder, command, b""
        self.c = self.random.choice([2, 3, 10, 17])
        self.m = self.random.choice([1, 2, 5, 16])
        self.multilabel = command in ("score", "evaluate", "decide", "ood") and self.random.random() < 0.2
        self.arguments = getattr(self, f"make_{command}")()

    def predictions(self, name: str, as_logits: bool | None = None, kind: str | None = None) -> str:
        n = self.random.choice([40, 137, 400])
        labels = self.rng.integers(0, self.c, n)
        z = logits(self.rng, n, self.m, self.c, labels)
        as_logits = self.random.random() < 0.5 if as_logits is None else as_logits
        if self.multilabel:
            truth = (self.rng.random((n, self.c)) < 0.3).astype(np.int64)
            p = 1 / (1 + np.exp(-z - 2 * truth[:, None, :] + 1))
            arrays = {"P": p.astype(np.float32), "L": truth}
        elif as_logits:
            arrays = {"Z": z, "L": labels}
        else:
            arrays = {
                "P": softmax(z.astype(np.float64)).astype(self.random.choice(["float32", "float64"])),
                "L": labels,
            }
        kind = kind or self.random.choice(["npz", "npz", "npy"])
        path = self.folder / f"{name}.{kind}"
        if kind == "npz":
            np.savez(path, **arrays)
        else:
            np.save(path, arrays.get("P", arrays.get("Z")))
            np.save(self.folder / f"{name}-labels.npy", arrays["L"])
            self.extra = ["--labels", f"{name}-labels.npy"] + (["--logits"] if "Z" in arrays else [])
            return path.name
        self.extra = []
        return path.name

    def options(self) -> list[str]:
        out = ["--multilabel"] if self.multilabel else []
        if self.random.random() < 0.6:
            out += [
                "-k",
                ",".join(str(k) for k in self.random.sample([0.1, 0.5, 1, 2, 3, 10], self.random.randint(1, 3))),
            ]
        if self.random.random() < 0.3:
            out += ["--threads", str(self.random.choice([1, 2]))]
        if self.random.random() < 0.15:
            out += ["--preset", self.random.choice(["paper", "vge", "mljku"])]
        return out

    def make_score(self) -> list[str]:
        out = ["score", self.predictions("a"), *self.extra, *self.options()]
        if self.random.random() < 0.4:
            out += ["--measures", ",".join(self.random.sample(MEASURES, self.random.randint(1, 6)))]
        if self.random.random() < 0.6:
            out += ["-o", "out." + self.random.choice(["npz", "csv", "jsonl"])]
        return out + self.random.choice([[], ["--json"]])

    def make_evaluate(self) -> list[str]:
        out = ["evaluate", self.predictions("a"), *self.extra, *self.options(), *self.random.choice([[], ["--json"]])]
        return out + (["--bootstrap", "50"] if self.random.random() < 0.3 else [])

    def make_decide(self) -> list[str]:
        test = self.predictions("a", True, "npz")
        out = ["decide", test, *self.options()]
        how = self.random.random()
        if how < 0.5:
            out += ["--calibration", self.predictions("b", True, "npz")]
            out += self.random.choice([["--target-risk", "0.2"], ["--target-coverage", "0.8"]])
            out = _without(out, "-k")
            out += self.random.choice([[], ["--by", "gmu"], ["--by", "gtu@1"]])
        if self.random.random() < 0.6:
            out += ["-o", "out." + self.random.choice(["npz", "csv", "jsonl"])]
        return out + self.random.choice([[], ["--json"]])

    def make_ood(self) -> list[str]:
        files = [self.predictions(name, True, "npz") for name in ("a", "b", "c")[: self.random.randint(2, 3)]]
        return ["ood", *files, *self.options(), *self.random.choice([[], ["--json"]])]

    def make_calibrate(self) -> list[str]:
        out = [
            "calibrate",
            self.predictions("a", True, "npz"),
            *self.random.choice([[], ["--shared"], ["--per-member"]]),
        ]
        return out + self.random.choice([[], ["-o", "temps.json"]]) + self.random.choice([[], ["--json"]])

    def make_report(self) -> list[str]:
        return ["report", self.predictions("a", True, "npz"), "-o", "page", "--no-figures", *self.options()]

    def make_stream(self) -> list[str]:
        labels = self.rng.integers(0, self.c, 50)
        p = softmax(logits(self.rng, 50, self.m, self.c, labels).astype(np.float64))
        lines = [json.dumps({"p": row.tolist(), "id": i}) for i, row in enumerate(p)]
        self.stdin = ("\n".join(lines) + "\n").encode()
        return ["decide", "--stdin-jsonl", "-k", str(self.random.choice([0.5, 1, 2]))]


def _without(arguments: list[str], option: str) -> list[str]:
    """Takes an option and its value out."""
    if option not in arguments:
        return arguments
    at = arguments.index(option)
    return arguments[:at] + arguments[at + 2 :]


def outcome(program: str, case: Case) -> dict[str, object]:
    """What one build does: in a copy of the case's folder, so that names in messages are the same."""
    with tempfile.TemporaryDirectory() as place:
        work = pathlib.Path(place) / "w"
        shutil.copytree(case.folder, work)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1763319900"}  # pages name the time they were made at
        done = subprocess.run(
            [program, *case.arguments], cwd=work, input=case.stdin, capture_output=True, timeout=300, env=environment
        )
        before = {p.name for p in case.folder.iterdir()}
        files = {
            str(p.relative_to(work)): p.read_bytes()
            for p in sorted(work.rglob("*"))
            if p.is_file() and p.name not in before
        }
        return {"exit status": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "files": files}


def differences(old: dict[str, object], new: dict[str, object]) -> list[str]:
    out = []
    for key in ("exit status", "stdout", "stderr"):
        if old[key] != new[key]:
            out.append(f"  {key}: {str(old[key])[:600]!r}\n   became {str(new[key])[:600]!r}")
    names = itertools.chain(old["files"], new["files"])  # type: ignore[call-overload]
    for name in dict.fromkeys(names):
        if old["files"].get(name) != new["files"].get(name):  # type: ignore[attr-defined]
            out.append(f"  file {name} differs")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--calls", type=int, default=200, help="of every command (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    options = parser.parse_args()
    old, new = (str(pathlib.Path(p).resolve()) for p in (options.old, options.new))
    differing = 0
    for command in options.commands.split(","):
        same = succeeded = 0
        for i in range(options.calls):
            with tempfile.TemporaryDirectory() as folder:
                case = Case(command, options.seed * 1_000_003 + i, pathlib.Path(folder))
                first, second = outcome(old, case), outcome(new, case)
            found = differences(first, second)
            succeeded += first["exit status"] == 0
            same += not found
            if found and differing < 10:
                print(f"{' '.join(case.arguments)}\n" + "\n".join(found), flush=True)
            differing += bool(found)
        print(f"{command}: {same} of {options.calls} the same, {succeeded} with exit status 0", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
