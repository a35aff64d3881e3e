"""Writes values.txt: measures of a few small ensembles under many conventions, at 60 digits (needs mpmath).

    python3 tests/data/measures/make_values.py > tests/data/measures/values.txt

Written apart from the C reference, so that a misread formula would have to be misread twice. One sample per case:

    case NAME task logits renormalise pairs sigma_gate sigma_margin log_base normalise floor_form gate_eps margin_eps
    floor eps K k... T t... M C
    then M lines of C numbers (exact, hexadecimal), then per outcome problem (1, or C for multilabel) one line
    tu au eu epce epkl epjs gmu snr pred second tie, then per k a line gtu gau geu gepce gepkl gepjs decision.
"""

import random

from mpmath import mp, mpf, log, exp, expm1, sqrt

mp.dps = 60


def xlog(x, o):
    """The logarithm in entropies."""
    if o["floor_form"] == 2 and not o["logits"]:
        return log(x + o["floor"])
    return log(x) if x > 0 else mpf(0)


def cross(x, o):
    """The logarithm in cross terms."""
    if o["logits"]:
        return log(x)
    if o["floor_form"] == 0:
        return log(max(x, o["floor"]))
    if o["floor_form"] == 2:
        return log(x + o["floor"])
    return log(x)


def entropy(p, o):
    return -sum(x * xlog(x, o) for x in p)


def measures(members, o):
    m, c = len(members), len(members[0])
    mean = [sum(p[i] for p in members) / m for i in range(c)]
    tu = entropy(mean, o)
    au = sum(entropy(p, o) for p in members) / m
    pairs = [(a, b) for a in range(m) for b in range(m) if a != b or o["pairs"] == 0]
    if m == 1:
        epce, epkl, epjs = au, mpf(0), mpf(0)
    else:
        ce = [-sum(x * cross(y, o) for x, y in zip(members[a], members[b])) for a, b in pairs]
        js = [
            entropy([(x + y) / 2 for x, y in zip(members[a], members[b])], o)
            - (entropy(members[a], o) + entropy(members[b], o)) / 2
            for a, b in pairs
        ]
        epce, epjs = sum(ce) / len(pairs), sum(js) / len(pairs)
        epkl = epce - au
    eu = tu - au
    if o["floor_form"] == 2 and not o["logits"]:
        eu, epkl, epjs = max(eu, 0), max(epkl, 0), max(epjs, 0)
    whole = 1 / log(c) if o["normalise"] else 1 / log(2) if o["log_base"] else mpf(1)
    unit = 1 / log(2) if o["log_base"] else mpf(1)
    return [tu * whole, au * whole, eu * whole, epce * unit, epkl * unit, epjs * unit]


def problem(members, o):
    """members: M distributions, final (softmaxed or clamped)."""
    m, c = len(members), len(members[0])
    mean = [sum(p[i] for p in members) / m for i in range(c)]
    square = [sum((p[i] - mean[i]) ** 2 for p in members) for i in range(c)]

    def spread(form):
        if form == 0:
            return [sqrt(s / m) for s in square]
        return [sqrt(s / (m - 1)) if m > 1 else mpf(0) for s in square]

    sigma, gate_sigma, eps = spread(o["sigma_margin"]), spread(o["sigma_gate"]), o["eps"]
    order = sorted(range(c), key=lambda i: (-mean[i], i))
    i, j = order[0], order[1]
    snr = (mean[i] - mean[j]) / (sigma[i] + sigma[j] + eps * (2 if o["margin_eps"] else 1))
    gate = 1 - exp(-snr)
    gmu = mean[i] * gate if o["task"] == 2 and mean[1] <= mpf(1) / 2 else 1 - mean[i] * gate
    lines = [measures(members, o) + [gmu, snr, i, j, int(mean[i] == mean[j])]]
    for k in o["k"]:
        if o["gate_eps"]:
            gamma = [max(1 - exp(-mu / (max(k, mpf(1e-3)) * (s + eps))), eps) for mu, s in zip(mean, gate_sigma)]
        else:
            gamma = [-expm1(-mu / (k * s + eps)) for mu, s in zip(mean, gate_sigma)]
        gated = []
        for p in members:
            z = sum(x * g for x, g in zip(p, gamma))
            gated.append([x * g / z for x, g in zip(p, gamma)])
        sure = mean[i] - k * sigma[i] > mean[j] + k * sigma[j]
        lines.append(measures(gated, o) + [i if sure else -1])
    return lines


def distribution(row, o):
    if o["logits"]:
        e = [exp(z) for z in row]
        return [x / sum(e) for x in e]
    if o["renormalise"] and o["task"] == 0:
        row = [x / sum(row) for x in row]
    if o["floor_form"] == 1:
        for _ in range(2):
            row = [min(max(x, o["floor"]), mpf(1)) for x in row]
            row = [x / sum(row) for x in row]
    return row


def text(x):
    return str(x) if isinstance(x, int) else mp.nstr(x, 20, min_fixed=0, max_fixed=0)


def case(name, rows, **changes):
    o = dict(
        task=0,
        logits=0,
        renormalise=0,
        pairs=0,
        sigma_gate=0,
        sigma_margin=0,
        log_base=0,
        normalise=0,
        floor_form=0,
        gate_eps=0,
        margin_eps=0,
        floor=1e-12,
        eps=1e-8,
        k=[1.0, 2.0, 3.0],
        t=[],
    )
    o.update(changes)
    switches = (
        "task logits renormalise pairs sigma_gate sigma_margin log_base normalise floor_form gate_eps margin_eps"
    ).split()
    print("case", name, *[o[s] for s in switches])
    print(
        o["floor"].hex(),
        o["eps"].hex(),
        len(o["k"]),
        *[k.hex() for k in o["k"]],
        len(o["t"]),
        *[t.hex() for t in o["t"]],
        len(rows),
        len(rows[0]),
    )
    for row in rows:
        print(*[float(x).hex() for x in row])
    o["floor"], o["eps"], o["k"] = mpf(o["floor"]), mpf(o["eps"]), [mpf(k) for k in o["k"]]
    exact = [[mpf(float(x)) for x in row] for row in rows]
    if o["t"]:
        t = o["t"] * len(rows) if len(o["t"]) == 1 else o["t"]
        exact = [[z / mpf(t[m]) for z in row] for m, row in enumerate(exact)]
    if o["task"]:
        problems = [
            [distribution([0 if o["logits"] else 1 - row[c], row[c]], o) for row in exact] for c in range(len(rows[0]))
        ]
    else:
        problems = [[distribution(row, o) for row in exact]]
    for members in problems:
        for line in problem(members, o):
            print(*[text(x) for x in line])


VGE = dict(pairs=1, sigma_margin=1, log_base=1, normalise=1, floor_form=1, floor=1e-8, gate_eps=1, margin_eps=1)
MLJKU = dict(floor_form=2, floor=1e-10)


def main():
    random.seed(7)

    def draw(m, c, alpha):
        rows = []
        for _ in range(m):
            g = [random.gammavariate(alpha, 1) for _ in range(c)]
            rows.append([x / sum(g) for x in g])
        return rows

    base = draw(4, 5, 0.5)
    zeros = [[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.5, 0]]
    tiny = [[1 - 1e-9, 1e-9, 0], [1 - 1e-11, 1e-13, 1e-11], [1, 0, 1e-12]]
    scale = 1 + 1e-6
    near = [[0.7, 0.2, 0.1], [0.7 * scale, 0.2, 0.1 - 0.7e-6], [0.7, 0.2 - 1e-6, 0.1 + 1e-6]]
    unnormalised = [[3.0, 1.0, 2.0], [0.5, 0.0, 9.0]]
    logits = [[random.gauss(0, 4) for _ in range(4)] for _ in range(3)]
    labels = [[random.random() for _ in range(3)] for _ in range(4)]
    hard_labels = [[0.0, 1.0, 0.5, 1e-13], [0.0, 0.0, 0.5, 1 - 1e-13], [1.0, 0.0, 0.5, 0.25]]
    for name, rows in (("base", base), ("zeros", zeros), ("tiny", tiny), ("near", near), ("one", base[:1])):
        case(name + "-paper", rows)
        case(name + "-vge", rows, **VGE)
        case(name + "-mljku", rows, **MLJKU)
    for switch in ("pairs", "sigma_gate", "sigma_margin", "log_base", "normalise", "gate_eps", "margin_eps"):
        case("base-" + switch, base, **{switch: 1})
        case("zeros-" + switch, zeros, **{switch: 1})
    case("clamp-alone", zeros, floor_form=1, floor=1e-8)
    case("add-distinct", zeros, pairs=1, **MLJKU)
    case("small-k-inside", base, gate_eps=1, k=[1e-4, 1e-3, 0.25])
    case("large-k", base, k=[1e6, 50.0])
    case("large-eps", base, eps=0.1, gate_eps=1)
    case("large-floor", zeros, floor=1e-3)
    case("one-distinct", base[:1], pairs=1, sigma_gate=1, sigma_margin=1)
    case("renormalise", unnormalised, renormalise=1)
    case("renormalise-vge", unnormalised, renormalise=1, **VGE)
    case("logits", logits, logits=1)
    case("logits-t", logits, logits=1, t=[2.5])
    case("logits-t-member", logits, logits=1, t=[0.5, 1.0, 3.0])
    case("logits-vge", logits, logits=1, **VGE)
    case("logits-mljku", logits, logits=1, **MLJKU)
    case("logits-far", [[0, 500, -800], [300, -200, 0.5]], logits=1)
    for form in (1, 2):
        case(f"labels-{form}", labels, task=form)
        case(f"labels-hard-{form}", hard_labels, task=form)
        case(f"labels-vge-{form}", labels, task=form, **VGE)
        case(f"labels-logits-{form}", logits, task=form, logits=1, t=[2.0])
    case("labels-mljku", hard_labels, task=1, **MLJKU)


main()
