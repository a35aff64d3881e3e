"""Our readers of .npy, .npz, .safetensors and .csv against NumPy, safetensors and pandas, on mutated files.

    python differential.py DUMP_ARRAYS [--cases 6000] [--seed 1] [--format npz]

What the other reader refuses, ours must refuse; what both accept must have the same names, shapes and values. Ours may
refuse more. docs/formats.md names where and why.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import random
import re
import resource
import struct
import subprocess
import sys
import warnings
import zipfile
from collections import Counter

import numpy as np

FORMATS = ("npy", "npz", "safetensors", "csv")
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "05",
    "1L",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "1.0",
    "0x2",
]
TYPES = ["<f4", "<f8", ">f8", "<f2", ">f2", "|f4", "=f4", "<i8", ">i4", "|i1", "|u1", "<u2", ">u8", "|b1", "?", "f8"]
TYPES += ["<U2", "xU2", "|S3", ">U1", "|O", "<c8", "<V2", "<M8[s]", "<f16", "", "<f", "<i3", "!f4", "<b1", "<f04"]
CELLS = ["0.5", ".5", "5.", "1e-3", "1E5", "+0.25", "-0", "1e400", "-1e400", "4.9e-324", "nan", "NaN", "inf", "-Inf"]
CELLS += ["0x1p-1", "1_0", "0.1e", " 0.5", "0.5 ", '"0.5"', '"0.5', "", "NA", "abc", "1e5000", "0.1234567890123456789"]
CELLS += ["1,5", "0.5x", "--1", "1e-5000", "2.2250738585072011e-308", "9007199254740993", "True", "1 2", "\t1", "1d3"]


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Random bytes changed, removed, inserted or copied."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = rng.randrange(256)
        elif kind == 2:
            del out[at : at + rng.randint(1, 8)]
        elif kind == 3:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif out:
            start = rng.randrange(len(out))
            out[at:at] = out[start : start + rng.randint(1, 16)]
    return bytes(out)


def mutated_text(text: str, rng: random.Random, words: list[str]) -> str:
    """One number, word or sign of a text replaced."""
    spots = [m.span() for m in re.finditer(r"-?[0-9.]+|[A-Za-z_]+|[^\w\s]|\s", text)]
    if not spots:
        return text
    start, end = rng.choice(spots)
    return (
        text[:start]
        + rng.choice([*words, "", ",", "(", ")", "'", '"', " ", "\n", "#", "[", "]", "{", "}"])
        + text[end:]
    )


# --- a file of each kind, and what the other reader makes of it


def npy_bytes(rng: random.Random, harm: float = 0.6) -> bytes:
    """harm: how often something is wrong with it."""
    shape = rng.choice([(), (0,), (1,), (3,), (2, 2), (2, 1, 2), (0, 3), (1, 2, 3, 1), (2, 0, 2)])
    descr = rng.choice(TYPES if rng.random() < harm / 4 else TYPES[:14])
    order = rng.choice(["True", "False"])
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < harm / 2:
        header = mutated_text(header, rng, [*NUMBERS, *TYPES, "True", "False", "shape", "descr"])
    header += rng.choice(["", " "]) * rng.randrange(20) + "\n"
    if rng.random() < harm / 8:
        header = header[:-1] + rng.choice(["", "\f\n", "\r\n", "x\n", " # a\n", "\0\n"])
    version = rng.choice([1, 1, 1, 2, 3]) if rng.random() > harm / 8 else rng.randrange(6)
    coded = header.encode("latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(coded))
    size = int(np.prod(shape, dtype=np.int64)) * {"1": 1, "2": 2, "4": 4}.get(descr[-1:], 8)
    size += rng.choice([-1, 1, 8]) if rng.random() < harm / 4 else 0
    body = bytes(rng.choice([0, 0, 1, 0x3F, 0x80, 0xFF, 0x7F, rng.randrange(256)]) for _ in range(max(size, 0)))
    data = b"\x93NUMPY" + bytes([version, 0]) + length + coded + body
    return mutated_bytes(data, rng) if rng.random() < harm / 4 else data


def npz_bytes(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for name in rng.choices(["P", "Z", "L", "a/b", "é", "", "P.npy", "x.txt"], k=rng.randint(1, 2)):
            info = zipfile.ZipInfo(name if name.endswith("t") else name + ".npy")
            info.compress_type = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED])
            info.extra = rng.choice([b"", b"", b"UT\x01\x00x"])
            with archive.open(info, "w", force_zip64=rng.random() < 0.2) as member:
                member.write(npy_bytes(rng, 0.15))
        archive.comment = rng.choice([b"", b"", b"PK\x05\x06", b'{"a": "b"}'])
    data = out.getvalue()
    return mutated_bytes(data, rng) if rng.random() < 0.5 else data


def safetensors_bytes(rng: random.Random) -> bytes:
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "U16": 2, "BOOL": 1}
    header: dict[str, object] = {}
    at = 0
    if rng.random() < 0.3:
        header["__metadata__"] = rng.choice([{}, {"a": "b"}, {"a": "é\n"}, {"a": 1}, [], None, {"a": "\u0000"}])
    for name in rng.sample(["P", "Z", "L", "w.é", ""], rng.randint(0, 3)):
        dtype = rng.choice(list(sizes))
        shape = rng.choice([[], [0], [1], [3], [2, 2], [2, 1, 2], [2, 0, 2]])
        end = at + int(np.prod(shape, dtype=np.int64)) * sizes[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, ensure_ascii=rng.random() < 0.5, separators=rng.choice([(",", ":"), (", ", ": ")]))
    if rng.random() < 0.5:
        text = mutated_text(
            text, rng, [*NUMBERS, *sizes, "F8_E4M3", "C64", "F4", "null", "true", "1e0", "-0", "2.0", "dtype"]
        )
    coded = rng.choice([b"", b"", b"", b" ", b"\n"]) + text.encode("utf-8") + b" " * rng.choice([0, 0, 3, 8])
    body = bytes(rng.randrange(256) for _ in range(max(at + rng.choice([0, 0, 0, 0, 0, 1, -1]), 0)))
    data = struct.pack("<Q", len(coded)) + coded + body
    return mutated_bytes(data, rng) if rng.random() < 0.25 else data


def csv_bytes(rng: random.Random) -> bytes:
    classes, rows = rng.randint(2, 4), rng.randint(1, 5)
    end = rng.choice(["\n", "\n", "\r\n"])
    names = [f"p_{c}" for c in rng.sample(["cat", "dog", "a b", "é", "x1"], classes)]
    lines = [["id", *names, "label"]]
    for row in range(rows):
        lines.append(
            [f"s{row}", *(repr(round(rng.random(), rng.randint(1, 17))) for _ in names), str(rng.randrange(classes))]
        )
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        row = rng.randint(1, rows)
        lines[row][rng.randint(1, classes)] = rng.choice(CELLS)
    if rng.random() < 0.1:
        row = rng.randint(1, rows)
        lines[row] = lines[row][:-1] if rng.random() < 0.5 else [*lines[row], "0.5"]
    header, *body = (",".join(line) for line in lines)
    rest = (end.join(body) + rng.choice([end, end, "", end + end])).encode()
    if rng.random() < 0.2:  # not the header: what its names mean is ours to say
        rest = mutated_bytes(rest, rng)
    return rng.choice([b"", b"", b"", b"\xef\xbb\xbf"]) + (header + end).encode() + rest


Arrays = dict[str, np.ndarray]


def from_npy(data: bytes) -> Arrays:
    return {"": np.load(io.BytesIO(data), allow_pickle=False)}


def from_npz(data: bytes, wanted: list[str]) -> Arrays:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        there = archive.zip.namelist()
        found = {}
        for name in wanted:  # without the flag for UTF-8, names are read as code page 437
            old = name.encode("utf-8", "surrogateescape").decode("cp437")
            found[name] = archive[name + ".npy" if name + ".npy" in there else old + ".npy"]
        return found


def from_safetensors(data: bytes, wanted: list[str]) -> Arrays:
    from safetensors import deserialize

    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"}
    kinds |= {"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"}
    found: Arrays = {}
    for name, tensor in deserialize(data):
        if name not in wanted:
            continue
        if tensor["dtype"] == "BF16":
            raw = np.frombuffer(bytes(tensor["data"]), "<u2").astype("<u4") << 16
            found[name] = raw.view("<f4").reshape(tensor["shape"])
        else:
            found[name] = np.frombuffer(bytes(tensor["data"]), kinds[tensor["dtype"]]).reshape(tensor["shape"])
    return found


def from_csv(data: bytes, wanted: list[str]) -> Arrays:
    import pandas

    table = pandas.read_csv(io.BytesIO(data), float_precision="round_trip", encoding="utf-8", encoding_errors="replace")
    values = table.iloc[:, 1:-1].apply(pandas.to_numeric).to_numpy(dtype=float)  # between id and label
    return {name: values for name in wanted if name in "PZ"}


# --- ours


def ours(program: str, kind: str, files: list[bytes]) -> list[str | Arrays]:
    """What our reader makes of each file: a message, or the arrays that it could read."""
    name = f"f.{kind}".encode()
    frame = struct.pack("=I", len(name)) + name
    sent = b"".join(frame + struct.pack("=I", len(data)) + data for data in files)
    answer = io.BytesIO(subprocess.run([program], input=sent, stdout=subprocess.PIPE, check=True).stdout)

    def text() -> str:
        (length,) = struct.unpack("=I", answer.read(4))
        return answer.read(length).decode("utf-8", "surrogateescape")

    results: list[str | Arrays] = []
    for _ in files:
        if answer.read(1) == b"\0":
            results.append(text())
            continue
        arrays: Arrays = {}
        for _ in range(struct.unpack("=I", answer.read(4))[0]):
            label = text()
            _, rank = answer.read(2)
            shape = struct.unpack(f"={rank}Q", answer.read(8 * rank))
            if answer.read(1) == b"\1":
                count = math.prod(shape)
                arrays[label] = np.frombuffer(answer.read(8 * count), "=f8").reshape(shape)
        results.append(arrays)
    return results


def same(a: np.ndarray, b: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        b = b.astype(np.float64)
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


def judge(kind: str, data: bytes, mine: str | Arrays) -> tuple[str, str]:
    """How the case went, and what to say where that is bad."""
    wanted = [] if isinstance(mine, str) else list(mine)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "npy":
                theirs = from_npy(data)
            else:
                theirs = {"npz": from_npz, "safetensors": from_safetensors, "csv": from_csv}[kind](data, wanted)
    except Exception as error:  # whatever it raises is a refusal, MemoryError too
        if isinstance(mine, str):
            return "both refuse", ""
        if not mine and kind != "safetensors":
            return "nothing read", ""
        return "BAD: accepted alone", f"the other: {type(error).__name__}: {str(error)[:150]}"
    if isinstance(mine, str):
        return "ours refuses", mine
    for name, array in mine.items():
        if name in theirs and not same(array, theirs[name]):
            return "BAD: differ", f"'{name}': {array.tolist()} against {theirs[name].tolist()}"
    return "same" if mine else "nothing read", ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program")
    options.add_argument("--cases", type=int, default=6000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--format", choices=FORMATS)
    options.add_argument("--show", type=int, default=5)
    options.add_argument("--reasons", action="store_true", help="why ours refuses what the other accepts")
    given = options.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # NumPy allocates what a header asks for
    failed = 0
    for kind in [given.format] if given.format else FORMATS:
        rng = random.Random(f"{kind} {given.seed}")
        make = {"npy": npy_bytes, "npz": npz_bytes, "safetensors": safetensors_bytes, "csv": csv_bytes}[kind]
        files = [make(rng) for _ in range(given.cases // (1 if given.format else len(FORMATS)))]
        tally: Counter[str] = Counter()
        shown: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for data, mine in zip(files, ours(given.program, kind, files), strict=True):
            verdict, reason = judge(kind, data, mine)
            tally[verdict] += 1
            if given.reasons and verdict == "ours refuses":
                reasons[re.sub(r"[0-9]+|'[^']*'", "*", reason)[:110]] += 1
            if verdict.startswith("BAD"):
                failed += 1
                shown[verdict] += 1
                if shown[verdict] <= given.show:
                    print(f"{kind}: {verdict}: {reason}\n    {data[:300]!r}")
        for reason, count in reasons.most_common(12):
            print(f"{count:6d} {reason}")
        print(f"{kind}: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.items())))
        if tally["same"] < len(files) // 10:
            print(f"{kind}: fewer than a tenth of the files were read by both: the test is too hostile to mean much")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
