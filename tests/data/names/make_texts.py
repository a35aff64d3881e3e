"""Writes the .npz files of this folder with NumPy: texts as str_ (both byte orders), bytes_ and pickled objects."""

import numpy as np

names = ["cat", "łódź", "🦊 fox"]
arrays = {
    "unicode": np.array(names),
    "big_endian": np.array(names).astype(">U6"),
    "bytes": np.array([b"cat", b"dog"]),
    "numbers": np.arange(3),
}
np.savez("texts.npz", **arrays)
np.savez_compressed("packed.npz", **arrays)
padded = np.array(["dog ", "cat", "emu"])[:, None]
np.savez("column.npz", images=np.zeros((3, 4, 4), np.uint8), labels=padded)
np.savez("pickled.npz", images=np.zeros((3, 4, 4), np.uint8), labels=np.array(names, object))
