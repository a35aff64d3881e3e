#!/usr/bin/env python3
"""Line and branch coverage of src/ without the CUDA files, of a build with the preset "coverage" whose tests have run.

    scripts/coverage.py BUILD [--lines 95] [--branches 85] [--files 20] [--show TEXT] [--save FILE] [--join FILE ...]

Reads what gcov makes of every object. A line or branch counts as run where it ran in any object: a header that several
vector tiers compile is covered by the tier that ran it. Prints the files with the most lines that no test ran, a line
for every module, and the total; the exit status is 1 where the total is below --lines or --branches per cent.

--show prints the lines that did not run, and those of whose branches some were not taken, of files whose names contain
TEXT. --save writes all counts to a file; --join adds those that other builds or machines saved of the same sources."""

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
            # A header is named as it was included, by a link of the build's include-order folder.
            name = os.path.relpath((path if path.is_absolute() else ROOT / path).resolve(), ROOT)
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
    objects = sorted(path for path in pathlib.Path(build).resolve().rglob("*.gcno") if "vargate-" in str(path))
    data = [path.with_suffix(".gcda") for path in objects]
    if not any(path.exists() for path in data):
        raise SystemExit(f"coverage: {build} has no counts: build with the preset coverage and run the tests")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_object, [d if d.exists() else o for d, o in zip(data, objects)]):
            join(total, found)
    return total


def join(total, found):
    for name, (lines, branches) in found.items():
        all_lines, all_branches = total.setdefault(name, ({}, {}))
        for number, count in lines.items():
            all_lines[number] = max(all_lines.get(number, 0), count)
        for number, ends in branches.items():
            all_branches[number] = joined(all_branches.get(number), ends)


def by_number(counts):
    """Counts by line as json reads them: keys are texts there."""
    return {int(number): count for number, count in counts.items()}


def show_missing(name, lines, branches):
    source = (ROOT / name).read_text().splitlines()
    for number in sorted(lines):
        ends = branches.get(number, [])
        if lines[number] == 0 or 0 in ends:
            said = "not run" if lines[number] == 0 else f"{sum(count > 0 for count in ends)}/{len(ends)}"
            print(f"{name}:{number}: {said:8}{source[number - 1].strip()}")


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
    parser.add_argument("--show")
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--join", type=pathlib.Path, action="append", default=[])
    options = parser.parse_args()
    total = read_build(options.build)
    for path in options.join:
        saved = json.loads(path.read_text())
        join(total, {name: (by_number(lines), by_number(ends)) for name, (lines, ends) in saved.items()})
    if options.save:
        options.save.write_text(json.dumps(total))
    for name in sorted(total):
        if options.show is not None and options.show in name:
            show_missing(name, *total[name])
    missing = sorted(total, key=lambda name: -sum(count == 0 for count in total[name][0].values()))
    for name in missing[: options.files]:
        show(name, [total[name]])
    for module in sorted({name.split("/")[1] for name in total}):
        show(f"src/{module}", [entry for name, entry in total.items() if name.split("/")[1] == module])
    lines, branches = show("src", list(total.values()))
    return 1 if lines < options.lines or branches < options.branches else 0


if __name__ == "__main__":
    sys.exit(main())
