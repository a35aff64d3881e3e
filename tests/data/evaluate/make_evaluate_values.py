"""Writes values.json: inputs and the figures scikit-learn, SciPy and NumPy give for them.

Run once with scikit-learn 1.9, SciPy 1.17, NumPy 2.4:  python make_evaluate_values.py > values.json
Figures those packages have no function for (calibration errors, risk-coverage) are computed here position by position,
straight from their definitions; the tied case "orders" is averaged over every order the ties allow.
"""

import itertools
import json
import math

import numpy as np
import scipy.special
import scipy.stats
from sklearn import metrics

rng = np.random.default_rng(20250101)
BINS = 15


def number(x):
    return None if x is None or math.isnan(x) else float(x)


def ece_parts(confidence, correct, bins=BINS):
    """(lo, hi] bins, the first closed: list of (count, mean confidence, accuracy)."""
    out = []
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = (confidence > low) & (confidence <= high) if b else confidence <= high
        if b == bins - 1:
            inside |= confidence > 1
        k = int(inside.sum())
        out.append((k, confidence[inside].mean() if k else math.nan, correct[inside].mean() if k else math.nan))
    return out


def ece(confidence, correct):
    parts = ece_parts(confidence, correct)
    n = len(confidence)
    return sum(k / n * abs(c - a) for k, c, a in parts if k), max(abs(c - a) for k, c, a in parts if k)


def spread(values, payload):
    """Payload by rising value, tied rows each carrying their group's mean."""
    order = np.argsort(values, kind="stable")
    v, p = values[order], payload[order].astype(float)
    for start in np.unique(v):
        p[v == start] = p[v == start].mean()
    return v, p


def ece_adaptive(confidence, correct):
    v, p = spread(confidence, correct)
    n = len(v)
    return sum(
        abs(a.mean() - b.mean()) * len(a) / n
        for a, b in zip(np.array_split(v, BINS), np.array_split(p, BINS))
        if len(a)
    )


def ranking(u, error):
    n, wrong = len(u), int(error.sum())
    _, e = spread(u, error)
    kept = np.cumsum(e)
    position = np.arange(1, n + 1)
    risk = kept / position
    best = np.cumsum(np.r_[np.zeros(n - wrong), np.ones(wrong)]) / position
    out = {"aurc": risk.mean(), "eaurc": risk.mean() - best.mean(), "augrc": (kept / n).mean()}
    out["error_auroc"] = metrics.roc_auc_score(error, u) if 0 < wrong < n else math.nan
    out["error_aupr"] = metrics.average_precision_score(error, u) if wrong else math.nan
    out["risk_at"] = [risk[max(math.ceil(c * n - 1e-6), 1) - 1] for c in (0.8, 0.9, 0.95)]
    ends = [(np.sum(u <= t), np.sum(error[u <= t])) for t in np.unique(u)]
    out["coverage_at"] = [max([k / n for k, w in ends if w <= r * k + 1e-12], default=0) for r in (0.01, 0.05)]
    out["curve"] = [risk[max(math.ceil(n * (i + 1) / 10 - 1e-6), 1) - 1] for i in range(10)]
    return {k: [number(x) for x in v] if isinstance(v, list) else number(v) for k, v in out.items()}


def entropy(p):
    return scipy.stats.entropy(p, axis=1)


def multiclass(mean, labels, measures):
    n, c = mean.shape
    pred = mean.argmax(1)
    correct = (pred == labels).astype(float)
    confidence = mean.max(1)
    e, mce = ece(confidence, correct)
    onehot = np.eye(c)[labels]
    p, r, f, s = metrics.precision_recall_fscore_support(labels, pred, labels=range(c), zero_division=0)
    classwise = np.mean(
        [sum(k / n * abs(a - b) for k, a, b in ece_parts(mean[:, j], onehot[:, j]) if k) for j in range(c)]
    )
    expected = {
        "accuracy": metrics.accuracy_score(labels, pred),
        "f1_macro": metrics.f1_score(labels, pred, average="macro", zero_division=0),
        "ece": e,
        "mce": mce,
        "ece_adaptive": ece_adaptive(confidence, correct),
        "ece_classwise": classwise,
        "nll": -np.log(np.maximum(mean[np.arange(n), labels], 1e-12)).mean(),
        "brier": ((mean - onehot) ** 2).sum(1).mean(),
    }
    return {
        "mean": mean.tolist(),
        "labels": labels.tolist(),
        "expected": {k: float(v) for k, v in expected.items()},
        "precision": p.tolist(),
        "recall": r.tolist(),
        "f1": f.tolist(),
        "support": s.tolist(),
        "confusion": metrics.confusion_matrix(labels, pred, labels=range(c)).tolist(),
        "reliability": [[k, number(a), number(b)] for k, a, b in ece_parts(confidence, correct)],
        "measures": {k: v.tolist() for k, v in measures.items()},
        "rankings": {k: ranking(v, 1 - correct) for k, v in measures.items()},
    }


def multilabel(mean, labels, measures):
    pred = (mean > 0.5).astype(int)
    correct = (pred == labels).astype(float)
    confidence = np.maximum(mean, 1 - mean)
    c = mean.shape[1]
    true_p = np.where(labels == 1, mean, 1 - mean)
    e, mce = ece(confidence.ravel(), correct.ravel())
    per = [
        {
            "accuracy": metrics.accuracy_score(labels[:, j], pred[:, j]),
            "f1": metrics.f1_score(labels[:, j], pred[:, j], zero_division=0),
            "ece": ece(confidence[:, j], correct[:, j])[0],
            "nll": -np.log(np.maximum(true_p[:, j], 1e-12)).mean(),
            "brier": metrics.brier_score_loss(labels[:, j], mean[:, j]),
            "rankings": {k: ranking(v[:, j], 1 - correct[:, j]) for k, v in measures.items()},
        }
        for j in range(c)
    ]
    n = len(mean)
    expected = {
        "accuracy": correct.mean(),
        "subset_accuracy": metrics.accuracy_score(labels, pred),
        "f1_macro": metrics.f1_score(labels, pred, average="macro", zero_division=0),
        "f1_micro": metrics.f1_score(labels, pred, average="micro", zero_division=0),
        "ece": e,
        "mce": mce,
        "ece_macro": np.mean([p["ece"] for p in per]),
        "ece_adaptive": ece_adaptive(confidence.ravel(), correct.ravel()),
        "ece_classwise": np.mean(
            [sum(k / n * abs(a - b) for k, a, b in ece_parts(mean[:, j], labels[:, j]) if k) for j in range(c)]
        ),
        "nll": np.mean([p["nll"] for p in per]),
        "brier": np.mean([p["brier"] for p in per]),
    }
    return {
        "mean": mean.tolist(),
        "labels": labels.tolist(),
        "expected": {k: float(v) for k, v in expected.items()},
        "labels_expected": per,
        "measures": {k: v.tolist() for k, v in measures.items()},
        "rankings": {k: ranking(v.ravel(), 1 - correct.ravel()) for k, v in measures.items()},
    }


def sampled(n, c, sharp=0.5, noise=0.25):
    mean = rng.dirichlet(np.full(c, sharp), n)
    labels = np.array([rng.choice(c, p=row) if rng.random() > noise else rng.integers(c) for row in mean])
    return mean, labels


def ood(id_, out):
    y = np.r_[np.zeros(len(id_)), np.ones(len(out))]
    s = np.r_[id_, out]
    fpr, tpr, _ = metrics.roc_curve(y, s, drop_intermediate=False)
    return {
        "id": id_.tolist(),
        "ood": out.tolist(),
        "auroc": metrics.roc_auc_score(y, s),
        "aupr_out": metrics.average_precision_score(y, s),
        "aupr_in": metrics.average_precision_score(1 - y, -s),
        "fpr95": float(fpr[np.argmax(tpr >= 0.95)]),
        "detection_error": float(np.min((fpr + 1 - tpr) / 2)),
    }


def every_order():
    """Seven rows, ties of three and of two: AURC and AUGRC averaged over all their orders."""
    u, e = [0.1, 0.2, 0.2, 0.2, 0.4, 0.5, 0.5], [0, 1, 0, 0, 1, 0, 1]
    aurc, augrc = [], []
    for order in itertools.permutations(range(7)):
        if all(u[a] <= u[b] for a, b in zip(order, order[1:])):
            kept = np.cumsum([e[i] for i in order])
            aurc.append(np.mean(kept / np.arange(1, 8)))
            augrc.append(np.mean(kept / 7))
    return {"u": u, "errors": e, "aurc": np.mean(aurc), "augrc": np.mean(augrc)}


def main():
    cases = {}
    mean, labels = sampled(300, 5)
    cases["plain"] = multiclass(mean, labels, {"tu": entropy(mean), "random": rng.normal(size=300)})
    counts = rng.multinomial(5, [0.5, 0.25, 0.15, 0.1], 240)
    mean = counts / 5.0
    labels = np.array([rng.choice(4, p=row) for row in 0.7 * mean + 0.3 / 4])
    cases["ties"] = multiclass(
        mean,
        labels,
        {"tu": np.round(entropy(mean), 6), "constant": np.zeros(240), "signed": np.round(rng.normal(size=240)) * 0.5},
    )
    mean, labels = sampled(80, 6)
    labels = labels % 3
    mean[:, 5] = 0
    mean /= mean.sum(1, keepdims=True)
    cases["absent"] = multiclass(mean, labels, {"tu": entropy(mean)})
    mean, labels = sampled(150, 2)
    cases["binary"] = multiclass(mean, labels, {"tu": entropy(mean)})
    mean, _ = sampled(60, 4, 0.3)
    cases["all_correct"] = multiclass(mean, mean.argmax(1), {"tu": entropy(mean)})
    cases["all_wrong"] = multiclass(mean, mean.argmin(1), {"tu": entropy(mean)})
    cases["one_class"] = multiclass(mean, np.zeros(60, int), {"tu": entropy(mean)})
    mean, labels = sampled(7, 3)
    cases["seven"] = multiclass(mean, labels, {"tu": entropy(mean)})
    cases["one"] = multiclass(np.array([[0.7, 0.1, 0.2]]), np.array([0]), {"tu": np.array([0.3])})

    u = rng.beta(0.6, 1.2, (120, 4))
    u[:5, 0] = 0.5
    y = (rng.random((120, 4)) < 0.8 * u + 0.1).astype(int)
    y[:, 3] = 0
    cases_multilabel = multilabel(u, y, {"gmu": 1 - np.abs(2 * u - 1), "coarse": np.round(rng.random((120, 4)), 1)})

    a, b = rng.normal(size=200), rng.normal(1.2, 1.5, size=130)
    pairs = {
        "normal": ood(a, b),
        "ties": ood(np.round(a), np.round(b)),
        "tied": ood(np.ones(9), np.ones(4)),
        "apart": ood(np.arange(20.0), 50 + np.arange(20.0)),
        "reversed": ood(50 + np.arange(20.0), np.arange(20.0)),
    }

    beta = []
    for errors, n in [
        (0, 1),
        (0, 10),
        (1, 2),
        (3, 50),
        (10, 1000),
        (0, 100000),
        (137, 20000),
        (999, 1000),
        (500, 1000),
        (12345, 1000000),
        (7, 8),
    ]:
        for confidence in (0.5, 0.9, 0.95, 0.9995, 1 - 1e-6):
            beta.append([errors, n, confidence, float(scipy.stats.beta.ppf(confidence, errors + 1, n - errors))])
    cdf = [
        [x, a, b, float(scipy.special.betainc(a, b, x))]
        for x in (1e-6, 0.01, 0.3, 0.5, 0.8, 0.999)
        for a, b in ((0.5, 0.5), (1, 3), (2.5, 40), (300, 20), (5000, 7000))
    ]
    values = {
        "bins": BINS,
        "multiclass": cases,
        "multilabel": cases_multilabel,
        "ood": pairs,
        "clopper_pearson": beta,
        "beta_cdf": cdf,
        "orders": every_order(),
    }
    print(json.dumps(values, separators=(",", ":")))


main()
