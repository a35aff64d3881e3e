"""Files of at most 1 MB that ask for far more: memory, members, classes, nesting. Each is refused with one line. Then
commands on a file of which they need much: they stay below the formulas of docs/limits.md.

    python bombs.py VARGATE FOLDER

The program runs with at most 1 GiB of address space. A refusal takes less than PEAK of resident memory and few seconds;
files that really are large when they are expanded (deflated zeros) are read in bounded memory. docs/limits.md has the
bounds.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import time
import zipfile
import zlib

ADDRESS_SPACE = 1 << 30
PEAK = 64 << 20  # bytes of resident memory, and for .gz what it expands to
SECONDS = 20.0
MEGABYTE = 1 << 20


def npy(shape: str, data: bytes = b"", descr: str = "<f8") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def claiming(data: bytes, size: int) -> bytes:
    """The only member of an archive claims to have `size` bytes."""
    out = bytearray(data)
    at = out.index(b"PK\x01\x02")
    struct.pack_into("<I", out, 22, size)
    struct.pack_into("<I", out, at + 24, size)
    return bytes(out)


def tensors(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int) -> bytes:
    pixels = zlib.compress(bytes(100 * MEGABYTE), 9)
    start = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", start) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    quantise = b"\xff\xdb\x00\x43\x00" + bytes([1] * 64)
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03\x01\x22\x00\x02\x11\x00\x03\x11\x00"
    return b"\xff\xd8" + quantise + frame + b"\xff\xd9"


def matlab(rows: int) -> bytes:
    def element(kind: int, data: bytes) -> bytes:
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    parts = element(6, struct.pack("<II", 9, 0)) + element(5, struct.pack("<4i", 32, 32, 3, rows))
    parts += element(1, b"X") + element(2, bytes(64))
    return b"MATLAB".ljust(124) + b"\x00\x01IM" + element(14, parts)


def checkpoint(**state: object) -> bytes:
    known = {"epoch": 1, "classes": 2, "channels": 1, "height": 8, "width": 8, "mean": [0.5], "std": [0.5]}
    metadata = {"recipe": "heads: 2\n", "state": json.dumps(known | state), "vargate": "0.1.0"}
    return tensors(json.dumps({"__metadata__": metadata}).encode())


def deep(opening: str, closing: str = "") -> bytes:
    return (
        opening * (MEGABYTE * 3 // 8 // len(opening)) + closing * (MEGABYTE * 3 // 8 // len(closing or opening))
    ).encode()


def bombs() -> dict[str, tuple[bytes, list[str]]]:
    """Name of the file -> its bytes, and the command that reads it, in which @ stands for the file."""
    score, data, train = ["score", "@"], ["data", "info", "path:@"], ["train", "@", "-o", "run"]
    zeros = npy("(100000000, 1, 1)", bytes(0))
    big = bytes(128 * MEGABYTE)
    wide = ",".join(f"p_{i}" for i in range(100000))
    files: dict[str, tuple[bytes, list[str]]] = {
        "memory.npy": (npy("(1000000, 1000, 1000)", bytes(64)), score),
        "product.npy": (npy("(4294967296, 4294967296, 4)", bytes(64)), score),
        "empty.npy": (npy("(0, 4294967296, 4294967296)"), score),
        "header.npy": (b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFF0) + bytes(MEGABYTE - 64), score),
        "text.npy": (npy("(1000000,)", bytes(64), "<U999999"), score),
        "memory.npz": (zipped({"P.npy": npy("(1000000, 1000, 1000)", bytes(64))}), score),
        "claim.npz": (claiming(zipped({"P.npy": npy("(500000000, 1)", bytes(64))}), 0xFFFFFFF0), score),
        "short.npz": (claiming(zipped({"P.npy": npy("(2, 1, 2)", big)}), 128), score),
        "members.npz": (b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFF, 0, 0), score),
        "deflated-header.npz": (
            zipped({"P.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 100 * MEGABYTE) + big}),
            score,
        ),
        "memory.safetensors": (
            tensors(b'{"P":{"dtype":"F64","shape":[1000000,1000,1000],"data_offsets":[0,8000000000000]}}'),
            score,
        ),
        "header.safetensors": (tensors(bytes(64), length=1 << 62), score),
        "nested.safetensors": (tensors(b'{"a":' + deep("[", "]") + b"}"), score),
        "objects.safetensors": (tensors(deep('{"a":', "}")), score),
        "axes.safetensors": (
            tensors(b'{"P":{"dtype":"F64","shape":[' + b"1," * 400000 + b'1],"data_offsets":[0,8]}}', bytes(8)),
            score,
        ),
        "labels.csv": (b"id,p_a,p_b,label\ns,0.5,0.5,1000000000000\n", ["evaluate", "@"]),
        "members.csv": (b"id,member,p_a,p_b\ns,0,0.5,0.5\ns,1000000000000,0.5,0.5\n", score),
        "classes.csv": (f"id,{wide}\ns,0.5\n".encode(), score),
        "quotes.csv": (b'id,p_a,p_b\ns,"' + b'""' * 400000, score),
        "nested.jsonl": (b'{"p": ' + deep("[", "]") + b"}\n", score),
        "open.jsonl": (b'{"p": ' + deep("["), score),
        "objects.jsonl": (deep('{"p":', "}"), score),
        "label.jsonl": (b'{"p": [[0.5, 0.5]], "label": 1000000000000}\n', ["evaluate", "@"]),
        "nested.json": (deep("[", "]"), score),
        "objects.json": (deep('{"a":', "}"), score),
        "zeros.json.gz": (gzip.compress(b"[" * (100 * MEGABYTE)), score),
        "zeros.npy.gz": (gzip.compress(zeros + bytes(64 * MEGABYTE)), score),
        "zeros.csv.gz": (gzip.compress(bytes(100 * MEGABYTE)), score),
        "nested.yaml": (b"k: " + deep("[", "]"), train),
        "flow.yaml": (b"k: " + deep("{a: ", "}"), train),
        "aliases.yaml": (b"a: &a [x]\nb: [" + b"*a, " * 200000 + b"]\n", train),
        "heads.yaml": (b"heads: 1000000000000\n", train),
        "indent.yaml": ("".join(" " * (i % 700) + "a:\n" for i in range(1400)).encode(), train),
        "images-idx3-ubyte": (struct.pack(">IIII", 0x803, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF) + bytes(64), data),
        "photos.mat": (matlab(0x7FFFFFFF), data),
        "images.npz": (zipped({"x.npy": npy("(1000000000, 1000, 1000, 3)", b"", "|u1")}), data),
        "sides.png": (png(0x7FFFFFFF, 0x7FFFFFFF), data),
        "pixels.png": (png(16384, 16384), data),
        "sides.jpg": (jpeg(65535, 65535), data),
    }
    for name, state in {
        "classes": {"classes": 10**18},
        "image": {"height": 10**9, "width": 10**9},
        "step": {"epoch": 10**18, "total_steps": -1},
    }.items():
        files[f"{name}/last.safetensors"] = (checkpoint(**state), ["predict", "@@", "--data", "x", "-o", "p.npz"])
    for name in ("nested", "numbers"):
        content = deep("[", "]") if name == "nested" else b"[" + b"1," * 400000 + b"1]"
        files[f"{name}-temperatures.json"] = (
            b'{"temperatures": ' + content + b"}",
            ["score", "small.npy", "--temperature", "@"],
        )
    return files


# A process of its own starts the program: the peak of a child begins at what its parent has in memory.
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open("usage", "w") as file:
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, file=file)
"""


def run(
    command: list[str], folder: pathlib.Path, given: bytes = b"", environment: dict[str, str] | None = None
) -> tuple[int, str, int, float]:
    """Exit code, standard error, peak of resident bytes, seconds; standard input is `given`."""
    start = time.monotonic()
    starter = [sys.executable, "-S", "-c", LIMITED, str(ADDRESS_SPACE), *command]
    around = {**os.environ, **(environment or {})}
    with open(folder / "stderr", "wb") as errors, open(folder / "stdout", "wb") as output:
        subprocess.run(starter, cwd=folder, stdout=output, stderr=errors, input=given, env=around, check=True)
    code, peak = (int(word) for word in (folder / "usage").read_text().split())
    return code, (folder / "stderr").read_text("utf-8", "replace"), peak, time.monotonic() - start


def logits(path: pathlib.Path, n: int, m: int, c: int) -> None:
    draw = random.Random(1)
    block = b"".join(struct.pack("<f", draw.gauss(0, 2)) for _ in range(1000 * m * c))
    labels = struct.pack("<1000q", *(draw.randrange(c) for _ in range(1000)))
    with zipfile.ZipFile(path, "w") as archive:  # stored
        archive.writestr("Z.npy", npy(f"({n}, {m}, {c})", block * (n // 1000), "<f4"))
        archive.writestr("L.npy", npy(f"({n},)", labels * (n // 1000), "<i8"))


def bounds(n: int, m: int, c: int, few: int) -> dict[str, int]:
    """The formulas of docs/limits.md: files of n, of few, and of 10,000 samples with 100 classes; a line; a network."""
    array, row = 4 * n * m * c, 16 * c
    line, values, parameters, batch = 1 << 20, 50000, 40000, 64
    recipe = f"quickstart --set network=cnn-16-48 --set heads=2 --set epochs=1 --set batch={batch}"
    above = {
        "score large.npz -o scores.npz --force": min(96 * MEGABYTE, (400 + row) * n),
        "score wide.npz -o scores.npz --force": min(96 * MEGABYTE, (400 + 16 * 100) * 10000),
        "evaluate large.npz": (400 + row) * n + 2 * array,
        "calibrate large.npz -o temps.json --force": array,
        "decide large.npz -k 1 -o decisions.jsonl --force": (300 + 8 * c) * n,
        "sets large.npz --calibration large.npz -o sets.csv --force": (300 + 8 * c) * n,
        "ood large.npz large.npz -o ood.json --force": 400 * 2 * n,
        "report large.npz -o page --no-figures": (800 + row) * n + 2 * array,
        "fit-k few.npz -o k.json --force": (400 + 50 * c) * few + 4 * few * m * c,
        "compare few.npz few.npz --bootstrap 10 -o compared.json --force": (500 + row) * few + 8 * few * m * c,
        "decide --stdin-jsonl": 50 * line,
        f"train {recipe} --set train_limit=128 --set test_limit=64 --out trained": 40 * parameters + 8 * batch * values,
        "predict trained -o predicted.npz --force": 8 * parameters + 512 * values,
    }
    return {command: 64 * MEGABYTE + more for command, more in above.items()}


def within_formulas(program: str, folder: pathlib.Path) -> int:
    """Peaks of commands on N samples, M members and C classes against docs/limits.md; the number that exceed theirs."""
    n, m, c, few = 100000, 4, 8, 2000
    logits(folder / "large.npz", n, m, c)
    logits(folder / "few.npz", few, m, c)
    logits(folder / "wide.npz", 10000, m, 100)
    line = b'{"x": [' + b"[]," * ((1 << 20) // 3 - 12) + b'0], "p": [[0.5, 0.5]]}\n'
    root = pathlib.Path(__file__).resolve().parents[2]
    environment = {"VARGATE_DATA": str(root / "data"), "OMP_WAIT_POLICY": "passive"}
    failed = 0
    for command, bound in bounds(n, m, c, few).items():
        streamed = "--stdin-jsonl" in command
        arguments = [program, *command.split(), "--quiet"] + ([] if streamed else ["--threads", "2"])
        code, text, peak, _ = run(arguments, folder, line if streamed else b"", environment)
        if code != 0 or peak > bound or "-v" in sys.argv:
            print(f"{command}: exit {code}, {peak >> 20} MiB of {bound >> 20} MiB {text[:200] if code else ''}")
        failed += code != 0 or peak > bound
    return failed


def main() -> int:
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.npy").write_bytes(npy("(2, 1, 2)", struct.pack("<4d", 0.5, 0.5, 0.25, 0.75)))
    failed = 0
    for name, (content, command) in bombs().items():
        path = folder / name
        if path.suffix in (".png", ".jpg"):  # image files are read from folders of classes
            path = folder / name / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        shown = str(folder / name)
        words = [w.replace("@@", str(path.parent)).replace("@", shown) for w in command]
        code, text, peak, seconds = run([program, *words], folder)
        wrong = []
        if len(content) > MEGABYTE:
            wrong.append(f"the file has {len(content)} bytes")
        if code not in (1, 2) or text.count("\n") != 1 or not text.startswith("vargate"):
            wrong.append(f"exit {code}, {text[:300]!r}")
        if peak > PEAK + (100 * MEGABYTE if name.endswith(".gz") else 0):
            wrong.append(f"{peak >> 20} MiB")
        if seconds > SECONDS:
            wrong.append(f"{seconds:.1f} s")
        failed += bool(wrong)
        if wrong or "-v" in sys.argv:
            print(f"{name}: {'; '.join(wrong) or 'ok'}: {peak >> 10} KiB, {seconds:.2f} s: {text[:160].strip()}")
    print(f"{len(bombs())} files, {failed} not refused as they should")
    failed += within_formulas(program, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
