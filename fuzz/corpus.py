"""The corpora: files with names, written by hand, and NAME/found.inputs, what long runs of the fuzzers left.

    python fuzz/corpus.py unpack NAME FOLDER    every input of target NAME as a file of FOLDER, for libFuzzer or AFL++
    python fuzz/corpus.py pack NAME FOLDER      the files of FOLDER (minimised by -merge=1) become NAME/found.inputs

In found.inputs every input follows its length (4 bytes, little-endian); replay.c reads it too.
"""

from __future__ import annotations

import hashlib
import pathlib
import struct
import sys

CORPUS = pathlib.Path(__file__).parent / "corpus"
PACKED = "found.inputs"


def unpack(name: str, folder: pathlib.Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    inputs = [path.read_bytes() for path in sorted((CORPUS / name).iterdir()) if path.name != PACKED]
    packed = CORPUS / name / PACKED
    data = packed.read_bytes() if packed.exists() else b""
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        inputs.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    for content in inputs:
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)
    return len(inputs)


def pack(name: str, folder: pathlib.Path) -> int:
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    by_hand = {path.read_bytes() for path in (CORPUS / name).iterdir() if path.name != PACKED}
    inputs = {path.read_bytes() for path in folder.iterdir() if path.is_file()} - by_hand
    ordered = sorted(inputs, key=lambda content: (len(content), content))
    (CORPUS / name / PACKED).write_bytes(b"".join(struct.pack("<I", len(c)) + c for c in ordered))
    return len(ordered)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    print((pack if sys.argv[1] == "pack" else unpack)(sys.argv[2], pathlib.Path(sys.argv[3])), "inputs")
