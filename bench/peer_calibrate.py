"""Temperature scaling as it is usually done in PyTorch, for bench_calibrate's figure: one LBFGS fit of log T per head.

python bench/peer_calibrate.py [N HEADS C [threads]]        one JSON line; pass_s and fit_s are per head
"""

import json
import resource
import sys
import time

import torch


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fit(z, y):
    log_t = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [log_t], lr=1.0, max_iter=50, tolerance_grad=1e-9, tolerance_change=1e-9, line_search_fn="strong_wolfe"
    )
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(z / log_t.exp(), y)
        loss.backward()
        return loss

    optimizer.step(closure)
    return log_t.exp().item(), evaluations


def main():
    n, heads, c = (int(v) for v in sys.argv[1:4]) if len(sys.argv) >= 4 else (10000, 10, 100)
    threads = int(sys.argv[4]) if len(sys.argv) >= 5 else 2
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    y = torch.randint(c, (n,))
    z = torch.randn(n, heads, c) * 2.3
    z[torch.arange(n), :, y] += 2 + 8 * torch.rand(n, 1)
    z *= 1 + 1.5 * torch.arange(heads)[None, :, None] / heads
    fit(z[:, 0].contiguous(), y)
    wall, cpu, evaluations = time.perf_counter(), cpu_seconds(), 0
    for m in range(heads):
        evaluations += fit(z[:, m].contiguous(), y)[1]
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(
        json.dumps(
            {
                "bench": "calibrate",
                "figure": f"torch {torch.__version__} LBFGS",
                "n": n,
                "m": heads,
                "c": c,
                "threads": threads,
                "wall_s": round(wall, 4),
                "cpu_s": round(cpu, 4),
                "passes": evaluations / heads,
                "fit_s": round(wall / heads, 5),
                "fit_cpu_s": round(cpu / heads, 5),
            }
        )
    )


if __name__ == "__main__":
    main()
