"""The table of bench/gpu.sh from its JSON lines: python gpu_table.py gpu.jsonl [--markdown]

The newest line of each figure counts. Ratios are taken with a peer's best variant; all variants are listed below it,
each with its own ratio. PyTorch predicts at the batch of training, 128; its best batch is listed as well.
"""

import json
import sys

# what, unit, more is better, target of the ratio to the best variant, variants (None: all), batch (None: best)
ASKED = (
    ("train wrn-28-10", "images/s", True, 1.25, None, None),
    ("train cnn", "images/s", True, 2.5, None, None),
    ("predict wrn-28-10", "image-passes/s", True, 2.0, ("eager", "eager-half"), "128"),
    ("measures, C = 10", "ms", False, None, None, None),
    ("measures, C = 100", "ms", False, 100.0, None, None),
)
MEMORY_GIB = 4.0
DIFFERENCE = 1e-6


def read(path):
    ours, theirs = {}, {}
    with open(path) as file:
        for text in file:
            if not text.startswith("{"):
                continue
            line = json.loads(text.replace(": inf", ": Infinity"))  # as C prints it
            figure = line.get("figure", "")
            if figure.startswith("measures-"):  # of bench_measures, in seconds
                name = f"measures, C = {line['c']}, {figure[9:]}"
                ours[name] = {"value": 1e3 * line["median"], "difference": line["difference"]}
                continue
            if line.get("bench") != "gpu":
                continue
            if "peer" in line:
                theirs.setdefault(line["what"], {})[line["variant"]] = line
            else:
                ours[line["what"] + (", augmented" if line.get("augment") else "")] = line
    return ours, theirs


def number(value):
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def at_batch(line, batch):
    """A peer's value and what to call it: at a batch, where it was measured at that, else at its best."""
    if batch in line.get("rates", {}):
        return line["rates"][batch], f"{line['variant']}, batch {batch}"
    return line["value"], line["variant"]


def rows(ours, theirs):
    for what, unit, more, asked, counted, batch in ASKED:
        peers = theirs.get(what, {})
        choice = [at_batch(v, batch) for v in peers.values() if counted is None or v["variant"] in counted]
        best, variant = (max if more else min)(choice, default=(None, None))
        for name in sorted(key for key in ours if key == what or key.startswith(what + ", ")):
            value = ours[name]["value"]
            ratio = None if best is None else value / best if more else best / value
            # targets are for figures from the device itself, without augmentation
            goal = asked if name == what or name.endswith(", device") else None
            verdict = "" if goal is None or ratio is None else "met" if ratio >= goal else "missed"
            yield name, unit, value, best, variant, ratio, f">= {goal:g}" if goal else "", verdict
        mine = ours.get(what) or ours.get(what + ", device")
        for name, line in peers.items():
            value = line["value"]
            ratio = None if mine is None else mine["value"] / value if more else value / mine["value"]
            remark = f"peak {line.get('peak_gib', 0)} GiB" + (f", batch {line['batch']}" if "batch" in line else "")
            yield f"  PyTorch, {name}", unit, None, value, remark, ratio, "", ""
    differences = [line["difference"] for line in ours.values() if "difference" in line]
    if differences:
        worst = max(differences)
        verdict = "met" if worst <= DIFFERENCE else "missed"
        yield "measures, difference from the CPU", "", worst, None, None, None, f"<= {DIFFERENCE:g}", verdict
    used = ours.get("train wrn-28-10", {}).get("used_mib", -1)
    if used > 0:
        verdict = "met" if used / 1024 < MEMORY_GIB else "missed"
        yield "memory, train wrn-28-10", "GiB", used / 1024, None, None, None, f"< {MEMORY_GIB:g}", verdict


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    try:
        lines = read(sys.argv[1])
    except (OSError, ValueError) as error:
        raise SystemExit(f"gpu_table: {sys.argv[1]}: {error}") from None
    header = ("", "unit", "ours", "PyTorch", "variant", "ratio", "asked", "")
    table = [header] + [
        (name, unit, number(mine), number(their), variant or "", "" if ratio is None else f"{ratio:.2f}", goal, verdict)
        for name, unit, mine, their, variant, ratio, goal, verdict in rows(*lines)
    ]
    if len(sys.argv) == 3:
        for row in [table[0], ("---",) * len(header), *table[1:]]:
            print("| " + " | ".join(cell.strip() for cell in row) + " |")
        return
    for row in table:
        print("{:34} {:15} {:>12} {:>12} {:22} {:>8} {:>8} {}".format(*row), file=sys.stderr)


if __name__ == "__main__":
    main()
