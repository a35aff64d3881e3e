"""`vargate evaluate` against reading and scoring the same file with the entropies alone: runs of both in turn, the
ratio of their medians, batch by batch. Standard library only.

    python3 bench_evaluate.py BUILD FOLDER [--divide D] [--batches 3] [--runs 15]

The file, (1,000,000, 8, 10) float32 by bench_score's --dump, and its labels are written to FOLDER and removed
afterwards.
"""

import argparse
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import time

MOST = 4.0  # the target


def write_labels(path, count, classes):
    draw = random.Random(7)
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({count},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{count}i", *(draw.randrange(classes) for _ in range(count))))


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--divide", type=int, default=1)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    n, m, c = 1000000 // args.divide, 8, 10
    values, labels = os.path.join(args.folder, "e.npy"), os.path.join(args.folder, "e-labels.npy")
    program = os.path.join(args.build, "vargate")
    try:
        subprocess.run([os.path.join(args.build, "bench_score"), "--dump", values, str(n), str(m), str(c)], check=True)
        write_labels(labels, n, c)
        whole = [program, "evaluate", values, "--labels", labels, "--json"]
        entropies = [program, "score", values, "--measures", "entropies", "--json"]
        for batch in range(args.batches):
            times = [(seconds(whole), seconds(entropies)) for _ in range(args.runs)]
            ours, base = (statistics.median(column) for column in zip(*times))
            least = [min(column) for column in zip(*times)]
            line = {
                "bench": "evaluate",
                "figure": "evaluate / entropies",
                "batch": batch,
                "n": n,
                "m": m,
                "c": c,
                "runs": args.runs,
            }
            line |= {"s": round(ours, 4), "entropies_s": round(base, 4), "ratio": round(ours / base, 3)}
            line |= {"ratio_of_least": round(least[0] / least[1], 3), "target": MOST, "met": ours / base < MOST}
            print(json.dumps(line), flush=True)
    finally:
        for path in (values, labels):
            if os.path.exists(path):
                os.remove(path)


if __name__ == "__main__":
    sys.exit(main())
