"""The .npz of 'vargate score' has the documented names, types and shapes, and the CSV carries the same values."""

import csv
import sys

import numpy as np

arrays = np.load(sys.argv[1])
n, c, k = 300, 10, 3
for name in "tu au eu epce epkl epjs gmu snr".split():
    assert arrays[name].shape == (n,) and arrays[name].dtype == np.float64, name
for name in "gtu gau geu gepce gepkl gepjs".split():
    assert arrays[name].shape == (n, k) and arrays[name].dtype == np.float64, name
for name in "pred second".split():
    assert arrays[name].shape == (n,) and arrays[name].dtype == np.int32, name
assert arrays["decision"].shape == (n, k) and arrays["decision"].dtype == np.int32
for name in "mean std".split():
    assert arrays[name].shape == (n, c) and arrays[name].dtype == np.float64, name
assert arrays["k"].tolist() == [1, 2, 3]
assert arrays["diversity"].shape == () and arrays["k_sensitivity"].shape == ()
assert arrays["flags"].shape == (n,)
for name in "members member_variance total_variance disagreement abstained_at_1".split():  # what a verdict needs
    assert arrays[name].shape == () and arrays[name].dtype == np.float64, name
assert len(arrays.files) == 28, arrays.files
rows = list(csv.DictReader(open(sys.argv[2])))
for i, row in enumerate(rows):
    assert int(row["n"]) == i
    assert float(row["tu"]) == arrays["tu"][i] and float(row["snr"]) == arrays["snr"][i]
    assert float(row["gepjs@3"]) == arrays["gepjs"][i, 2] and int(row["decision@2"]) == arrays["decision"][i, 1]
    assert float(row["mean_9"]) == arrays["mean"][i, 9] and float(row["diversity"]) == arrays["diversity"]
# TU from the means, independently.
mean = arrays["mean"]
tu = -(mean * np.log(np.where(mean > 0, mean, 1))).sum(1)
assert np.abs(tu - arrays["tu"]).max() < 1e-6
