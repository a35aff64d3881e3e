#!/usr/bin/env python3
"""PyTorch's training and MC-dropout prediction of the paper's CNN on the CPU: the peer of bench_train. One JSON line
per figure.

The script restarts itself with the allocator and thread settings that serve PyTorch best here (large malloc thresholds,
bound threads), uses channels-last for both float32 and bfloat16, and autocast for bfloat16.
"""

import argparse
import json
import os
import sys
import time

TUNED = {
    "MALLOC_TOP_PAD_": "268435456",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "OMP_PROC_BIND": "true",
}

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--images", type=int, default=1000)
arguments = parser.parse_args()
if os.environ.get("TRAIN_TORCH_TUNED") != "1":
    os.execve(
        sys.executable,
        [sys.executable] + sys.argv,
        {**os.environ, **TUNED, "OMP_NUM_THREADS": str(arguments.threads), "TRAIN_TORCH_TUNED": "1"},
    )

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(arguments.threads)


class CNN(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 128, 5), nn.Conv2d(128, 128, 5)
        self.hidden, self.heads = nn.Linear(2048, 2048), nn.Linear(2048, heads * 10)

    def forward(self, x):
        x = F.dropout(F.max_pool2d(F.relu(self.conv1(x)), 2), 0.05, True)
        x = F.dropout(F.max_pool2d(F.relu(self.conv2(x)), 2), 0.05, True)
        x = F.dropout(F.relu(self.hidden(x.flatten(1))), 0.05, True)
        return self.heads(x)


def say(what, compute, heads, value):
    print(
        json.dumps(
            {
                "bench": what,
                "compute": compute,
                "heads": heads,
                "value": round(value, 1),
                "unit": "images/s",
                "threads": arguments.threads,
                "peer": "PyTorch " + torch.__version__,
            }
        ),
        flush=True,
    )


def train(heads, bf16):
    net = CNN(heads).to(memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-5)
    x = torch.randn(128, 1, 28, 28).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (128,))
    best = 0.0
    for epoch in range(4):
        start = time.perf_counter()
        for _ in range(arguments.steps):
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                z = net(x)
            loss = F.cross_entropy(z.float().reshape(-1, 10), y.repeat_interleave(heads))
            loss.backward()
            optimiser.step()
        if epoch:
            best = max(best, 128 * arguments.steps / (time.perf_counter() - start))
    return net, best


for bf16 in (False, True):
    compute = "bfloat16" if bf16 else "float32"
    for heads in (1, 100):
        net, rate = train(heads, bf16)
        say("train MNIST CNN", compute, heads, rate)
        if heads == 1:
            images = torch.randn(arguments.images, 1, 28, 28).contiguous(memory_format=torch.channels_last)
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                passes = 100 if arguments.images <= 100 else 10  # the time of 10 passes, times 10
                net(images[:64])
                start = time.perf_counter()
                for _ in range(passes):
                    for i in range(0, len(images), 500):
                        net(images[i : i + 500])
                seconds = (time.perf_counter() - start) * 100 / passes
            say("predict MNIST CNN, 100 MC-dropout passes", compute, 1, arguments.images / seconds)
