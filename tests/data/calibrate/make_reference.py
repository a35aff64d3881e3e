"""Writes reference.json beside itself: temperatures by SciPy, metrics by scikit-learn and NumPy, a Gaussian process by
scikit-learn.

    python make_reference.py        (numpy, scipy, scikit-learn)

Logits are made from splitmix64 by exact float64 arithmetic, so that tests/calibrate/calibrate_util.h makes the same
ones to the bit:
    u(k) = top 53 bits of mix(seed + (k + 1) * 0x9e3779b97f4a7c15) * 2^-53
    label y[n] = floor(u(2n) * C), strength s[n] = 1 + 2 u(2n + 1)
    z[n][m][c] = scale * (m + 1) * (4 * (u1 + u2 + u3 - 1.5) + (boost * s[n] if c == y[n] else 0)),
    u1, u2, u3 = u(2N + 3 i), u(.. + 1), u(.. + 2), i = (n M + m) C + c
"""

import json
import pathlib

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from sklearn.metrics import accuracy_score, log_loss


def uniform(seed, first, count):
    with np.errstate(over="ignore"):
        x = np.uint64(seed) + (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def problem(n, m, c, seed, scale, boost, dtype):
    head = uniform(seed, 0, 2 * n).reshape(n, 2)
    y = np.floor(head[:, 0] * c).astype(np.int64)
    strength = 1.0 + 2.0 * head[:, 1]
    u = uniform(seed, 2 * n, 3 * n * m * c).reshape(n, m, c, 3)
    noise = 4.0 * (u[..., 0] + u[..., 1] + u[..., 2] - 1.5)
    label = np.arange(c)[None, None, :] == y[:, None, None]
    z = scale * (np.arange(m)[None, :, None] + 1.0) * (noise + np.where(label, (boost * strength)[:, None, None], 0.0))
    if dtype == "float32":
        z = z.astype(np.float32).astype(np.float64)
    return z, y


def loss(b, z, y):
    return -log_softmax(b * z, axis=-1)[np.arange(len(y)), :, y].mean()


def slope(b, z, y):
    p = softmax(b * z, axis=-1)
    return ((p * z).sum(-1) - z[np.arange(len(y)), :, y]).mean()


def fit(z, y):
    """z (n, members, c): one temperature for the members given."""
    t = 1.0 / brentq(slope, 1e-3, 1e3, args=(z, y), xtol=1e-15, rtol=8.9e-16)
    by_value = minimize_scalar(
        lambda u: loss(np.exp(-u), z, y), bounds=(np.log(1e-3), np.log(1e3)), method="bounded", options={"xatol": 1e-12}
    )
    assert abs(by_value.x - np.log(t)) < 1e-6, (by_value.x, np.log(t))
    return t, loss(1.0 / t, z, y)


def ece(p, y, bins):
    confidence, correct = p.max(-1), p.argmax(-1) == y
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    total = 0.0
    for b in range(bins):
        inside = place == b
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    return total


def nll(log_p, y):
    """Mean of -log p(y); equal to scikit-learn's log_loss wherever that does not clip."""
    value = -log_p[np.arange(len(y)), y].mean()
    if log_p[np.arange(len(y)), y].min() > -34:
        assert abs(value - log_loss(y, np.exp(log_p), labels=np.arange(log_p.shape[1]))) < 1e-10
    return value


def metrics(z, y, t, bins):
    log_p = log_softmax(z / np.asarray(t)[None, :, None], axis=-1)
    p = np.exp(log_p)
    members = range(z.shape[1])
    mean = p.mean(1)
    return {
        "nll": nll(logsumexp(log_p, axis=1) - np.log(z.shape[1]), y),
        "ece": ece(mean, y, bins),
        "accuracy": accuracy_score(y, mean.argmax(-1)),
        "member_nll": np.mean([nll(log_p[:, m], y) for m in members]),
        "member_ece": np.mean([ece(p[:, m], y, bins) for m in members]),
        "member_accuracy": np.mean([accuracy_score(y, p[:, m].argmax(-1)) for m in members]),
    }


def case(n, m, c, seed, scale, boost, dtype, bins=15):
    z, y = problem(n, m, c, seed, scale, boost, dtype)
    fits = [fit(z[:, i : i + 1], y) for i in range(m)]
    shared = fit(z, y)
    return {
        "n": n,
        "m": m,
        "c": c,
        "seed": seed,
        "scale": scale,
        "boost": boost,
        "dtype": dtype,
        "bins": bins,
        "temperatures": [t for t, _ in fits],
        "losses": [l for _, l in fits],
        "shared_temperature": shared[0],
        "shared_loss": shared[1],
        "before": metrics(z, y, [1.0] * m, bins),
        "after": metrics(z, y, [t for t, _ in fits], bins),
        "after_shared": metrics(z, y, [shared[0]] * m, bins),
    }


def gaussian_process():
    x = np.array([-4.1, -3.0, -2.2, -1.0, -0.4, 0.1, 0.9, 1.5, 2.1])
    y = np.log(0.3 + np.exp(-x) * 0.2 + (x - 0.3) ** 2)
    at = np.array([-3.5, -1.7, 0.0, 0.25, 1.0, 2.0])
    length, noise = 1.3, 1e-4
    t = (y - y.mean()) / y.std()
    k = Matern(length, nu=2.5)
    a = k(x[:, None]) + noise * np.eye(len(x))
    signal = t @ np.linalg.solve(a, t) / len(x)
    # signal * (k + noise I), whose likelihood differs from the profile form by constants only
    model = GaussianProcessRegressor(
        ConstantKernel(signal, "fixed") * Matern(length, "fixed", nu=2.5), alpha=signal * noise, optimizer=None
    )
    model.fit(x[:, None], t)
    mean, deviation = model.predict(at[:, None], return_std=True)
    n = len(x)
    objective = -model.log_marginal_likelihood_value_ - n / 2 * np.log(2 * np.pi) - n / 2
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "at": at.tolist(),
        "log_length": float(np.log(length)),
        "log_noise": float(np.log(noise)),
        "signal": signal,
        "objective": objective,
        "mean": mean.tolist(),
        "deviation": deviation.tolist(),
    }


if __name__ == "__main__":
    cases = [
        case(300, 3, 5, 11, 0.5, 0.6, "float64"),
        case(700, 2, 10, 12, 3.0, 0.9, "float64"),
        case(5000, 2, 7, 13, 1.0, 0.8, "float32"),
        case(400, 1, 2, 14, 0.7, 0.5, "float32", bins=10),
        case(200, 2, 100, 15, 0.2, 1.5, "float32"),
        case(500, 4, 3, 16, 8.0, 0.4, "float64", bins=1),
    ]
    out = {"cases": cases, "gaussian_process": gaussian_process()}
    path = pathlib.Path(__file__).with_name("reference.json")
    path.write_text(json.dumps(out, indent=1) + "\n")
