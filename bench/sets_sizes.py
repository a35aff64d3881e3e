"""Mean size of prediction sets at equal promised coverage: every score, from means and from gated means.

    python bench/sets_sizes.py PREDICTIONS [SPLITS]

Random halves of the file calibrate and test. Prints coverage and mean size over the splits with 95 % intervals of the
mean (the splits share their samples, so that intervals are those of the splitting alone), and the difference from lac.
"""

from __future__ import annotations

import sys

import numpy as np

import vargate


def main() -> None:
    file = vargate.load(sys.argv[1])
    splits = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    values, labels = file.values, file.labels
    ways = [("lac", None), ("aps", None), ("raps", None), ("saps", None), ("margin", None), ("snr", None)]
    ways += [("lac", 1.0), ("lac", 3.0), ("aps", 1.0), ("raps", 1.0)]
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
        print(f"| alpha = {alpha:g} | coverage % | mean size | larger than lac by |\n| --- | --- | --- | --- |")
        for w, (score, gate) in enumerate(ways):
            cover, size = found[w, :, a, 0], found[w, :, a, 1]
            more = size - found[0, :, a, 1]
            reach = 1.96 * more.std(ddof=1) / splits**0.5
            name = score if gate is None else f"{score}, gated {gate:g}"
            print(
                f"| {name} | {100 * cover.mean():.2f} | {size.mean():.3f} | "
                f"{more.mean():+.3f} [{more.mean() - reach:+.3f}, {more.mean() + reach:+.3f}] |"
            )


if __name__ == "__main__":
    main()
