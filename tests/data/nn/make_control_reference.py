#!/usr/bin/env python3
"""Writes control_reference.json: optimisers, clipped gradients, the running mean of the parameters, smoothed labels and
class weights as PyTorch defines them, on a small network in float64, and the rates of a cyclic schedule.

    python make_control_reference.py > control_reference.json        (made with PyTorch 2.13)

Parameters and inputs come from the formula of make_reference.py, which is imported for it. Of the change of every
parameter the norm, three projections and 8 entries are kept.
"""

import contextlib
import io
import json
import sys

import torch
import torch.nn.functional as F

with contextlib.redirect_stdout(io.StringIO()):  # it writes its own reference when it is run
    from make_reference import Params, batch, summary

WIDTH, HIDDEN, HEADS, CLASSES, ROWS, STEPS = 8, 16, 2, 5, 8, 6
WEIGHTS = [0.5, 2.0, 1.0, 3.0, 0.25]


class Small(torch.nn.Module):
    """cnn-8-16 with two heads of five classes."""

    def __init__(self):
        super().__init__()
        p = self.params = Params()
        p.add("conv1.weight", (WIDTH, 1, 5, 5), "weight")
        p.add("conv1.bias", (WIDTH,), "bias")
        p.add("conv2.weight", (WIDTH, WIDTH, 5, 5), "weight")
        p.add("conv2.bias", (WIDTH,), "bias")
        p.add("hidden.weight", (HIDDEN, WIDTH * 16), "weight")
        p.add("hidden.bias", (HIDDEN,), "bias")
        p.add("heads.weight", (HEADS * CLASSES, HIDDEN), "weight")
        p.add("heads.bias", (HEADS * CLASSES,), "bias")
        self.list = torch.nn.ParameterList([torch.nn.Parameter(t.detach()) for t in p.tensors])

    def forward(self, x):
        w = self.list
        x = F.max_pool2d(F.relu(F.conv2d(x, w[0], w[1])), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, w[2], w[3])), 2)
        x = F.relu(F.linear(x.flatten(1), w[4], w[5]))
        return F.linear(x, w[6], w[7]).reshape(len(x), HEADS, CLASSES)


def loss_of(net, x, labels, **how):
    z = net(x)
    return torch.stack([F.cross_entropy(z[:, h], labels, **how) for h in range(HEADS)]).mean()


def case(optimiser, clip=0.0, ema=0.0, **how):
    net = Small()
    start = [t.detach().clone() for t in net.list]
    opt = optimiser(net.parameters())
    mean = None
    if ema:
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(ema)
        mean = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=average)
    losses = []
    for i in range(STEPS):
        x, labels = batch((1, 28, 28), ROWS, CLASSES, 1000 + 10 * i)
        opt.zero_grad()
        loss = loss_of(net, x, labels, **how)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        opt.step()
        if mean:
            mean.update_parameters(net)
        losses.append(loss.item())

    def moved(module):
        return {n: summary(t - s) for n, t, s in zip(net.params.names, module.list, start)}

    result = {"losses": losses, "moved": moved(net)}
    if mean:
        result["average"] = moved(mean.module)
    return result


def cyclic(rate, steps, cycles):
    """One rate per step."""
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=steps // cycles, eta_min=0)
    rates = []
    for _ in range(steps):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        schedule.step()
    return rates


def sgd(**more):
    return lambda p: torch.optim.SGD(p, lr=0.02, **more)


def adam(**more):
    return lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-3, **more)


weights = torch.tensor(WEIGHTS, dtype=torch.float64)
json.dump(
    {
        "torch": torch.__version__,
        "adamw": case(lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-3, weight_decay=0.5)),
        "adam decay": case(adam(weight_decay=0.5)),
        "sgd": case(sgd(weight_decay=0.125)),
        "momentum": case(sgd(weight_decay=0.125, momentum=0.875)),
        "nesterov": case(sgd(weight_decay=0.125, momentum=0.875, nesterov=True)),
        "clip adam": case(adam(), clip=0.5),
        "clip momentum": case(sgd(momentum=0.875), clip=0.5),
        "ema": case(adam(), ema=0.75),
        "smoothing": case(adam(), label_smoothing=0.125),
        "weights": case(adam(), weight=weights),
        "both": case(adam(), label_smoothing=0.125, weight=weights),
        "cyclic": cyclic(0.1, 60, 3),
    },
    sys.stdout,
    indent=1,
)
print()
