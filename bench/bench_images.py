"""Images per second from JPEG files: vargate beside torchvision's DataLoader, and what streaming costs a training.

    python bench/bench_images.py build/release/vargate [COUNT [ROUNDS]]

Needs Pillow, torch and torchvision. COUNT (800) JPEG files of 500 x 375 pixels become 64 x 64. The programs take turns,
ROUNDS (3) times, and the best of each counts, because other work on the machine disturbs both. One JSON line per
figure; the second line also compares processor time, which other work does not change.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from PIL import Image, ImageFilter


def import_torchvision():
    """torchvision's Python part, also where its compiled part was built for another torch."""
    try:
        import torchvision
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision
        import_torchvision.library = library  # kept: the operators go with it
    from torchvision import datasets, transforms

    return torchvision.__version__, datasets, transforms


def make_files(folder, count):
    rng = np.random.default_rng(1)
    for i in range(count):
        name = os.path.join(folder, "ab"[i % 2])
        os.makedirs(name, exist_ok=True)
        image = Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)).resize((500, 375), Image.BICUBIC)
        image.filter(ImageFilter.SHARPEN).save(f"{name}/{i:05d}.jpg", quality=90)


def processor_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(work):
    wall, used = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - wall, processor_seconds() - used


def ours(program, folder):
    """Every image decoded once, by one thread per core, and counted in histograms."""
    settings = ["resize=64", "channels=3", "in_memory=no"]
    command = [program, "data", "info", f"path:{folder}"] + [word for s in settings for word in ("--set", s)]
    subprocess.run(command, check=True, capture_output=True)


def theirs(datasets, transforms, folder):
    """Workers are started and end here, so that their processor time is counted."""
    steps = [transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor()]
    images = datasets.ImageFolder(folder, transforms.Compose(steps))
    for _ in torch.utils.data.DataLoader(images, batch_size=64, shuffle=True, num_workers=2):
        pass


def training(program, folder, in_memory):
    """Images per second of the best epoch after the first."""
    with tempfile.TemporaryDirectory() as run:
        settings = [f"dataset=path:{folder}", "resize=64", "channels=3", "ood=[]", "network=cnn-32-128", "heads=10"]
        settings += ["epochs=4", "batch=64", f"in_memory={in_memory}"]
        command = [program, "train", "quickstart", "--device", "cpu", "-q", "--out", run]
        subprocess.run(command + [word for s in settings for word in ("--set", s)], check=True)
        with open(f"{run}/metrics.jsonl") as lines:
            return max([json.loads(line)["images_per_s"] for line in lines][1:])


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 800
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    version, datasets, transforms = import_torchvision()
    torch.set_num_threads(1)
    common = {"bench": "images", "files": "JPEG 500x375", "to": "64x64", "cores": os.cpu_count()}
    peer = f"torchvision {version} DataLoader, 2 workers"
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder, count)
        mine, others = [], []
        for _ in range(rounds):
            mine.append(timed(lambda: ours(program, folder)))
            others.append(timed(lambda: theirs(datasets, transforms, folder)))
        best, best_other = (count / min(wall for wall, _ in times) for times in (mine, others))
        cost, cost_other = (1e3 * min(used for _, used in times) / count for times in (mine, others))
        figure = {"figure": "decode", "images_per_s": round(best), "peer": peer, "peer_images_per_s": round(best_other)}
        print(json.dumps({**common, **figure}), flush=True)
        figure = {"figure": "processor time", "ms_per_image": round(cost, 3), "peer": peer}
        print(json.dumps({**common, **figure, "peer_ms_per_image": round(cost_other, 3)}), flush=True)
        held, streamed = (max(training(program, folder, how) for _ in range(rounds)) for how in ("yes", "no"))
        figure = {"figure": "training, cnn-32-128", "streamed_images_per_s": round(streamed)}
        print(json.dumps({**common, **figure, "in_memory_images_per_s": round(held)}), flush=True)


if __name__ == "__main__":
    main()
