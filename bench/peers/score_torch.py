"""All measures in PyTorch as a careful user writes them: EPCE and EPKL in O(M C), EPJS over chunks of samples in
several forms.

pairs       all M x M mixtures of a chunk at once
triangle    the M (M - 1) / 2 mixtures of distinct members, gathered
diagonals   one diagonal of the pairs at a time, logarithm in place
diagonals, tuned    members moved to the front, so that both halves of a diagonal are contiguous, and every buffer
                    reused
compiled    torch.compile of the pairs, the triangle and one diagonal (needs a C++ compiler)
"""

import sys

import numpy as np
import torch
from pair_sums import diagonal_terms, family, pair_sum_all
from score_common import EPS, K, arguments, measure


def pair_sum_triangle(p, i, j):
    s = p[:, i] + p[:, j]
    return (s * s.log()).sum((1, 2))


def pair_sum_diagonals(p):
    members = p.shape[1]
    total = torch.zeros(len(p), dtype=torch.float64)
    for d in range(1, members):
        s = p[:, d:] + p[:, : members - d]
        total += torch.log(s).mul_(s).sum((1, 2))
    return total


def pair_sum_tuned(p):
    return diagonal_terms(p).sum((0, 2), dtype=torch.float64)


def s_log_s(a, b):
    s = a + b
    return (s * s.log()).sum(0)


def pair_sum_compiled_diagonals(p, kernel):
    """Diagonals that wrap around, so that all have M rows and one compiled kernel of a fixed shape serves them."""
    n, members, classes = p.shape
    q = p.transpose(0, 1).reshape(members, n * classes).contiguous()
    twice = torch.cat([q, q])
    total = torch.zeros(n * classes, dtype=torch.float32)
    for d in range(1, (members - 1) // 2 + 1):
        total += kernel(twice[d : d + members], q)
    if members % 2 == 0:
        total += s_log_s(q[: members // 2], q[members // 2 :])
    return total.view(n, classes).sum(1, dtype=torch.float64)


def score_chunk(p, pair_sum):
    mu, sigma = p.mean(1), p.std(1, correction=0)
    out = family(p, pair_sum)
    gated = []
    for k in K:
        q = p * -torch.expm1(-mu / (k * sigma + EPS))[:, None, :]
        q /= q.sum(-1, keepdim=True)
        gated.append(family(q, pair_sum))
    for name in list(out):
        out["g" + name] = torch.stack([g[name] for g in gated], -1)
    top, order = mu.topk(2, -1)
    spread = sigma.gather(-1, order)
    out["snr"] = (top[:, 0] - top[:, 1]) / (spread[:, 0] + spread[:, 1] + EPS)
    out["gmu"] = 1 - top[:, 0] * -torch.expm1(-out["snr"])
    k = torch.tensor(K)
    sure = top[:, :1] - k * spread[:, :1] > top[:, 1:] + k * spread[:, 1:]
    out["decision"] = torch.where(sure, order[:, :1], -1).int()
    return out


def scorer(pair_sum):
    def score(p, chunk):
        with torch.inference_mode():
            parts = [score_chunk(block, pair_sum) for block in torch.from_numpy(p).split(chunk)]
            return {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}

    return score


def forms(members, large):
    """name -> (pair_sum, chunks of samples to try)."""
    i, j = torch.triu_indices(members, members, 1)
    torch._dynamo.config.recompile_limit = 64
    all_compiled = torch.compile(pair_sum_all, dynamic=False)
    triangle_compiled = torch.compile(pair_sum_triangle, dynamic=False)
    diagonal_compiled = torch.compile(s_log_s, dynamic=False)
    few, many = ((1, 4, 10), (10, 25, 100)) if large else ((4, 20, 100), (50, 100, 200))
    return {
        "diagonals": (pair_sum_diagonals, many),
        "diagonals, tuned": (pair_sum_tuned, many),
        "pairs": (pair_sum_all, few),
        "triangle": (lambda p: pair_sum_triangle(p, i, j), few),
        "compiled pairs": (all_compiled, few[:2]),
        "compiled triangle": (lambda p: triangle_compiled(p, i, j), few[:2]),
        "compiled diagonals": (lambda p: pair_sum_compiled_diagonals(p, diagonal_compiled), many),
    }


def main():
    args = arguments(__doc__)
    torch.set_num_threads(args.threads)
    p = np.load(args.predictions)
    wanted = args.forms.split("+") if args.forms else None
    for name, (pair_sum, chunks) in forms(p.shape[1], p.shape[2] > 20).items():
        if wanted is not None and name not in wanted:
            continue
        try:
            measure("torch", torch.__version__, name, scorer(pair_sum), chunks, p, args)
        except Exception as error:  # a missing compiler must not stop the other forms
            if not name.startswith("compiled"):
                raise
            print(f"score_torch.py: {name}: {str(error).splitlines()[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
