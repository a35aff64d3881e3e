#!/usr/bin/env python3
"""Line and branch coverage of src/ without the CUDA files, of a build with the preset "coverage" whose tests have run.

    scripts/coverage.py BUILD [--lines 95] [--branches 85] [--files 20]

Reads what gcov makes of every object. A line or branch counts as run where it ran in any object: a header that several
vector tiers compile is covered by the tier that ran it. Prints the files with the most lines that no test ran, a line
for every module, and the total; the exit status is 1 where the total is below --lines or --branches per cent."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def counted(path):
    return path.startswith("src/") and "/cuda/" not in path


def read_object(data):
    """What gcov says of one object: {file: ({line: count}, {line: [count of each branch]})}."""
    command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", str(data)]
    out = subprocess.run(command, cwd=data.parent, capture_output=True, check=False).stdout
    found = {}
    for text in out.splitlines():
        for file in json.loads(text)["files"]:
            path = pathlib.Path(file["file"])
            name = os.path.relpath(path if path.is_absolute() else ROOT / path, ROOT)
            if not counted(name):
                continue
            lines, branches = found.setdefault(name, ({}, {}))
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] = max(lines.get(number, 0), line["count"])
                ends = [b["count"] for b in line["branches"] if not b["throw"]]
                if ends:
                    branches[number] = joined(branches.get(number), ends)
    return found


def joined(one, other):
    """Branches of a line in two objects. Where they are not the same, the object in which more of them ran counts."""
    if one is None:
        return other
    if len(one) == len(other):
        return [max(pair) for pair in zip(one, other)]
    return max(one, other, key=lambda ends: sum(count > 0 for count in ends) / len(ends))


def read_build(build):
    total = {}
    data = sorted(path for path in pathlib.Path(build).resolve().rglob("*.gcda") if "vargate-" in str(path))
    if not data:
        raise SystemExit(f"coverage: {build} has no counts: build with the preset coverage and run the tests")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_object, data):
            for name, (lines, branches) in found.items():
                all_lines, all_branches = total.setdefault(name, ({}, {}))
                for number, count in lines.items():
                    all_lines[number] = max(all_lines.get(number, 0), count)
                for number, ends in branches.items():
                    all_branches[number] = joined(all_branches.get(number), ends)
    return total


def figures(entries):
    """Lines run, lines, branches run, branches."""
    lines = [count for lines, _ in entries for count in lines.values()]
    ends = [count for _, branches in entries for counts in branches.values() for count in counts]
    return sum(c > 0 for c in lines), len(lines), sum(c > 0 for c in ends), len(ends)


def show(name, entries):
    run, lines, taken, branches = figures(entries)
    line_share, branch_share = 100 * run / max(1, lines), 100 * taken / max(1, branches)
    print(f"{name:44} {run:6} of {lines:6} lines {line_share:6.2f} %  "
          f"{taken:6} of {branches:6} branches {branch_share:6.2f} %")  # fmt: skip
    return line_share, branch_share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--lines", type=float, default=0)
    parser.add_argument("--branches", type=float, default=0)
    parser.add_argument("--files", type=int, default=20)
    options = parser.parse_args()
    total = read_build(options.build)
    missing = sorted(total, key=lambda name: -sum(count == 0 for count in total[name][0].values()))
    for name in missing[: options.files]:
        show(name, [total[name]])
    for module in sorted({name.split("/")[1] for name in total}):
        show(f"src/{module}", [entry for name, entry in total.items() if name.split("/")[1] == module])
    lines, branches = show("src", list(total.values()))
    return 1 if lines < options.lines or branches < options.branches else 0


if __name__ == "__main__":
    sys.exit(main())
