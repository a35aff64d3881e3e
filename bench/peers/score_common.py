"""What the NumPy and PyTorch peers of bench_score share: arguments, timing, tuning, checking, JSON lines.

    python score_numpy.py PREDICTIONS.npy SCORES.npz [--samples 10000] [--measured 1000] [--threads 2]

PREDICTIONS is written by `bench_score --dump`, SCORES by `vargate score` on it. Every form is first checked against
SCORES, then its chunk of samples is chosen among a few on a small part, then it is timed on `measured` samples, and the
time is scaled to `samples`: samples are independent and go through in chunks, so time is proportional to them.
"""

import argparse
import json
import resource
import time

import numpy as np

K = (1.0, 2.0, 3.0)
EPS = 1e-8
FLOOR = 1e-12
TOLERANCE = 1e-5


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("predictions")
    parser.add_argument("scores")
    parser.add_argument("--samples", type=int, default=10000, help="report times for so many samples")
    parser.add_argument("--measured", type=int, default=1000, help="measure on at most so many")
    parser.add_argument("--tuned", type=int, default=200, help="choose chunk sizes on so many")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--forms", default="", help="names joined by +; default all")
    return parser.parse_args()


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def best_of(runs, work):
    wall = cpu = float("inf")
    for _ in range(runs):
        start, start_cpu = time.perf_counter(), cpu_seconds()
        work()
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, cpu_seconds() - start_cpu)
    return wall, cpu


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(": ", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def worst_difference(ours, theirs, n):
    """Largest absolute difference over all measures of the first n samples; decisions and classes must be equal."""
    worst = 0.0
    for name, value in theirs.items():
        value = np.asarray(value)
        expected = ours[name][:n]
        if value.shape != expected.shape:
            raise SystemExit(f"{name}: shape {value.shape}, expected {expected.shape}")
        if np.issubdtype(value.dtype, np.integer):
            # A sample within rounding of the threshold may fall on either side; more than that is a mistake.
            wrong = np.count_nonzero(value != expected)
            if wrong > max(1, value.size // 1000):
                raise SystemExit(f"{name}: {wrong} of {value.size} differ")
        else:
            scale = np.maximum(1.0, np.abs(expected))
            worst = max(worst, float(np.max(np.abs(value - expected) / scale)))
    if not worst < TOLERANCE:
        raise SystemExit(f"values differ from vargate's by {worst:g}, more than {TOLERANCE:g}")
    return worst


def measure(peer, version, form, work, chunks, p, args, threads=None):
    """work(p, chunk) -> dict of arrays. Prints one line."""
    n, m, c = p.shape
    small, part = p[: min(args.tuned, n)], p[: min(args.measured, n)]
    difference = worst_difference(np.load(args.scores), work(small, chunks[0]), len(small))
    tried = {}
    for chunk in chunks:
        work(small[: min(chunk, len(small))], chunk)
        tried[chunk] = best_of(1, lambda: work(small, chunk))[0]
    chunk = min(tried, key=tried.get)
    wall, cpu = best_of(args.runs, lambda: work(part, chunk))
    scale = args.samples / len(part)
    line = {
        "bench": "score",
        "figure": "everything",
        "peer": peer,
        "version": version,
        "form": form,
        "n": args.samples,
        "m": m,
        "c": c,
        "k": len(K),
        "threads": args.threads if threads is None else threads,
        "ms": round(1e3 * wall * scale, 1),
        "cpu_ms": round(1e3 * cpu * scale, 1),
        "runs": args.runs,
        "chunk": chunk,
        "max_difference": float(f"{difference:.2g}"),
        "cpu": cpu_name(),
    }
    if scale != 1:
        line["scaled_from"] = len(part)
    print(json.dumps(line), flush=True)
