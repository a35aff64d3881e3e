"""check_maps.py DIR SCORES.csv: the maps of make_sites.py in DIR are the columns of the table, NaN and -2 included, and
the picture of the decisions shows each site in the colour of what was decided. check_maps.py DIR colours: no two
classes of make_sites.py's strip have similar colours. Only the standard library."""

import csv
import math
import struct
import sys
import zlib

folder, table = sys.argv[1:3]
N, H, W = 3, 5, 7


def npy(name):
    with open(f"{folder}/{name}.npy", "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start], {})
    assert header["shape"] == (N, H, W), header
    code = {"<f8": "d", "<i4": "i"}[header["descr"]]
    return struct.unpack(f"<{N * H * W}{code}", data[start:])


def png(name):
    with open(f"{folder}/{name}.png", "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", name
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2), (depth, kind)
    packed, at = b"", 8
    while at < len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        packed += data[at + 8 : at + 8 + size] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + size
    raw, rows, row = zlib.decompress(packed), [], bytearray(3 * width)
    for y in range(height):
        line = bytearray(raw[y * (3 * width + 1) : (y + 1) * (3 * width + 1)])
        method, line, above = line[0], line[1:], row
        row = bytearray(line)
        for i, x in enumerate(line):
            a, b, c = (row[i - 3], above[i], above[i - 3]) if i >= 3 else (0, above[i], 0)
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (x + (0, a, b, (a + b) // 2, paeth)[method]) % 256
        rows.append(bytes(row))
    return rows


def check_colours():
    side, classes = 16, []
    picture = png("pred-0000")
    for c in range(21):
        x = 12 + c * side + side // 2
        classes.append(picture[44 + side // 2][3 * x : 3 * x + 3])
    for c, one in enumerate(classes):
        for d, other in enumerate(classes[:c]):
            distance = math.dist(one, other)
            assert distance > 40, (c, d, one, other)


def check_values():
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    for name in ("tu", "gtu@2", "pred", "decision@1"):
        values = npy(name)
        for row, value in zip(rows, values, strict=True):
            wanted = float(row[name])
            assert value == wanted or (math.isnan(value) and math.isnan(wanted)), (name, row["n"], value, wanted)
    decisions = npy("decision@1")
    assert decisions.count(-2) == 11, decisions
    picture, side, seen = png("decision@1-0000"), 46, {}
    for site in range(H * W):
        y, x = 44 + site // W * side + side // 2, 12 + site % W * side + side // 2
        pixel = picture[y][3 * x : 3 * x + 3]
        if decisions[site] != -1:  # that one has stripes
            assert seen.setdefault(decisions[site], pixel) == pixel, (site, decisions[site], pixel)
    assert len(set(seen.values())) == len(seen) > 2, seen
    assert seen[-2] == bytes([150] * 3), seen


check_colours() if table == "colours" else check_values()
