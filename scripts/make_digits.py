#!/usr/bin/env python3
"""Makes the data sets that ship in data/: a balanced sample of MNIST, and of Fashion-MNIST as its out-of-distribution
partner.

    scripts/make_digits.py MNIST_FOLDER FASHION_FOLDER OUT_FOLDER

The two source folders hold the official IDX files (.gz or plain); `vargate data fetch mnist` and `vargate data fetch
fashion-mnist` download them. Of the n images of a class in a source, numbers floor((j + 1/2) n / m), j = 0 .. m - 1,
are taken, and kept in the order of the source. Nothing is random, so the files are the same every time (up to zlib's
choice of compressed form). Standard library only."""

import gzip
import os
import struct
import sys


def load(folder, name):
    """The bytes of an IDX file and its header's integers."""
    path = os.path.join(folder, name + ".gz")
    data = gzip.open(path).read() if os.path.exists(path) else open(os.path.join(folder, name), "rb").read()
    magic = struct.unpack(">I", data[:4])[0]
    rank = magic & 255
    sizes = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return data[4 + 4 * rank :], sizes


def save(path, magic, sizes, body):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(struct.pack(f">I{len(sizes)}I", magic, *sizes) + body)
    print(path, os.path.getsize(path), "bytes")


def sample(source, part, each, out):
    images, (count, rows, columns) = load(source, f"{part}-images-idx3-ubyte")
    labels, _ = load(source, f"{part}-labels-idx1-ubyte")
    chosen = []
    for label in range(10):
        members = [i for i in range(count) if labels[i] == label]
        chosen += [members[(2 * j + 1) * len(members) // (2 * each)] for j in range(each)]
    chosen.sort()
    os.makedirs(out, exist_ok=True)
    size = rows * columns
    save(
        os.path.join(out, f"{part}-images-idx3-ubyte.gz"),
        0x803,
        (len(chosen), rows, columns),
        b"".join(images[i * size : (i + 1) * size] for i in chosen),
    )
    save(os.path.join(out, f"{part}-labels-idx1-ubyte.gz"), 0x801, (len(chosen),), bytes(labels[i] for i in chosen))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    mnist, fashion, out = sys.argv[1:]
    sample(mnist, "train", 500, os.path.join(out, "digits"))
    sample(mnist, "t10k", 200, os.path.join(out, "digits"))
    sample(fashion, "t10k", 200, os.path.join(out, "fashion"))
