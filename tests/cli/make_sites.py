"""make_sites.py FILE AXES TYPE: predictions of 3 images of 5 x 7 sites, 3 members, 4 classes as .npy with these axes;
TYPE f4, f8, e (float16), or >f4. make_sites.py FILE labels: their label maps as uint8, 255 on a tenth of the sites.
make_sites.py FILE.npz flat: the sites that are not 255 as samples P (N, M, C), and their labels L. make_sites.py
FILE one-image: a member of the first image (C, H, W); labels-one: its map. make_sites.py
FILE strip: one member's image of 1 x 21 sites, site i surely of class i (H, W, M, C). make_sites.py
FILE labels-none: maps that are 255 everywhere; labels-small: maps of another size.
make_sites.py FILE.npz copies: each of those samples as an image of 2 x 3 equal sites, P (N, M, C, H, W) and L.
make_sites.py FILE.npz members: one array (N, C, H, W) per member, and label maps `maps`. Only the standard library."""

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


def flat():
    sites = [at for at in walk("NHW", {}) if label(at["N"], at["H"], at["W"]) != 255]
    values = [x for at in sites for m in range(SIZE["M"]) for x in probabilities(at["N"], at["H"], at["W"], m)]
    labels = bytes(label(at["N"], at["H"], at["W"]) for at in sites)
    shape = [len(sites), SIZE["M"], SIZE["C"]]
    return npy("f4", shape, struct.pack(f"<{len(values)}f", *values)), npy("u1", [len(sites)], labels)


def copies():
    sites = [at for at in walk("NHW", {}) if label(at["N"], at["H"], at["W"]) != 255]
    values = []
    for at in sites:
        for m in range(SIZE["M"]):
            for x in probabilities(at["N"], at["H"], at["W"], m):
                values += 6 * [x]
    labels = bytes(label(at["N"], at["H"], at["W"]) for at in sites for _ in range(6))
    shape = [len(sites), SIZE["M"], SIZE["C"], 2, 3]
    return npy("f4", shape, struct.pack(f"<{len(values)}f", *values)), npy("u1", [len(sites), 2, 3], labels)


name, what = sys.argv[1:3]
if what == "members":
    with zipfile.ZipFile(name, "w") as file:
        for m in range(SIZE["M"]):
            file.writestr(f"model_{m}.npy", array("NCHW", "f4", {"M": m}.items()))
        file.writestr("maps.npy", maps())
elif what in ("flat", "copies"):
    with zipfile.ZipFile(name, "w") as file:
        for key, data in zip(("P", "L"), flat() if what == "flat" else copies(), strict=True):
            file.writestr(f"{key}.npy", data)
else:
    others = {
        "labels": maps,
        "labels-one": lambda: npy("u1", [5, 7], bytes(label(0, at["H"], at["W"]) for at in walk("HW", {}))),
        "one-image": lambda: array("CHW", "f4", {"N": 0}.items()),
        "strip": lambda: npy("f4", [1, 21, 1, 21], struct.pack("<441f", *(i % 22 == 0 for i in range(441)))),
        "labels-none": lambda: npy("u1", [3, 5, 7], bytes([255] * 105)),
        "labels-small": lambda: npy("u1", [3, 5, 6], bytes(90)),
    }
    with open(name, "wb") as out:
        out.write(others[what]() if what in others else array(what, sys.argv[3]))
