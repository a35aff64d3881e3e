"""All measures with k = 1, 2, 3 on one GPU by PyTorch, float32, from predictions that lie there: EPCE and EPKL in O(M
C), EPJS and GEPJS over pairs of members, as a careful user writes them. The chunk of samples is the best of a few.

    diagonals   one diagonal of the pairs at a time, buffers reused
    pairs       all M x M mixtures of a chunk at once
    compiled    torch.compile of the whole computation over all pairs: mixtures stay in registers
    compiled-max  the same with max-autotune
    three       TU, AU and EU alone, by the faster of entr and xlogy
    three-compiled  the same by torch.compile
    read        one sum over the predictions: what reading them takes

With --megabytes there are as many samples as fill that much memory.
"""

import pathlib
import sys

import torch
from peer_common import main, say, seconds_a_call

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "peers"))
from pair_sums import diagonal_terms, family, pair_sum_all  # noqa: E402

VARIANTS = ("diagonals", "pairs", "compiled", "compiled-max", "three", "three-compiled", "read")
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


def predictions(args, classes):
    """Dirichlet(1): normalised exponentials (n, M, C)."""
    n, members = (64, min(args.members, 10)) if args.tiny else (args.samples, args.members)
    if args.megabytes:
        n = max(1, int(args.megabytes * 1e6) // (4 * members * classes))
    p = torch.empty(n, members, classes, device=args.device).exponential_()
    return p.div_(p.sum(-1, keepdim=True))


def three_by_entr(p):
    tu, au = torch.special.entr(p.mean(1)).sum(-1), torch.special.entr(p).sum(-1).mean(1)
    return torch.stack([tu, au, tu - au])


def three_by_xlogy(p):
    mu = p.mean(1)
    tu, au = -torch.special.xlogy(mu, mu).sum(-1), -torch.special.xlogy(p, p).sum(-1).mean(1)
    return torch.stack([tu, au, tu - au])


def run_simple(args, forms):
    """The fastest of functions of all predictions."""
    if args.variant.endswith("compiled"):
        forms = [torch.compile(form, dynamic=False) for form in forms]
    windows = args.windows or {"window": 0.1, "windows": 5, "warm_up": 2}
    for classes in args.classes:
        p = predictions(args, classes)
        with torch.inference_mode():
            seconds = min(seconds_a_call(lambda form=form, p=p: form(p), args.device, **windows) for form in forms)
        more = {"n": len(p), "m": p.shape[1], "c": classes, "ns_per_element": round(1e9 * seconds / p.numel(), 5)}
        say(f"measures, {args.variant}, C = {classes}", args.variant, 1e3 * seconds, "ms", **more)


def run(args):
    if args.variant == "read":
        return run_simple(args, [torch.sum])
    if args.variant.startswith("three"):
        return run_simple(args, [three_by_entr, three_by_xlogy])
    form = {"diagonals": pair_sum_diagonals}.get(args.variant, pair_sum_all)
    whole = lambda p: score(p, form)  # noqa: E731
    if args.variant.startswith("compiled"):
        mode = "max-autotune-no-cudagraphs" if args.variant.endswith("max") else "default"
        whole = torch.compile(whole, dynamic=False, mode=mode)
    for classes in args.classes:
        p = predictions(args, classes)
        n, members = p.shape[:2]
        few = p[: min(n, 50)]
        wanted = score(few.double(), pair_sum_all)[0]
        if args.variant == "diagonals":
            chunks = (n, n // 2, n // 8)
        elif args.variant == "pairs":
            fit = 1e8 / (members**2 * classes) if args.megabytes else 1e7 / (members**2 * classes)
            chunks = tuple(max(1, min(n, int(size * fit))) for size in (1, 4, 16))
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
        more["ns_per_element"] = round(1e9 * best[0] / p.numel(), 5)
        say(f"measures, C = {classes}", args.variant, 1e3 * best[0], "ms", **more)


def options(parser):
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--megabytes", type=float, default=0)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100])


if __name__ == "__main__":
    main(__doc__, VARIANTS, ("diagonals", "compiled"), run, options)
