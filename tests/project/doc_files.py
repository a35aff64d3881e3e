"""doc_files.py FOLDER: the files that the examples of the pages name, by Python's own library alone.

Predictions have 2000 samples, 5 members and 3 classes, P (N, M, C) or, in some, logits Z, and L (N): most are right and
sure; in some the members differ. photos/ has a folder per class with small PNG files; pred.npy and maps.npy are 4
images of 8 x 8 sites."""

import math
import random
import struct
import sys
import zipfile
import zlib
from pathlib import Path


def array(values: bytes, shape: tuple[int, ...], kind: str) -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values


def predictions(seed: int, unknown: bool, logits: bool = False) -> tuple[bytes, bytes]:
    draw = random.Random(seed)
    samples, members, classes = 2000, 5, 3
    values, labels = [], []
    for _ in range(samples):
        label = draw.randrange(classes)
        doubt = unknown or draw.random() < 0.1
        for _ in range(members):
            top = draw.randrange(classes) if doubt else label
            rest = [draw.random() * (1.0 if doubt else 0.02) for _ in range(classes)]
            rest[top] += 1.0
            values += [math.log(v + 1e-6) if logits else v / sum(rest) for v in rest]
        labels.append(label)
    p = array(struct.pack(f"<{len(values)}f", *values), (samples, members, classes), "<f4")
    return p, array(struct.pack(f"<{samples}q", *labels), (samples,), "<i8")


def save(path: Path, seed: int, unknown: bool = False, logits: bool = False) -> None:
    values, labels = predictions(seed, unknown, logits)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("Z.npy" if logits else "P.npy", values)
        out.writestr("L.npy", labels)


def png(path: Path, shade: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((shade + 8 * r + c) % 256 for c in range(3 * 12)) for r in range(12))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 12, 12, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def main() -> None:
    folder = Path(sys.argv[1])
    for seed, name in enumerate(["test", "validation", "val", "mine", "monday", "known", "a", "b"]):
        save(folder / f"{name}.npz", seed, logits=name == "known")
    for seed, name in enumerate(["unknown", "other", "svhn"]):
        save(folder / f"{name}.npz", seed, unknown=True, logits=name != "other")
    save(folder / "logits.npz", 10, logits=True)
    (folder / "predictions.npy").write_bytes(predictions(9, False)[0])
    draw = random.Random(0)
    sites = [draw.random() + 0.1 for _ in range(2 * 4 * 3 * 64)]
    for image in range(2 * 4):  # classes sum to 1 at each site
        for site in range(64):
            places = [image * 3 * 64 + c * 64 + site for c in range(3)]
            total = sum(sites[i] for i in places)
            for i in places:
                sites[i] /= total
    (folder / "pred.npy").write_bytes(array(struct.pack(f"<{len(sites)}f", *sites), (2, 4, 3, 8, 8), "<f4"))
    maps = [draw.choice([0, 1, 2, 255]) for _ in range(4 * 64)]
    (folder / "maps.npy").write_bytes(array(struct.pack(f"<{len(maps)}q", *maps), (4, 8, 8), "<i8"))
    (folder / "table.csv").write_text("cat,dog,truth\n0.75,0.25,cat\n0.4,0.6,dog\n")
    for kind in ("circle", "square"):
        for i in range(3):
            png(folder / "photos" / kind / f"{i}.png", 40 * i + len(kind))


main()
