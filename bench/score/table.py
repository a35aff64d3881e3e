"""Ratios and a table from the JSON lines of a benchmark run.

    python table.py LINES.jsonl               one JSON line per ratio on stdout, the table on stderr
    python table.py LINES.jsonl --markdown    the table alone, on stdout

A ratio compares two lines of the same run; "by CPU" is the same ratio of CPU times, of use where the machine was not
quiet and both sides used the same number of threads. `target` is what the project promises; ratios without one are for
information.
"""

import json
import sys


def read(path):
    lines = []
    with open(path) as file:
        for text in file:
            text = text.strip()
            if text.startswith("{"):
                lines.append(json.loads(text))
    return [line for line in lines if line.get("bench") == "score" and line.get("figure") != "ratio"]


class Run:
    """The lines of one run, and the ratios found so far."""

    def __init__(self, lines):
        self.lines = lines
        self.ours = [line for line in lines if "peer" not in line]
        tiers = [line["tier"] for line in self.ours]
        self.tier = tiers[0] if tiers else None
        self.rows = []

    def find(self, figure, tier=None, **wanted):
        for line in self.ours:
            if (
                line["figure"] == figure
                and line["tier"] == (tier or self.tier)
                and all(line.get(k) == v for k, v in wanted.items())
            ):
                return line
        return None

    def add(self, what, value, target=None, at_least=True, note="", c=None, m=None, cpu=None):
        row = {
            "what": what,
            "m": m,
            "c": c,
            "value": value,
            "cpu": cpu,
            "target": target,
            "at_least": at_least,
            "note": note,
        }
        self.rows.append(row)

    def divide(self, what, above, below, target=None, at_least=True, key="ms", note="", **shape):
        if above and below:
            figures = f"{above[key]:.4g} / {below[key]:.4g} {key.replace('_per_', '/')}"
            cpu = above["cpu_ms"] / below["cpu_ms"] if key == "ms" else None
            self.add(
                what,
                above[key] / below[key],
                target,
                at_least,
                f"{note}: {figures}" if note else figures,
                cpu=cpu,
                **shape,
            )


def peers(run):
    targets = {"torch": 80, "numpy": 150}
    for c in (10, 100):
        ours = run.find("everything", c=c, m=100)
        for peer, target in targets.items():
            theirs = [
                line
                for line in run.lines
                if line.get("peer") == peer and line["figure"] == "everything" and line["c"] == c
            ]
            for line in theirs:
                usual = target if line["form"] == "diagonals" else None
                run.divide(f"everything: {peer}, {line['form']} / ours", line, ours, usual, c=c, m=100)
            if theirs:
                best = min(theirs, key=lambda line: line["ms"])
                run.divide(f"everything: best {peer} form / ours", best, ours, target, c=c, m=100, note=best["form"])


def in_memory(run):
    for line in [line for line in run.ours if line["figure"] == "epjs" and line["tier"] == run.tier]:
        m, c = line["m"], line["c"]
        pairs = run.find("epjs by pairs", m=m, c=c)
        run.divide("EPJS: pairwise loop / ours", pairs, line, {100: 5, 1000: 40}.get(m), c=c, m=m)
    first, last = run.find("epjs", m=100, c=10), run.find("epjs", m=1000, c=10)
    run.divide("EPJS: time per value, M = 1000 / M = 100", last, first, key="ns_per_value", c=10)
    for c in (10, 100):
        run.divide(
            "GMU, SNR, decisions / read once",
            run.find("gmu, snr, decisions", c=c),
            run.find("read once", c=c),
            2,
            False,
            c=c,
            m=100,
        )
    for c in (10, 100):
        for figure, target in (("all but GEPJS", 4), ("all but EPJS and GEPJS", None)):
            run.divide(
                f"{figure}: 16 k / 1 k",
                run.find(figure, c=c, k=16),
                run.find(figure, c=c, k=1),
                target,
                False,
                c=c,
                m=100,
            )
    for tier, target in (("avx2", 0.45), ("portable", 0.1)):
        for c in (10, 100):
            if run.tier == "avx512":
                run.divide(
                    f"everything: avx512 / {tier} time",
                    run.find("everything", c=c),
                    run.find("everything", tier, c=c),
                    target,
                    c=c,
                    m=100,
                )


def small(run):
    one, stream = run.find("one sample"), run.find("decide --stdin-jsonl")
    if one:
        run.add("one sample, every measure, us", 1e3 * one["ms"], 40, False, c=one["c"], m=one["m"])
    if stream:
        what, rate = "decide --stdin-jsonl, lines per second of a core", stream["lines_per_core_s"]
        run.add(what, rate, 100000, c=stream["c"], m=stream["m"])


def from_file(run):
    memory = run.find("file: in memory")
    for figure in ("file: score -o .npz", "file: score --json"):
        line = run.find(figure)
        if line:
            run.divide(f"{figure}, rate / in memory", line, memory, 0.6, key="mb_per_s", c=line["c"], m=line["m"])
            run.add(f"{figure}, peak MB", line["peak_mb"], 300, False, c=line["c"], m=line["m"])


def judge(row):
    """Whether the target is met; None without one."""
    if row["target"] is None:
        return None
    return row["value"] >= row["target"] if row["at_least"] else row["value"] <= row["target"]


def json_line(row):
    line = {"bench": "score", "figure": "ratio", "what": row["what"], "m": row["m"], "c": row["c"]}
    line["ratio"] = float(f"{row['value']:.4g}")
    if row["cpu"] is not None:
        line["cpu_ratio"] = float(f"{row['cpu']:.4g}")
    if row["target"] is not None:
        line |= {"target": row["target"], "bound": ">=" if row["at_least"] else "<=", "met": judge(row)}
    return json.dumps(line | {"note": row["note"]})


def cells(row):
    goal = "" if row["target"] is None else f"{'>=' if row['at_least'] else '<='} {row['target']:g}"
    cpu = "" if row["cpu"] is None else f"{row['cpu']:.3g}"
    verdict = {None: "", True: "met", False: "missed"}[judge(row)]
    return [
        row["what"],
        str(row["m"] or ""),
        str(row["c"] or ""),
        f"{row['value']:.3g}",
        cpu,
        goal,
        verdict,
        row["note"],
    ]


HEADER = ["", "M", "C", "ratio", "by CPU", "target", "", "from"]


def main():
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--markdown"):
        raise SystemExit(__doc__)
    run = Run(read(sys.argv[1]))
    peers(run)
    in_memory(run)
    small(run)
    from_file(run)
    if len(sys.argv) == 3:
        for row in [HEADER, ["---"] * len(HEADER)] + [cells(row) for row in run.rows]:
            print("| " + " | ".join(row) + " |")
        return
    for row in [HEADER] + [cells(row) for row in run.rows]:
        print("{:52} {:>5} {:>4} {:>8} {:>8} {:>8} {:6} {}".format(*row), file=sys.stderr)
    for row in run.rows:
        print(json_line(row))
    missed = sum(judge(row) is False for row in run.rows)
    print(f"{missed} targets missed" if run.rows else "nothing to compare", file=sys.stderr)


if __name__ == "__main__":
    main()
