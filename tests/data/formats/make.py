"""Writes the small files beside it, with NumPy, ml_dtypes and safetensors (last run: NumPy 2.4.6, safetensors 0.8.0).

Element i (C order) of every array is i % 100 (bool: i odd), divided by 64 for P and Z, so that tests can say what they
expect.
"""

import io
import os
import zipfile

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name)


def ramp(shape, dtype, scale=1):
    count = int(np.prod(shape))
    values = np.arange(count) % 100
    if np.dtype(dtype) == np.dtype(bool):
        values = values % 2
    return (values / scale).reshape(shape).astype(dtype)


SHAPE = (4, 3, 5)
for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
    np.save(path(f"le_{dtype}.npy"), ramp(SHAPE, "<" + dtype))
    if dtype[1] != "1":
        np.save(path(f"be_{dtype}.npy"), np.asfortranarray(ramp(SHAPE, ">" + dtype)))
np.save(path("bool.npy"), ramp((7,), bool))
np.save(path("fortran.npy"), np.asfortranarray(ramp(SHAPE, "<f4")))
np.save(path("scalar.npy"), np.float64(7))
np.save(path("empty.npy"), np.zeros((0, 3, 5), "<f4"))
for version in ((2, 0), (3, 0)):
    with open(path(f"version{version[0]}.npy"), "wb") as file:
        np.lib.format.write_array(file, ramp(SHAPE, "<f4"), version=version)
np.save(path("bfloat16.npy"), ramp((4,), ml_dtypes.bfloat16).view("V2"))
np.save(path("structure.npy"), np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
np.save(path("text.npy"), np.array(["cat", "dog"]))

P, Z = ramp(SHAPE, "<f4", 64), ramp(SHAPE, "<f2", 64)
L = np.array([0, 1, 4, 2])
ML = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], "u1")
np.savez(path("stored.npz"), P=P, L=L)
np.savez_compressed(path("deflated.npz"), P=P, L=L)
np.savez_compressed(path("deflated_fortran.npz"), P=np.asfortranarray(P), L=L)
np.savez(path("logits.npz"), Z=Z, L=L)
np.savez_compressed(path("multilabel.npz"), P=P, L=ML)
np.savez_compressed(path("mnc.npz"), P=np.ascontiguousarray(P.transpose(1, 0, 2)), L=L)
np.savez(path("mnc_stored.npz"), P=np.ascontiguousarray(P.transpose(1, 0, 2)), L=L)
np.savez(path("others.npz"), P=P, names=np.array(["cat", "dog"]), thing=np.array([{}, None], object), L=L)
np.savez(path("wide.npz"), **{f"array {i}": np.array([i]) for i in range(40)})


class Pipe(io.RawIOBase):
    """A file that cannot seek, so that zipfile writes data descriptors."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


for name, method in (("pipe_stored.npz", zipfile.ZIP_STORED), ("pipe_deflated.npz", zipfile.ZIP_DEFLATED)):
    with open(path(name), "wb") as file, zipfile.ZipFile(Pipe(file), "w", method) as archive:
        for key, value in (("P", P), ("L", L)):
            with archive.open(key + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value)

TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
tensors = {dtype: ramp(SHAPE, "<" + dtype) for dtype in TYPES}
tensors["bf16"] = ramp(SHAPE, ml_dtypes.bfloat16)
tensors["bool"] = ramp(SHAPE, bool)
tensors["scalar"] = np.array(7.0)
tensors["empty"] = np.zeros((0, 4), "<f4")
tensors["f8e4m3"] = ramp((2, 2), ml_dtypes.float8_e4m3fn)
save_file(tensors, path("mixed.safetensors"), metadata={"made by": "make.py", "classes": "cat \u00e9 dog"})
save_file({"Z": ramp(SHAPE, ml_dtypes.bfloat16, 64), "labels": L}, path("logits.safetensors"))

# Labels, classes and ids that are texts: of code points (either byte order, deflated too) and of bytes; scikit-learn's
# numbers.
probabilities = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.2, 0.7]], [[0.3, 0.6, 0.1]], [[0.2, 0.2, 0.6]]], np.float32)
names = np.array(["cat", "Kätzchen", "🐶"])
truth = names[[0, 2, 1, 2]]
ids = np.array([b"a", b"bb", b"", b"dddd"])
np.savez(path("names.npz"), P=probabilities, y_true=truth, classes=names, id=ids)
np.savez_compressed(
    path("names_deflated.npz"),
    P=probabilities,
    L=truth.astype(">U8"),
    class_names=names.astype(">U8"),
    ids=[9, 8, 7, 6],
)
np.savez(path("names_missing.npz"), P=probabilities, L=truth)
np.savez(path("sklearn.npz"), y_prob=probabilities, y_true=np.array([2, 7, 5, 7]), classes=np.array([2, 5, 7]))
np.save(path("text_bytes.npy"), np.array([b"cat", b"dog"]))
np.savez(path("objects.npz"), P=probabilities, L=np.array(["cat", None, 1, 2.0], object))
