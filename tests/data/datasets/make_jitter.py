"""Writes jitter.txt: colour jitter of small images by torchvision's own functions for float tensors, in chosen orders.

    python make_jitter.py > jitter.txt          needs torch and torchvision (made with 2.13.0 and 0.28.0)

Each case: channels, pixels, the four factors (brightness, contrast, saturation, hue), the order of the operations, then
the input and the expected output, channel by channel. The functions are loaded from torchvision's file rather than
through the package, so that they need no compiled extension."""

import importlib.util
import os

import torch

package = importlib.util.find_spec("torchvision").submodule_search_locations[0]
spec = importlib.util.spec_from_file_location(
    "functional", os.path.join(package, "transforms", "_functional_tensor.py")
)
functional = importlib.util.module_from_spec(spec)
spec.loader.exec_module(functional)
operations = [
    functional.adjust_brightness,
    functional.adjust_contrast,
    functional.adjust_saturation,
    functional.adjust_hue,
]


def line(values):
    print(" ".join(f"{v:.9g}" for v in values))


generator = torch.Generator().manual_seed(7)
for case in range(12):
    channels = 1 if case % 4 == 3 else 3
    image = torch.rand((channels, 5, 6), generator=generator)
    if case % 3 == 1:  # greys, blacks, whites and pure colours
        image = (image * 3).floor() / 2
    factors = (0.8 + 0.4 * torch.rand(3, generator=generator)).tolist() + [
        (0.2 * torch.rand(1, generator=generator) - 0.1).item()
    ]
    if case >= 8:  # beyond the usual strengths
        factors = [2.5 * factors[0] - 1.5, 2.0 * factors[1] - 0.5, 3.0 * factors[2] - 2.0, 5.0 * factors[3]]
    order = torch.randperm(4, generator=generator).tolist()
    out = image
    for operation in order:
        out = operations[operation](out, factors[operation])
    print(channels, image[0].numel())
    line(factors)
    print(*order)
    line(image.flatten().tolist())
    line(out.flatten().tolist())
