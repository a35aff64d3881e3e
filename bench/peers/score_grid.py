"""Scoring over the grid of members and classes, beside PyTorch's TU, AU and EU in the same run.

    VARGATE_LIBRARY=build/release/libvargate.so PYTHONPATH=python python score_grid.py [--megabytes 200] [--threads 2]
        [--device cuda]

One JSON line per point on stdout, one table at the end on stderr. Ours, PyTorch's two plain forms (entr, xlogy; the
faster one counts) and one sum over the array take turns, and of each the fastest run counts, so that other work on the
machine affects all alike. A pause before each run lets the OpenMP threads of PyTorch's last operation fall asleep: they
spin for some milliseconds, and on two cores they would take one from whatever is timed next. cpu_* are CPU times over
the threads, for machines that are not quiet. Rows are uniform on the simplex. --kinds all adds logits, float64, float16
and bfloat16; PyTorch then converts halves to float32 and takes the softmax of logits first. With --device cuda
predictions and results lie in the GPU's memory, and at five members PyTorch computes everything as well, over all pairs
of members, plain and compiled.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from vargate import _native
from vargate._measures import SCORE_FIELDS, SCORE_INDEX, ScorePlaces
from vargate._structs import Predictions, ScoreOptions

MEMBERS = (1, 2, 3, 5, 8, 10, 16, 20, 50, 100, 1000)
CLASSES = (2, 10, 19, 100, 1000, 10000, 32000, 128000)
THREE = ("tu", "au", "eu")
EVERYTHING = (*THREE, "epce", "epkl", "epjs", "gtu", "gau", "geu", "gepce", "gepkl", "gepjs")
EVERYTHING += ("gmu", "snr", "pred", "decision")
EVERYTHING_POINTS = ((5, 19), (5, 32000))  # where PyTorch computes everything on a GPU
ON_CUDA, IN_DEVICE_MEMORY = 2, 1  # VG_SCORE_ON_CUDA, VG_MEMORY_DEVICE
PAUSE = 0.02  # seconds before each timed run
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


class FeedOptions(ctypes.Structure):
    """vg_scorer_feed_options"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("predictions", ctypes.c_int),
        ("scores", ctypes.c_int),
        ("stream", ctypes.c_void_p),
    ]


def draw(n: int, m: int, c: int, logits: bool, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Whole samples, about two million values of them drawn and the rest repeated."""
    few = max(1, min(n, 2_000_000 // (m * c)))
    rng = np.random.default_rng(1)
    x = 3 * rng.normal(size=(few, m, c)) if logits else rng.exponential(size=(few, m, c))
    if not logits:
        x /= x.sum(axis=-1, keepdims=True)
    part = torch.from_numpy(x).to(dtype).to(device)
    return part.repeat((n + few - 1) // few, 1, 1)[:n].contiguous()


def ours(x: torch.Tensor, names: tuple[str, ...], logits: bool, threads: int) -> Callable[[], None]:
    n, m, c = x.shape
    view = Predictions(x.data_ptr(), list(TYPES.values()).index(x.dtype), n, m, c, m * c, c, 1)
    options = ScoreOptions()
    options.struct_size = ctypes.sizeof(options)
    places, kept = ScorePlaces(), []
    _native.check(_native.lib.vg_score_options_preset(ctypes.byref(options), 0))
    options.scores_size, options.threads, options.logits = ctypes.sizeof(places), threads, int(logits)
    options.renormalise = int(x.dtype.itemsize == 2 and not logits)  # rounded rows do not sum to 1
    for name in names:
        element, kind = SCORE_FIELDS[name]
        filled = torch.from_numpy(np.ones(n * (3 if kind == "k" else 1), dtype=element))
        kept.append(filled.to(x.device))
        places[SCORE_INDEX[name]] = kept[-1].data_ptr()
    if not x.is_cuda:

        def run() -> None:
            assert kept
            _native.check(_native.lib.vg_score(ctypes.byref(places), None, ctypes.byref(view), ctypes.byref(options)))

        return run
    options.device = ON_CUDA
    feed = FeedOptions(ctypes.sizeof(FeedOptions), IN_DEVICE_MEMORY, IN_DEVICE_MEMORY, None)
    scorer = ctypes.c_void_p()
    _native.check(_native.lib.vg_scorer_new(ctypes.byref(scorer), m, c, ctypes.byref(options)))

    class Fed:
        def __call__(self) -> None:
            assert kept
            handle = (scorer, ctypes.byref(places), ctypes.byref(view), ctypes.byref(feed))
            _native.check(_native.lib.vg_scorer_feed(*handle))

        def __del__(self) -> None:
            _native.lib.vg_scorer_free(scorer)

    return Fed()


def everything_by_pytorch(x: torch.Tensor) -> dict[str, Callable[[], object]]:
    """All measures of bench/gpu/peer_measures.py, plain in chunks that fit the memory and compiled."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "gpu"))
    from pair_sums import pair_sum_all
    from peer_measures import score

    compiled = torch.compile(lambda part: score(part, pair_sum_all), dynamic=False)
    parts = x.split(max(1, 400_000_000 // (x.shape[1] ** 2 * x.shape[2])))
    return {
        "everything_plain": lambda: [score(part, pair_sum_all) for part in parts],
        "everything_compiled": lambda: compiled(x),
    }


def entr(p: torch.Tensor) -> torch.Tensor:
    tu, au = torch.special.entr(p.mean(1)).sum(-1), torch.special.entr(p).sum(-1).mean(1)
    return torch.stack([tu, au, tu - au])


def xlogy(p: torch.Tensor) -> torch.Tensor:
    mu = p.mean(1)
    tu, au = -torch.special.xlogy(mu, mu).sum(-1), -torch.special.xlogy(p, p).sum(-1).mean(1)
    return torch.stack([tu, au, tu - au])


def plain(x: torch.Tensor, logits: bool) -> torch.Tensor:
    wide = x if x.dtype.itemsize > 2 else x.float()
    return wide.softmax(-1) if logits else wide


def best(jobs: dict[str, Callable[[], object]], runs: int) -> tuple[dict[str, float], dict[str, float]]:
    wall, cpu = dict.fromkeys(jobs, 1e9), dict.fromkeys(jobs, 1e9)
    for turn in range(runs + 1):
        for name, job in jobs.items():
            time.sleep(PAUSE)
            start, used = time.perf_counter(), time.process_time()
            job()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn > 0:
                wall[name] = min(wall[name], time.perf_counter() - start)
                cpu[name] = min(cpu[name], time.process_time() - used)
    return wall, cpu


def point(m: int, c: int, kind: str, logits: bool, arguments: argparse.Namespace) -> dict[str, object]:
    dtype = TYPES[kind]
    n = max(1, int(arguments.megabytes * 1e6) // (m * c * dtype.itemsize))
    x = draw(n, m, c, logits, dtype, arguments.device)
    jobs: dict[str, Callable[[], object]] = {
        "three": ours(x, THREE, logits, arguments.threads),
        "everything": ours(x, EVERYTHING, logits, arguments.threads),
        "read": x.sum,
        "entr": lambda: entr(plain(x, logits)),
        "xlogy": lambda: xlogy(plain(x, logits)),
    }
    if kind == "f32" and not logits and x.is_cuda and (m, c) in EVERYTHING_POINTS:
        jobs |= everything_by_pytorch(x)
    wall, cpu = best(jobs, arguments.runs)
    scale = 1e9 / (n * m * c)
    line: dict[str, object] = {"bench": "grid", "m": m, "c": c, "n": n, "type": kind, "logits": logits}
    line |= {name: round(seconds * scale, 4) for name, seconds in wall.items()}
    line |= {f"cpu_{name}": round(cpu[name] * scale / arguments.threads, 4) for name in ("three", "everything")}
    line["torch"] = round(min(wall["entr"], wall["xlogy"]) * scale, 4)
    return line


def table(lines: list[dict[str, object]]) -> None:
    print("\nns per element; TU AU EU and everything (three k), PyTorch's TU AU EU, one read", file=sys.stderr)
    print("type   logits     M       C   TU AU EU  torch/it   it/read  everything  it/torch", file=sys.stderr)
    for line in lines:
        three, everything, peer = float(line["three"]), float(line["everything"]), float(line["torch"])
        print(
            f"{line['type']:6} {line['logits']!s:6} {line['m']:5} {line['c']:7} {three:10.3f} {peer / three:9.1f}"
            f" {three / float(line['read']):9.1f} {everything:11.3f} {everything / peer:9.2f}",
            file=sys.stderr,
        )
        if "everything_plain" in line:
            ratios = [float(line[name]) / everything for name in ("everything_plain", "everything_compiled")]
            print(
                "    everything by PyTorch, plain and compiled: {:.0f} and {:.0f} times it".format(*ratios),
                file=sys.stderr,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--members", type=lambda text: [int(x) for x in text.split(",")], default=list(MEMBERS))
    parser.add_argument("--classes", type=lambda text: [int(x) for x in text.split(",")], default=list(CLASSES))
    parser.add_argument("--kinds", choices=("f32", "all"), default="f32")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    kinds = [("f32", False)]
    if arguments.kinds == "all":
        kinds += [(kind, logits) for logits in (False, True) for kind in TYPES if logits or kind != "f32"]
    lines = []
    for kind, logits in kinds:
        for m in arguments.members:
            for c in arguments.classes:
                lines.append(point(m, c, kind, logits, arguments))
                print(json.dumps(lines[-1]), flush=True)
    table(lines)


main()
