"""All measures with k = 1, 2, 3 on one GPU by PyTorch, float32, from predictions that lie there: EPCE and EPKL in O(M
C), EPJS and GEPJS over pairs of members, as a careful user writes them. The chunk of samples is the best of a few.

    diagonals   one diagonal of the pairs at a time, buffers reused
    pairs       all M x M mixtures of a chunk at once
    compiled    torch.compile of the whole computation over all pairs: mixtures stay in registers
    compiled-max  the same with max-autotune
"""

import pathlib
import sys

import torch
from peer_common import main, say, seconds_a_call

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "peers"))
from pair_sums import diagonal_terms, family, pair_sum_all  # noqa: E402

VARIANTS = ("diagonals", "pairs", "compiled", "compiled-max")
K, EPS = (1.0, 2.0, 3.0), 1e-8


def pair_sum_diagonals(p):
    return diagonal_terms(p).sum((0, 2))


def stacked(p, pair_sum):
    return torch.stack(list(family(p, pair_sum).values()))


def score(p, pair_sum):
    mu, sigma = p.mean(1), p.std(1, correction=0)
    out = [stacked(p, pair_sum)]
    for k in K:
        q = p * -torch.expm1(-mu / (k * sigma + EPS))[:, None, :]
        out.append(stacked(q / q.sum(-1, keepdim=True), pair_sum))
    top, order = mu.topk(2, -1)
    spread = sigma.gather(-1, order)
    snr = (top[:, 0] - top[:, 1]) / (spread[:, 0] + spread[:, 1] + EPS)
    gmu = 1 - top[:, 0] * -torch.expm1(-snr)
    decisions = [torch.where(top[:, 0] - k * spread[:, 0] > top[:, 1] + k * spread[:, 1], order[:, 0], -1) for k in K]
    return torch.cat(out), snr, gmu, torch.stack(decisions)


def run(args):
    n, members = (64, 10) if args.tiny else (args.samples, 100)
    form = {"diagonals": pair_sum_diagonals}.get(args.variant, pair_sum_all)
    whole = lambda p: score(p, form)  # noqa: E731
    if args.variant.startswith("compiled"):
        mode = "max-autotune-no-cudagraphs" if args.variant.endswith("max") else "default"
        whole = torch.compile(whole, dynamic=False, mode=mode)
    for classes in args.classes:
        # Dirichlet(1): normalised exponentials
        p = torch.empty(n, members, classes, device=args.device).exponential_()
        p /= p.sum(-1, keepdim=True)
        few = p[: min(n, 50)]
        wanted = score(few.double(), pair_sum_all)[0]
        if args.variant == "diagonals":
            chunks = (n, n // 2, n // 8)
        elif args.variant == "pairs":
            chunks = tuple(max(1, min(n, size // classes)) for size in (1000, 4000, 16000))
        else:
            chunks = (n,)  # nothing of size N M^2 C is ever stored
        best = None
        for chunk in dict.fromkeys(chunks):
            parts = p.split(chunk)

            def work():
                with torch.inference_mode():
                    return [whole(part) for part in parts]

            torch.cuda.reset_peak_memory_stats() if args.device == "cuda" else None
            difference = (work()[0][0][:, : len(few)][:, :chunk] - wanted[:, : min(chunk, len(few))]).abs().max().item()
            assert difference < 1e-3, f"differs from float64 by {difference}"
            seconds = seconds_a_call(work, args.device, **(args.windows or {"window": 0.2, "windows": 5, "warm_up": 1}))
            if best is None or seconds < best[0]:
                best = (seconds, chunk, difference)
        more = {"n": n, "m": members, "c": classes, "chunk": best[1], "max_difference": float(f"{best[2]:.2g}")}
        say(f"measures, C = {classes}", args.variant, 1e3 * best[0], "ms", **more)


def options(parser):
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100])


if __name__ == "__main__":
    main(__doc__, VARIANTS, ("diagonals", "compiled"), run, options)
