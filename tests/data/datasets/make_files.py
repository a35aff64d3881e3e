"""Writes the small files of this folder that other programs must make: an SVHN-like .mat (SciPy) and PNGs of several
kinds (Pillow).

    python make_files.py            needs numpy, scipy, pillow

svhn/train_32x32.mat: X (32, 32, 3, 12) bytes with X[r, c, k, n] = (7 r + 3 c + 50 k + 11 n) mod 256, y = 1 .. 10, 1, 2.
colour/: classes ant (two RGB files, one grey) and bee (one RGBA, one palette), 4 x 3 pixels (rows x columns);
grey/: classes 0 and 1, one 8-bit grey file each and a 16-bit one, pixel (r, c) of file i = 10 r + c + 100 i; mixed/:
two sizes."""

import os

import numpy as np
from PIL import Image
from scipy.io import savemat

r, c, k, n = np.ogrid[:32, :32, :3, :12]
os.makedirs("svhn", exist_ok=True)
savemat(
    "svhn/train_32x32.mat",
    {
        "X": ((7 * r + 3 * c + 50 * k + 11 * n) % 256).astype(np.uint8),
        "y": ((np.arange(12) % 10) + 1).astype(np.uint8).reshape(-1, 1),
    },
    do_compression=True,
)


def save(path, array, mode=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    (array if mode is None else Image.fromarray(array, mode)).save(path)


row, column = np.mgrid[:4, :3]
base = (10 * row + column).astype(np.uint8)
save("colour/ant/a.png", np.stack([base, base + 50, base + 100], -1), "RGB")
save("colour/ant/b.png", np.stack([base + 1, base + 51, base + 101], -1), "RGB")
save("colour/ant/c.png", base + 7, "L")
alpha = np.where(column == 1, 0, 255).astype(np.uint8)
save("colour/bee/a.png", np.stack([base + 2, base + 52, base + 102, alpha], -1), "RGBA")
palette = Image.fromarray((column).astype(np.uint8), "P")
palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255] + [0] * 759)
save("colour/bee/b.png", palette)
save("grey/0/x.png", base, "L")
save("grey/1/y.png", base + 100, "L")
save("grey/1/z.png", Image.fromarray(((base.astype(np.uint16) + 200) * 257)))
save("mixed/0/a.png", base, "L")
save("mixed/1/a.png", base[:3], "L")
