"""What the PyTorch peers of bench/gpu.sh share: the paper's networks, timing with device events, JSON lines, variants
in processes of their own.

Every peer has variants. `--variants a,b` runs each in a subprocess bounded by `--timeout`, so that one that compiles
for too long or fails does not stop the others; `--variant a` runs one here.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Compiled code is kept from run to run.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "vargate-inductor"))

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """BN, ReLU, conv 3x3 (stride), dropout, BN, ReLU, conv 3x3, plus the input or a 1x1 conv of the first ReLU."""

    def __init__(self, inputs, outputs, stride, dropout):
        super().__init__()
        self.dropout = dropout
        self.norm1, self.norm2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        same = inputs == outputs and stride == 1
        self.shortcut = None if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        a = F.relu(self.norm1(x))
        y = F.dropout(self.conv1(a), self.dropout, True)
        y = self.conv2(F.relu(self.norm2(y)))
        return y + (x if self.shortcut is None else self.shortcut(a))


class WideResNet(nn.Module):
    """wrn-DEPTH-WIDTH for 3-channel images; dropout is on in training and in prediction (MC dropout)."""

    def __init__(self, depth=28, width=10, outputs=1000, dropout=0.3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        blocks, channels = [], 16
        for group in range(3):
            for i in range((depth - 4) // 6):
                blocks.append(Block(channels, 16 * width << group, 2 if group and not i else 1, dropout))
                channels = 16 * width << group
        self.blocks, self.norm = nn.Sequential(*blocks), nn.BatchNorm2d(channels)
        self.heads = nn.Linear(channels, outputs)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.num_batches_tracked = None  # an unused counter that would cost a kernel per layer

    def forward(self, x):
        x = F.relu(self.norm(self.blocks(self.conv1(x))))
        return self.heads(x.mean((2, 3)))


class CNN(nn.Module):
    """cnn-128-2048 for 28x28 digits."""

    def __init__(self, outputs=1000, width=128, hidden=2048, dropout=0.05):
        super().__init__()
        self.dropout = dropout
        self.conv1, self.conv2 = nn.Conv2d(1, width, 5), nn.Conv2d(width, width, 5)
        self.hidden, self.heads = nn.Linear(16 * width, hidden), nn.Linear(hidden, outputs)

    def forward(self, x):
        x = F.dropout(F.relu(F.max_pool2d(self.conv1(x), 2)), self.dropout, True)
        x = F.dropout(F.relu(F.max_pool2d(self.conv2(x), 2)), self.dropout, True)
        x = F.dropout(F.relu(self.hidden(x.flatten(1))), self.dropout, True)
        return self.heads(x)


def heads_loss(logits, labels, classes=10):
    """Mean over heads of each head's cross-entropy: logits (n, H * C)."""
    z = logits.float().view(-1, classes)
    return F.cross_entropy(z, labels.repeat_interleave(len(z) // len(labels)))


def set_up(device):
    torch.manual_seed(1)
    if device == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True


class Captured:
    """A function recorded in a CUDA graph after running a few times; calling it replays the graph."""

    def __init__(self, work, warm_up=11):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(warm_up):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            work()

    def __call__(self):
        self.graph.replay()


def seconds_of(work, device, calls):
    """Seconds of so many calls, by device events."""
    if device != "cuda":
        start = time.perf_counter()
        for _ in range(calls):
            work()
        return time.perf_counter() - start
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


def seconds_a_call(work, device, window=0.5, windows=7, warm_up=5):
    """Median over several windows of about `window` seconds each."""
    seconds_of(work, device, warm_up)
    calls = max(1, round(window / (seconds_of(work, device, 5) / 5)))
    return statistics.median(seconds_of(work, device, calls) / calls for _ in range(windows))


def say(what, variant, value, unit, **more):
    line = {"bench": "gpu", "what": what, "peer": "PyTorch " + torch.__version__, "variant": variant}
    line |= {"value": float(f"{value:.6g}"), "unit": unit}
    if torch.cuda.is_available():
        peak = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        line |= {"device": torch.cuda.get_device_name(), "peak_gib": peak}
    print(json.dumps(line | more), flush=True)


def main(description, variants, default, run, options=lambda parser: None):
    """run(args) measures args.variant, one of `variants`; `default`: those that a plain call measures."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", default=",".join(default), help=f"comma list of {', '.join(variants)}, or all")
    parser.add_argument("--variant", choices=variants, help="this one, in this process")
    parser.add_argument("--timeout", type=float, default=170, help="seconds for each of --variants")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small sizes and short windows: shows that it runs")
    options(parser)
    args = parser.parse_args()
    if args.variant:
        set_up(args.device)
        args.windows = {"window": 0.05, "windows": 2, "warm_up": 1} if args.tiny else {}
        return run(args)
    chosen, failed = list(variants) if args.variants == "all" else args.variants.split(","), 0
    for variant in chosen:
        start = time.perf_counter()
        try:
            command = [sys.executable, *sys.argv, "--variant", variant]
            code = subprocess.run(command, timeout=args.timeout, stdout=sys.stdout).returncode
        except subprocess.TimeoutExpired:
            code = f"timeout after {args.timeout:.0f} s"
        note = f", failed: {code}" if code else ""
        seconds = time.perf_counter() - start
        print(f"{os.path.basename(sys.argv[0])}: {variant}: {seconds:.0f} s{note}", file=sys.stderr, flush=True)
        failed += bool(code)
    sys.exit(1 if failed == len(chosen) else 0)
