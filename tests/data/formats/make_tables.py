"""Writes tables, JSON and files of other programs beside it (last run: NumPy 2.4.6, pandas 3.1.1, pyarrow 26.0.1).

All hold the same predictions (4 samples, 3 members, 5 classes), element i (C order) being i / 64, and the labels 0, 1,
4, 2, so that the tests of every format expect the same. Samples and members are named in the files called names_*.
"""

import gzip
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name)


def compress(name, data):
    """gzip without a time, so that equal content gives equal files."""
    with open(path(name), "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(data)


N, M, C = 4, 3, 5
P = np.arange(N * M * C).reshape(N, M, C) / 64
L = np.array([0, 1, 4, 2])
IDS = ["img-7", "img-3", "1004", "img-9"]
MEMBERS = ["resnet", "vit", "swin"]

rows = [(n, m, *P[n, m], L[n]) for n in range(N) for m in range(M)]
table = pd.DataFrame(rows, columns=["sample", "member", *(f"p{c}" for c in range(C)), "label"])
named = table.assign(sample=[IDS[n] for n in table["sample"]], member=[MEMBERS[m] for m in table["member"]])
logits = table.rename(columns={f"p{c}": f"z{c}" for c in range(C)})

table.to_csv(path("long.tsv"), sep="\t", index=False)
table.to_csv(path("long_comma.csv"), sep=";", decimal=",", index=False)
table.to_csv(path("long_semicolon.csv"), sep=";", index=False)
logits.to_csv(path("long_logits.tab"), sep="\t", index=False)
table.to_csv(path("long_quoted.csv"), decimal=",", index=False, quoting=1)
named.to_csv(path("names_long.csv"), index=False)
compress("long.csv.gz", table.to_csv(index=False).encode())
compress("long.tsv.gz", table.to_csv(index=False, sep="\t").encode())
text = table.to_csv(index=False).encode()
half = len(text) // 2
with open(path("two_members.csv.gz"), "wb") as file:  # as `cat a.gz b.gz` and bgzip write them
    file.write(gzip.compress(text[:half], mtime=0) + gzip.compress(text[half:], mtime=0) + bytes(16))
np.savetxt(path("plain_spaces.txt"), P[:, 0, :])
np.savetxt(path("plain_tabs.txt"), P[:, 0, :], delimiter="\t")

lines = [{"id": IDS[n], "p": P[n].tolist(), "label": int(L[n])} for n in range(N)]
compress("lines.jsonl.gz", "".join(json.dumps(line) + "\n" for line in lines).encode())
with open(path("array.json"), "w") as file:
    json.dump(P.tolist(), file)
with open(path("records.json"), "w") as file:
    json.dump(lines, file, indent=1)
with open(path("lists.json"), "w") as file:
    json.dump({"note": "[", "labels": L.tolist(), "ids": IDS, "probs": P.tolist()}, file)

models = {f"model_{m}": P[:, m].astype("f4") for m in (2, 0, 1)}
np.savez(path("models.npz"), **models, L=L)
np.savez_compressed(path("models_deflated.npz"), **models, L=L)
np.savez(path("models_fortran.npz"), **{k: np.asfortranarray(v.astype("f8")) for k, v in models.items()}, L=L)
np.savez(path("models_named.npz"), **{name: P[:, m] for m, name in enumerate(MEMBERS)}, L=L)
np.savez(path("models_unnamed.npz"), *(P[:, m] for m in range(M)), L)

table.to_parquet(path("long.parquet"), index=False)
with open(path("pickled.pkl"), "wb") as file:
    pickle.dump({"P": P.tolist()}, file)
np.save(path("pickled.npy"), np.array([[0.5, 0.5], None], dtype=object), allow_pickle=True)
torch = io.BytesIO()
with zipfile.ZipFile(torch, "w") as archive:  # the layout of torch.save, with a pickle that holds nothing
    archive.writestr(zipfile.ZipInfo("model/data.pkl"), pickle.dumps(None))
    archive.writestr(zipfile.ZipInfo("model/version"), b"3\n")
with open(path("model.pt"), "wb") as file:
    file.write(torch.getvalue())
