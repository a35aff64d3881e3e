"""make_sites.py FILE AXES TYPE: predictions of 3 images of 5 x 7 sites, 3 members, 4 classes as .npy with these axes;
TYPE f4, f8, e (float16), or >f4. make_sites.py FILE labels: their label maps as uint8, 255 on a tenth of the sites.
make_sites.py FILE.npz members: one array (N, C, H, W) a member, and label maps `maps`. Only the standard library."""

import math
import struct
import sys
import zipfile

SIZE = {"N": 3, "H": 5, "W": 7, "M": 3, "C": 4}


def mixed(*numbers):
    x = 12345
    for number in numbers:
        x = (x * 1103515245 + number * 12345 + 6789) % 2**31
        x = (x ^ x >> 11) * 69069 % 2**31
    return x / 2**31


def label(n, h, w):
    return 255 if mixed(7, n, h, w) < 0.1 else int(4 * mixed(8, n, h, w))


def probabilities(n, h, w, m):
    own = label(n, h, w)
    z = [3 * mixed(n, h, w, c) + 2 * mixed(n, h, w, c, m) + (c == own) for c in range(SIZE["C"])]
    total = sum(math.exp(x) for x in z)
    return [round(math.exp(x) / total, 4) for x in z]


def npy(kind, shape, payload):
    order = kind if kind[0] in "<>|" else ("|" if kind == "u1" else "<") + kind
    text = f"{{'descr': '{order}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + payload


def walk(axes, at):
    if not axes:
        yield dict(at)
        return
    for i in range(SIZE[axes[0]]):
        at[axes[0]] = i
        yield from walk(axes[1:], at)


def array(axes, kind, fixed=()):
    values = []
    for at in walk(axes, dict(fixed)):
        values.append(probabilities(at["N"], at["H"], at["W"], at.get("M", 0))[at["C"]])
    code = (">" if kind[0] == ">" else "<") + str(len(values)) + {"f4": "f", "f8": "d", "f2": "e"}[kind[-2:]]
    return npy(kind, [SIZE[letter] for letter in axes], struct.pack(code, *values))


def maps():
    payload = bytes(label(at["N"], at["H"], at["W"]) for at in walk("NHW", {}))
    return npy("u1", [SIZE[letter] for letter in "NHW"], payload)


name, what = sys.argv[1:3]
if what == "members":
    with zipfile.ZipFile(name, "w") as file:
        for m in range(SIZE["M"]):
            file.writestr(f"model_{m}.npy", array("NCHW", "f4", {"M": m}.items()))
        file.writestr("maps.npy", maps())
else:
    with open(name, "wb") as out:
        out.write(maps() if what == "labels" else array(what, sys.argv[3]))
