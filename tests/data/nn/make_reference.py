#!/usr/bin/env python3
"""Writes reference.json: losses, gradients, Adam steps and batch-norm statistics of the networks, computed by PyTorch
in float64.

    python make_reference.py > reference.json        (made with PyTorch 2.13)

Parameters and inputs come from a formula that both sides compute exactly: fill(count, salt) gives
    u = ((i + 1) * 2654435761 + salt * 40503 * 65537) mod 2^32, mixed twice (xorshift-multiply), its top 24 bits as a
    number in [-0.5, 0.5)
times a power of two. Of every gradient the norm, three projections on fill vectors and 8 entries are kept.
"""

import json
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(2)


def fill(count, salt, scale=1.0):
    i = np.arange(1, count + 1, dtype=np.uint64)
    u = (i * np.uint64(2654435761) + np.uint64(salt * 40503 * 65537)) & np.uint64(0xFFFFFFFF)
    for _ in range(2):
        u ^= u >> np.uint64(16)
        u = (u * np.uint64(0x45D9F3B)) & np.uint64(0xFFFFFFFF)
    u ^= u >> np.uint64(16)
    return ((u >> np.uint64(8)).astype(np.float64) / 2.0**24 - 0.5) * scale


def power_of_two(x):
    return 2.0 ** round(math.log2(x))


class Params:
    """Parameters in the order in which the network declares them."""

    def __init__(self):
        self.names, self.tensors = [], []

    def add(self, name, shape, kind):
        salt = len(self.names) + 100
        count = int(np.prod(shape))
        if kind == "weight":
            fan_in = int(np.prod(shape[1:]))
            values = fill(count, salt, power_of_two(math.sqrt(24.0 / fan_in)))
        elif kind == "gamma":
            values = 1.0 + fill(count, salt, 0.5)
        else:
            values = fill(count, salt, 0.25)
        t = torch.tensor(values.reshape(shape), dtype=torch.float64, requires_grad=True)
        self.names.append(name)
        self.tensors.append(t)
        return t


class CNN:
    def __init__(self, channels, heads, classes):
        p = self.params = Params()
        self.heads, self.classes = heads, classes
        self.w1 = p.add("conv1.weight", (128, channels, 5, 5), "weight")
        self.b1 = p.add("conv1.bias", (128,), "bias")
        self.w2 = p.add("conv2.weight", (128, 128, 5, 5), "weight")
        self.b2 = p.add("conv2.bias", (128,), "bias")
        self.w3 = p.add("hidden.weight", (2048, 2048), "weight")
        self.b3 = p.add("hidden.bias", (2048,), "bias")
        self.w4 = p.add("heads.weight", (heads * classes, 2048), "weight")
        self.b4 = p.add("heads.bias", (heads * classes,), "bias")
        self.norms = {}

    def logits(self, x):
        x = F.max_pool2d(F.relu(F.conv2d(x, self.w1, self.b1)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, self.w2, self.b2)), 2)
        x = F.relu(F.linear(x.flatten(1), self.w3, self.b3))
        return F.linear(x, self.w4, self.b4)


class WRN:
    def __init__(self, depth, width, channels, heads, classes):
        p = self.params = Params()
        self.heads, self.classes, self.norms, self.blocks = heads, classes, {}, []
        self.conv1 = p.add("conv1.weight", (16, channels, 3, 3), "weight")
        inside = 16
        for group in range(3):
            for i in range((depth - 4) // 6):
                out, stride = 16 * width * 2**group, 2 if group > 0 and i == 0 else 1
                name = f"group{group + 1}.block{i + 1}"
                b = {"stride": stride, "norm1": self.norm(name + ".norm1", inside)}
                if inside != out or stride != 1:
                    b["shortcut"] = p.add(name + ".shortcut.weight", (out, inside, 1, 1), "weight")
                b["conv1"] = p.add(name + ".conv1.weight", (out, inside, 3, 3), "weight")
                b["norm2"] = self.norm(name + ".norm2", out)
                b["conv2"] = p.add(name + ".conv2.weight", (out, out, 3, 3), "weight")
                self.blocks.append(b)
                inside = out
        self.last = self.norm("norm", inside)
        self.w = p.add("heads.weight", (heads * classes, inside), "weight")
        self.b = p.add("heads.bias", (heads * classes,), "bias")

    def norm(self, name, channels):
        gamma = self.params.add(name + ".weight", (channels,), "gamma")
        beta = self.params.add(name + ".bias", (channels,), "bias")
        mean, var = torch.zeros(channels, dtype=torch.float64), torch.ones(channels, dtype=torch.float64)
        self.norms[name] = (mean, var)
        return gamma, beta, mean, var

    @staticmethod
    def apply(norm, x, training=True):
        gamma, beta, mean, var = norm
        return F.relu(F.batch_norm(x, mean, var, gamma, beta, training, 0.1, 1e-5))

    def logits(self, x, training=True):
        x = F.conv2d(x, self.conv1, padding=1)
        for b in self.blocks:
            o = self.apply(b["norm1"], x, training)
            short = F.conv2d(o, b["shortcut"], stride=b["stride"]) if "shortcut" in b else x
            y = F.conv2d(o, b["conv1"], stride=b["stride"], padding=1)
            y = self.apply(b["norm2"], y, training)
            x = F.conv2d(y, b["conv2"], padding=1) + short
        x = self.apply(self.last, x, training).mean((2, 3))
        return F.linear(x, self.w, self.b)


def gate(z, l):
    """The gated heads Q of logits z (n, heads, classes), with k = softplus(l) + 1e-8 for every class."""
    p = z.softmax(-1)
    k = (F.softplus(l) + 1e-8).clamp(1e-3, 1e3)
    mean, spread = p.mean(1), p.std(1, unbiased=False)
    gamma = (1 - torch.exp(-mean / (k * (spread + 1e-8)))).clamp(min=1e-8)
    gated = p * gamma[:, None]
    whole = gated.sum(-1, keepdim=True)
    return torch.where(whole > 1e-8, gated / whole, p)


def gated_loss(z, labels, l):
    own = gate(z, l).mean(1).gather(1, labels[:, None])
    return -own.clamp(min=1e-8).log().mean()


def loss_of(net, x, labels, form, weights=None):
    z = net.logits(x).reshape(len(labels), net.heads, net.classes)
    if form == "gated":
        return gated_loss(z, labels, net.l)
    logp = F.log_softmax(z, -1)
    own = logp.gather(2, labels[:, None, None].expand(-1, net.heads, 1))[..., 0]
    if form == "mixture":
        return -(torch.logsumexp(own, 1) - math.log(net.heads)).mean()
    return -(own if weights is None else own * weights).mean()


def summary(values):
    v = values.detach().double().flatten().numpy()
    step = max(1, len(v) // 8)
    return {
        "norm": float(np.sqrt(np.sum(v * v))),
        "projections": [float(np.dot(v, fill(len(v), 7 + k, 2.0))) for k in range(3)],
        "entries": [float(v[i]) for i in range(0, len(v), step)][:8],
        "step": step,
    }


def batch(shape, n, classes, salt):
    x = torch.tensor(fill(n * int(np.prod(shape)), salt, 4.0).reshape(n, *shape), dtype=torch.float64)
    labels = torch.tensor(((fill(n, salt + 1) + 0.5) * classes).astype(np.int64))
    return x, labels


def gated(rows, heads, classes, spread, sharpness, level):
    """The gated loss of given logits: heads that differ by `spread` around rows as sharp as `sharpness`."""
    row = fill(rows * classes, 21, sharpness).astype(np.float32).reshape(rows, 1, classes)
    drawn = fill(rows * heads * classes, 22, spread).astype(np.float32).reshape(rows, heads, classes)
    z = (drawn + row).astype(np.float64)
    z = torch.tensor(z, requires_grad=True)
    l = torch.tensor((fill(classes, 23, 2.0) + level).astype(np.float32).astype(np.float64), requires_grad=True)
    labels = torch.tensor(((fill(rows, 24) + 0.5) * classes).astype(np.int64))
    loss = gated_loss(z, labels, l)
    loss.backward()
    return {
        "rows": rows,
        "heads": heads,
        "classes": classes,
        "spread": spread,
        "sharpness": sharpness,
        "l": level,
        "loss": loss.item(),
        "correct": int((gate(z, l).mean(1).argmax(1) == labels).sum()),
        "logits": summary(z.grad),
        "l gradient": summary(l.grad),
    }


def with_gate(net):
    net.l = net.params.add("gate.l", (net.classes,), "bias")
    return net


def case(make, shape, n, classes, form):
    net = make()
    x, labels = batch(shape, n, classes, 1)
    loss = loss_of(net, x, labels, form)
    loss.backward()
    result = {
        "loss": loss.item(),
        "gradients": {k: summary(t.grad) for k, t in zip(net.params.names, net.params.tensors)},
    }
    if net.norms:
        result["running"] = {k: {"mean": summary(m), "variance": summary(v)} for k, (m, v) in net.norms.items()}
    return result


def adam(make, shape, n, classes, rate, steps=10, form="mean"):
    net = make()
    optimiser = torch.optim.Adam(net.params.tensors, lr=rate, weight_decay=1e-5 if form == "mean" else 0)
    losses = []
    start = [t.detach().clone() for t in net.params.tensors]
    for i in range(steps):
        x, labels = batch(shape, n, classes, 1000 + 10 * i)
        optimiser.zero_grad()
        loss = loss_of(net, x, labels, form)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    result = {
        "losses": losses,
        "moved": {k: summary(t - s) for k, t, s in zip(net.params.names, net.params.tensors, start)},
    }
    if net.norms:
        result["running"] = {k: {"mean": summary(m), "variance": summary(v)} for k, (m, v) in net.norms.items()}
        with torch.no_grad():
            x, _ = batch(shape, n, classes, 1)
            result["logits"] = summary(net.logits(x, training=False))
    return result


cnn = lambda: CNN(1, 3, 10)
wrn = lambda: WRN(10, 2, 3, 4, 10)
json.dump(
    {
        "torch": torch.__version__,
        "cnn mean": case(cnn, (1, 28, 28), 8, 10, "mean"),
        "cnn mixture": case(cnn, (1, 28, 28), 8, 10, "mixture"),
        "wrn mean": case(wrn, (3, 32, 32), 8, 10, "mean"),
        "wrn mixture": case(wrn, (3, 32, 32), 8, 10, "mixture"),
        "cnn adam": adam(cnn, (1, 28, 28), 8, 10, 1e-5),
        "wrn adam": adam(wrn, (3, 32, 32), 8, 10, 1e-4),
        "cnn gated": case(lambda: with_gate(cnn()), (1, 28, 28), 8, 10, "gated"),
        "wrn gated": case(lambda: with_gate(wrn()), (3, 32, 32), 8, 10, "gated"),
        "wrn gated adam": adam(lambda: with_gate(wrn()), (3, 32, 32), 8, 10, 1e-4, form="gated"),
        "gated loss": {
            "start": gated(32, 5, 10, 1.0, 1.0, 0.0),
            "in training": gated(32, 20, 10, 2.0, 8.0, 0.0),
            "certain": gated(32, 5, 10, 2.0, 16.0, 1.0),
            "heads nearly alike": gated(32, 100, 10, 0.0625, 8.0, 2.0),
            "small k": gated(32, 5, 7, 4.0, 4.0, -2.0),
            "large k": gated(32, 3, 40, 4.0, 4.0, 12.0),
        },
    },
    sys.stdout,
    indent=1,
)
print()
