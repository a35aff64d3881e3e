#!/usr/bin/env python3
"""Runs two builds of vargate with the same random calls and compares what they do.

    scripts/compare_programs.py OLD NEW [--calls 200] [--seed 1] [--commands score,evaluate,...] [--figures]

For a change that must not alter results (code that moves, a kernel that is rewritten). Every call gets random files and
random options; exit status, standard output, standard error and every file written must agree to the byte.

--figures is for builds that are further apart: what OLD prints as JSON and what it writes must be in what NEW writes,
numbers within the accuracy that docs/measures.md promises of either (of float64 input 1e-12 and relative 1e-9, of other
input 1e-6 and relative 1e-4), words without spaces to the letter. NEW may have more keys, columns and arrays, and
other sentences. Of ranks over samples, a sample may move where values are nearer than that: figures that depend on the
order of samples are compared within --rank (default 0.05: one place among 40 samples with one error is 0.026).

The first differences are shown and the exit status is 1. Needs NumPy."""

import argparse
import base64
import csv
import io
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

COMMANDS = ("score", "evaluate", "decide", "ood", "calibrate", "report", "stream", "data", "train", "predict", "run")
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
    """Members that predict the label more or less well, and differ more or less."""
    common = rng.normal(size=(n, 1, c)) * rng.uniform(0.2, 3)
    common[np.arange(n), 0, labels] += rng.uniform(0, 5)
    return (common + rng.normal(size=(n, m, c)) * rng.choice([1e-4, 0.1, 1])).astype(np.float32)


class Case:
    """Files and arguments of one random call. `trainer` is the program that trains the run that `predict` takes."""

    def __init__(self, command: str, seed: int, folder: pathlib.Path, trainer: str = "") -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.folder, self.command, self.stdin = folder, command, b""
        self.trainer, self.double = trainer, False
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
            dtype = self.random.choice(["float32", "float64"])
            self.double = dtype == "float64"
            arrays = {"P": softmax(z.astype(np.float64)).astype(dtype), "L": labels}
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
            out += self.random.choice([["--by", "k"], ["--by", "gmu"], ["--by", "gtu@1"]])
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

    def recipe(self) -> list[str]:
        """A small network on small images of distinct classes, and the settings of its training."""
        rng = np.random.default_rng(7)
        patterns = rng.random((3, 16, 16, 1)) * 200

        def images(n: int) -> tuple[np.ndarray, np.ndarray]:
            labels = np.arange(n) % 3
            return (patterns[labels] + rng.random((n, 16, 16, 1)) * 50).astype(np.uint8), labels

        (train, train_labels), (test, test_labels) = images(90), images(40)
        np.savez(
            self.folder / "images.npz",
            train_images=train,
            train_labels=train_labels,
            test_images=test,
            test_labels=test_labels,
        )
        settings = {
            "name": "small",
            "dataset": "path:images.npz",
            "network": "cnn",
            "epochs": 2,
            **self.random.choice(
                [
                    {"ensemble": "lle", "heads": 3},
                    {"ensemble": "mcd", "heads": 1, "members": 3},
                    {"ensemble": "mcd-lle", "heads": 3},
                ]
            ),
            "dropout": self.random.choice([0.05, 0.3]),
            "batch": self.random.choice([16, 30]),
            "rate": self.random.choice(["3e-4", "1e-3"]),
            "seed": self.random.randint(0, 99),
        }
        (self.folder / "small.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
        return ["small.yaml", "--device", "cpu", "--threads", "1"]

    def make_train(self) -> list[str]:
        return ["train", *self.recipe(), "-o", "r"]

    def make_run(self) -> list[str]:
        return ["run", *self.recipe(), "-o", "r"]

    def make_predict(self) -> list[str]:
        train = ["train", *self.recipe(), "-o", "r", "-q"]
        subprocess.run([self.trainer, *train], cwd=self.folder, check=True, capture_output=True, timeout=300)
        out = ["predict", "r", "--device", "cpu", "--threads", "1", "--split", self.random.choice(["test", "val"])]
        out += self.random.choice([[], ["--members", "2"], ["--checkpoint", "best"]])
        if self.random.random() < 0.4:
            return [*out, "--score", "-o", "out.npz", "--json"]
        return [*out, "-o", "pred.npz", *self.random.choice([[], ["--logits"]])]

    def make_data(self) -> list[str]:
        self.recipe()
        return ["data", "info", "path:images.npz", "--json", *self.random.choice([[], ["--statistics"]])]


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


# Times and speeds, and what names the program or the file format rather than a result.
NO_RESULT = re.compile("images_per_s|seconds|version|created|schema|command|build|backend|device|tier|options|policy")
# What is derived from an order of samples, in which values that differ by rounding may change places.
BY_RANK = re.compile(
    "aurc|augrc|auroc|aupr|fpr|risk|coverage|curve|best|lead|p_value|median|p95|kept|abstain|threshold|detection"
)


class Figures:
    """Compares what two calls made, number by number."""

    def __init__(self, double: bool, rank: float) -> None:
        self.absolute, self.relative = (1e-12, 1e-9) if double else (1e-6, 1e-4)
        self.rank, self.found = rank, list[str]()

    def number(self, place: str, old: float, new: float) -> None:
        slack = self.absolute + self.relative * abs(old)
        if BY_RANK.search(place):
            slack += self.rank * max(1.0, abs(old))
        if not (old == new or (math.isnan(old) and math.isnan(new)) or abs(old - new) <= slack):
            self.found.append(f"  {place}: {old!r} became {new!r}")

    def value(self, place: str, old: object, new: object) -> None:
        if NO_RESULT.search(place.rsplit("/", 1)[-1]):
            return
        if isinstance(old, dict) and isinstance(new, dict):
            for key in old:
                self.value(f"{place}/{key}", old[key], new.get(key))
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for i, (a, b) in enumerate(zip(old, new, strict=True)):
                self.value(f"{place}/{i}", a, b)
        elif isinstance(old, int | float) and isinstance(new, int | float):
            self.number(place, float(old), float(new))
        elif old != new and not (isinstance(old, str) and (" " in old or BY_RANK.search(place))):
            self.found.append(f"  {place}: {str(old)[:80]!r} became {str(new)[:80]!r}")

    def arrays(self, place: str, old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> None:
        for name, a in old.items():
            b = new.get(name)
            if b is None or a.shape != b.shape:
                self.found.append(f"  {place}: {name} is missing or has another shape")
            elif a.dtype.kind in "fiub" and a.dtype.kind != "b":
                x, y = a.astype(np.float64), b.astype(np.float64)
                if not np.allclose(x, y, rtol=self.relative, atol=self.absolute, equal_nan=True):
                    self.found.append(f"  {place}: {name} differs by up to {np.nanmax(np.abs(x - y)):.3g}")
            elif a.tobytes() != b.tobytes():
                self.found.append(f"  {place}: {name} differs")

    def file(self, name: str, old: bytes, new: bytes | None) -> None:
        if new is None:
            self.found.append(f"  {name} is missing")
        elif name.endswith(".npz"):
            self.arrays(name, dict(np.load(io.BytesIO(old))), dict(np.load(io.BytesIO(new))))
        elif name.endswith(".safetensors"):
            self.arrays(name, tensors(old), tensors(new))
        elif name.endswith(".csv"):
            a, b = (list(csv.DictReader(io.StringIO(text.decode()))) for text in (old, new))
            self.value(name, [numbers(row) for row in a], [numbers(row) for row in b])
        elif name.endswith((".json", ".jsonl")):
            text = [x.decode().strip().splitlines() if name.endswith("l") else [x.decode()] for x in (old, new)]
            self.value(name, *([json.loads(line) for line in lines] for lines in text))
        elif name.endswith(".html"):
            self.arrays(name, columns(old), columns(new))


def numbers(row: dict[str, str]) -> dict[str, object]:
    def number(text: str) -> object:
        try:
            return float(text)
        except (TypeError, ValueError):
            return text

    return {key: number(text) for key, text in row.items()}


def tensors(blob: bytes) -> dict[str, np.ndarray]:
    size = int.from_bytes(blob[:8], "little")
    out = {}
    for name, about in json.loads(blob[8 : 8 + size]).items():
        if about.get("dtype") == "F32":
            low, high = about["data_offsets"]
            out[name] = np.frombuffer(blob[8 + size + low : 8 + size + high], np.float32)
    return out


def columns(page: bytes) -> dict[str, np.ndarray]:
    """The columns of a report page: base64 of little-endian arrays."""
    found = re.findall(rb'<script type="text/plain" id="([^"]*)">([^<]*)</script>', page)
    blobs = {name.decode(): base64.b64decode(text) for name, text in found}
    return {name: np.frombuffer(blob, np.float32) for name, blob in blobs.items() if len(blob) % 4 == 0}


def figures(old: dict[str, object], new: dict[str, object], double: bool, rank: float) -> list[str]:
    compared = Figures(double, rank)
    if old["exit status"] != new["exit status"]:
        compared.found.append(f"  exit status: {old['exit status']} became {new['exit status']}: {new['stderr']!r}")
        return compared.found
    printed = [str(x["stdout"], "utf-8").strip() for x in (old, new)]  # type: ignore[call-overload]
    if printed[0].startswith("{") and "\n{" in printed[0]:
        compared.value("stdout", *([json.loads(line) for line in text.splitlines()] for text in printed))
    elif printed[0].startswith("{"):
        compared.value("stdout", *(json.loads(text) for text in printed))
    for name, text in old["files"].items():  # type: ignore[attr-defined]
        compared.file(name, text, new["files"].get(name))  # type: ignore[attr-defined]
    return compared.found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--calls", type=int, default=200, help="of every command (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--figures", action="store_true", help="compare figures within the promised accuracy")
    parser.add_argument("--rank", type=float, default=0.05, help="with --figures: of figures by rank (default 0.05)")
    options = parser.parse_args()
    old, new = (str(pathlib.Path(p).resolve()) for p in (options.old, options.new))
    differing = 0
    for command in options.commands.split(","):
        same = succeeded = 0
        for i in range(options.calls):
            with tempfile.TemporaryDirectory() as folder:
                case = Case(command, options.seed * 1_000_003 + i, pathlib.Path(folder), old)
                if options.figures and command in ("score", "evaluate", "decide", "ood", "calibrate"):
                    case.arguments = [a for a in case.arguments if a != "--json"] + ["--json"]
                first, second = outcome(old, case), outcome(new, case)
            found = figures(first, second, case.double, options.rank) if options.figures else differences(first, second)
            succeeded += first["exit status"] == 0
            same += not found
            if found and differing < 10:
                print(f"{' '.join(case.arguments)}\n" + "\n".join(found[:6]), flush=True)
            differing += bool(found)
        print(f"{command}: {same} of {options.calls} the same, {succeeded} with exit status 0", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
