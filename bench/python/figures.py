"""The Python package's speed, one JSON line per figure: its overhead over the C call, and other packages of PyPI on the
same work.

    python figures.py [--threads 2] [--divide 1] [--c-seconds S]

Every time is the best of several after one to warm up. Values are compared with the peers' before anything is timed;
`difference` is the largest absolute one. Peers that are not installed are left out and named on stderr. --c-seconds
is what bench_score took for everything at N = 10,000, M = 100, C = 10; without it the C call is timed here, through
ctypes, into memory touched before.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import stand_ins

import vargate
from vargate import _native
from vargate._allocate import allocate
from vargate._arrays import predictions
from vargate._options import measure_names, resolve

TOLERANCE = 1e-6


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(": ", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def best(work: Callable[[], Any], seconds: float = 0.6, least: int = 5) -> tuple[float, float]:
    """Least wall and CPU time of a call."""
    work()
    wall = cpu = math.inf
    end, runs = time.perf_counter() + seconds, 0
    while runs < least or time.perf_counter() < end:
        start, start_cpu = time.perf_counter(), cpu_seconds()
        work()
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, cpu_seconds() - start_cpu)
        runs += 1
    return wall, cpu


class Report:
    def __init__(self, threads: int) -> None:
        self.common = {"threads": threads, "cpu": cpu_name(), "tier": vargate.cpu_tier()}
        self.missed: list[str] = []

    def line(self, figure: str, **more: Any) -> None:
        print(json.dumps({"bench": "python", "figure": figure, **more, **self.common}), flush=True)

    def target(self, what: str, held: bool) -> bool:
        if not held:
            self.missed.append(what)
        return held


# --- overhead ---------------------------------------------------------------------------------------------------------


def overhead(report: Report, p: np.ndarray, threads: int, c_seconds: float | None) -> None:
    tiny, small = np.full((1, 2, 3), 1 / 3, np.float32), np.full((1, 5, 10), 0.1)
    per = 2000
    wall, _ = best(lambda: [vargate.score(tiny) for _ in range(per)], least=3)
    more, _ = best(lambda: [vargate.score(small) for _ in range(per)], least=3)
    one, _ = best(lambda: [vargate.score(tiny, measures="gmu") for _ in range(per)], least=3)
    wall, more, one = wall / per, more / per, one / per
    held = report.target("call overhead < 20 us", max(wall, more) < 20e-6)
    report.line(
        "call on a tiny input, every measure",
        wall_s=wall,
        five_by_ten_s=more,
        one_measure_s=one,
        target_s=20e-6,
        held=held,
    )

    classes = np.random.default_rng(1).dirichlet(np.ones(1000), size=(1, 5)).astype(np.float32)
    wall, _ = best(lambda: [vargate.score(classes) for _ in range(200)], least=3)
    held = report.target("call on (1, 5, 1000) < 60 us", wall / 200 < 60e-6)
    report.line("call on (1, 5, 1000), every measure", wall_s=wall / 200, target_s=60e-6, held=held)

    view, owner = predictions(p)
    shape = (view.n, view.m, view.c)
    arrays, places = allocate(measure_names("all"), shape, 3, False)
    for a in arrays.values():
        a.fill(0)
    options, summary = resolve(threads=threads), _native.ScoreSummary()

    def c_call() -> None:
        _native.check(_native.lib.vg_score(places, ctypes.byref(summary), ctypes.byref(view), options.address))

    def ours() -> None:
        vargate.score(p, threads=threads)

    times = {"c": math.inf, "python": math.inf}
    for _ in range(8):  # by turns, so that both see the same machine
        times["c"] = min(times["c"], best(c_call, 0.1, 2)[0])
        times["python"] = min(times["python"], best(ours, 0.1, 2)[0])
    ratio = times["python"] / times["c"]
    held = report.target("within 5 % of C", ratio < 1.05)
    n, m, c = shape
    more = {} if c_seconds is None else {"bench_score_s": c_seconds}
    report.line(
        "every measure",
        n=n,
        m=m,
        c=c,
        wall_s=times["python"],
        c_s=times["c"],
        ratio=ratio,
        target=1.05,
        held=held,
        **more,
    )
    del owner


# --- peers ------------------------------------------------------------------------------------------------------------


def attempt(name: str, make: Callable[[], Callable[[], Any]]) -> Callable[[], Any] | None:
    try:
        return make()
    except Exception as error:
        print(f"bench: {name} is left out: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def row(
    report: Report,
    figure: str,
    ours: Callable[[], Any],
    peers: dict[str, Callable[[], Callable[[], Any]]],
    note: str = "",
    value: Any = None,
) -> float:
    """One line for each peer; gives the fastest peer's time. `value` is ours by the peer's definition, where that is
    another."""
    value = np.asarray(ours() if value is None else value, dtype=np.float64)
    wall, cpu = best(ours)
    fastest = math.inf
    for name, make in peers.items():
        work = attempt(name, make)
        if work is None:
            continue
        theirs = np.asarray(work(), dtype=np.float64)
        difference = float(np.max(np.abs(value - theirs)))
        peer_wall, peer_cpu = best(work)
        fastest = min(fastest, peer_wall)
        same = report.target(f"{figure}: equal to {name}", difference <= TOLERANCE)
        held = report.target(f"{figure}: 5x {name}", peer_wall / wall >= 5)
        report.line(
            figure,
            wall_s=wall,
            cpu_s=cpu,
            peer=name,
            peer_wall_s=peer_wall,
            peer_cpu_s=peer_cpu,
            faster=peer_wall / wall,
            target=5,
            held=held,
            difference=difference,
            equal=same,
            **({"note": note} if note else {}),
        )
    return fastest


def entropies_numpy(p: np.ndarray) -> np.ndarray:
    mu = p.mean(axis=1)
    tu = -(mu * np.log(mu)).sum(axis=-1)
    au = -(p * np.log(np.maximum(p, 1e-30))).sum(axis=-1).mean(axis=1)
    return np.stack([tu, au, tu - au])


def entropies_torch(p: Any) -> Any:
    import torch

    mu = p.mean(1)
    tu = -torch.special.xlogy(mu, mu).sum(-1)
    au = -torch.special.xlogy(p, p).sum(-1).mean(1)
    return torch.stack([tu, au, tu - au])


def peers(report: Report, p: np.ndarray, threads: int) -> None:
    stand_ins.install()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    n, _, c = p.shape
    labels = rng.integers(0, c, n)
    mean = p.mean(axis=1, dtype=np.float64)
    try:
        import torch

        torch.set_num_threads(threads)
        tensor = torch.from_numpy(p)
        tensor_mean, tensor_labels = torch.from_numpy(mean.astype(np.float32)), torch.from_numpy(labels)
    except ImportError:
        tensor = None

    def tu(name: str, *inputs: Any, **options: Any) -> Callable[[], Callable[[], Any]]:
        """A metric of torch-uncertainty, updated once and computed."""

        def make() -> Callable[[], Any]:
            from torch_uncertainty.metrics import classification

            metric = getattr(classification, name)(**options)

            def work() -> Any:
                metric.reset()
                metric.update(*inputs)
                return metric.compute()

            work()
            return work

        return make

    def probly() -> Callable[[], Any]:
        from probly.quantification.classification import mutual_information

        return lambda: mutual_information(p, base=math.e)

    def s(measures: Any, name: str) -> Callable[[], Any]:
        return lambda: vargate.score(p, measures=measures, threads=threads)[name]

    # Of an ensemble torch-uncertainty's Entropy is the mean of the members' entropies, which is AU.
    row(report, "entropy of the members", s("au", "au"), {"torch-uncertainty": tu("Entropy", tensor, reduction="none")})
    mi = row(
        report,
        "mutual information",
        s("eu", "eu"),
        {"torch-uncertainty": tu("MutualInformation", tensor, reduction="none"), "probly": probly},
    )

    def three() -> np.ndarray:
        found = vargate.score(p, measures="entropies", threads=threads)
        return np.stack([found.tu, found.au, found.eu])

    row(
        report,
        "TU AU EU",
        three,
        {"NumPy": lambda: lambda: entropies_numpy(p), "PyTorch": lambda: lambda: entropies_torch(tensor)},
    )
    without_pairs = ["entropies", "gtu", "gau", "geu", "margin"]
    wall, cpu = best(lambda: vargate.score(p, measures=without_pairs, threads=threads))
    if mi < math.inf:
        held = report.target("all without pairs: 3x a peer's mutual information", mi / wall >= 3)
        what = "every measure without pairs of members, three gates, beside mutual information alone"
        report.line(what, wall_s=wall, cpu_s=cpu, peer_wall_s=mi, faster=mi / wall, target=3, held=held)

    def netcal() -> Callable[[], Any]:
        from netcal.metrics import ECE

        return lambda: ECE(15).measure(mean, labels)

    options = {"task": "multiclass", "num_classes": c, "num_bins": 15}
    ece = tu("CalibrationError", tensor_mean, tensor_labels, **options) if tensor is not None else netcal
    row(report, "ECE", lambda: vargate.ece(mean, labels), {"netcal": netcal, "torch-uncertainty": ece})

    confidence = mean.max(axis=1)
    errors = mean.argmax(axis=1) != labels
    if tensor is not None:
        # The peer integrates the same risks by trapezoids from coverage 1/N on: compared by its own rule, timed as it
        # is.
        risks = np.cumsum(errors[np.argsort(-confidence, kind="stable")]) / np.arange(1, n + 1)
        trapezoids = np.sum((risks[1:] + risks[:-1]) / 2) / (n - 1)
        row(
            report,
            "AURC",
            lambda: vargate.rank(confidence, errors, certainty=True).aurc,
            {"torch-uncertainty": tu("AURC", tensor_mean, tensor_labels)},
            "ours with E-AURC, AUGRC, AUROC, AUPR and more; "
            "values compared by the peer's rule, trapezoids from coverage 1/N on",
            value=trapezoids - (risks.mean() - vargate.rank(confidence, errors, certainty=True).aurc),
        )
    inside, outside = rng.normal(size=n), rng.normal(0.7, 1, size=n)

    def auroc() -> Callable[[], Any]:
        from sklearn.metrics import roc_auc_score

        truth, values = np.r_[np.zeros(n), np.ones(n)], np.r_[inside, outside]
        return lambda: roc_auc_score(truth, values)

    row(report, f"AUROC of {2 * n} scores", lambda: vargate.detect(inside, outside).auroc, {"scikit-learn": auroc})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--divide", type=int, default=1)
    parser.add_argument("--c-seconds", type=float)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    p = rng.standard_exponential((max(10_000 // options.divide, 50), 100, 10), dtype=np.float32)
    p /= p.sum(axis=2, keepdims=True)
    report = Report(options.threads)
    overhead(report, p, options.threads, options.c_seconds)
    peers(report, p, options.threads)
    for what in report.missed:
        print(f"bench: not held: {what}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
