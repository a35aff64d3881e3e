"""Writes small sets of images for the tests: OUT/pngs (train/CLASS, test/CLASS), OUT/*.npz. Needs NumPy alone."""

import os
import struct
import sys
import zlib

import numpy as np

out = sys.argv[1]
rng = np.random.default_rng(3)
names = ["ant", "bee", "cow"]


def picture(label):
    image = rng.integers(0, 90, (28, 28), np.uint8)
    image[4:12, 2 + 9 * label : 8 + 9 * label] += 160
    return image


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, image):
    rows = b"".join(b"\0" + bytes(row) for row in image)
    head = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head))
        file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


sets = {}
for part, count in (("train", 80), ("test", 20)):
    labels = np.repeat(np.arange(3), count)
    sets[part] = np.stack([picture(label) for label in labels]), labels
    for i, (image, label) in enumerate(zip(*sets[part])):
        folder = f"{out}/pngs/{part}/{names[label]}"
        os.makedirs(folder, exist_ok=True)
        write_png(f"{folder}/{i:04d}.png", image)
os.makedirs(f"{out}/one/train/ant")
write_png(f"{out}/one/train/ant/0.png", picture(0))
images, labels = sets["train"]
order = rng.permutation(len(labels))
images, labels = images[order], labels[order]
np.savez(f"{out}/texts.npz", images=images, labels=np.array(names)[labels])
np.savez(f"{out}/backwards.npz", images=images, labels=2 - labels, classes=names[::-1])
np.savez(f"{out}/others.npz", images=images, labels=labels, classes=["ant", "bee", "yak"])
np.savez(f"{out}/from_one.npz", images=images, labels=labels + 1)
