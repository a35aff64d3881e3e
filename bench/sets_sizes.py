"""Mean size of prediction sets at equal promised coverage: every score, from means and from gated means.

    python bench/sets_sizes.py PREDICTIONS [SPLITS]

Random halves of the file calibrate and test; lambda and k_reg are tuned for each alpha. Prints coverage and mean size
over the splits, the difference from lac, and that of a gated form from the plain one, with 95 % intervals of the mean
(the splits share their samples, so that intervals are those of the splitting alone).
"""

from __future__ import annotations

import sys

import numpy as np

import vargate


def difference(more: np.ndarray) -> str:
    reach = 1.96 * more.std(ddof=1) / len(more) ** 0.5
    return f"{more.mean():+.3f} [{more.mean() - reach:+.3f}, {more.mean() + reach:+.3f}]"


def main() -> None:
    file = vargate.load(sys.argv[1])
    splits = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    values, labels = file.values, file.labels
    ways = [(score, gate) for score in ("lac", "aps", "raps", "saps") for gate in (None, 1.0, 3.0)]
    ways += [("margin", None), ("snr", None)]
    alphas = (0.05, 0.01)
    found = np.empty((len(ways), splits, len(alphas), 2))
    for i in range(splits):
        order = np.random.default_rng(i).permutation(len(labels))
        cal, test = order[: len(order) // 2], order[len(order) // 2 :]
        for w, (score, gate) in enumerate(ways):
            made = vargate.Conformal(alpha=alphas, score=score, gated=gate, seed=i, logits=file.logits)
            sets = made.fit(values[cal], labels[cal]).sets(values[test], labels=labels[test])
            found[w, i] = [[f["coverage"], f["mean_size"]] for f in sets.figures]
    for a, alpha in enumerate(alphas):
        print(f"| alpha = {alpha:g} | coverage % | mean size | larger than lac by | than the plain form by |")
        print("| --- | --- | --- | --- | --- |")
        for w, (score, gate) in enumerate(ways):
            size = found[w, :, a, 1]
            plain = found[ways.index((score, None)), :, a, 1]
            name = score if gate is None else f"{score}, gated {gate:g}"
            cells = [f"{100 * found[w, :, a, 0].mean():.2f}", f"{size.mean():.3f}"]
            cells += ["" if w == 0 else difference(size - found[0, :, a, 1])]
            cells += ["" if gate is None else difference(size - plain)]
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
