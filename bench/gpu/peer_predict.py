"""MC-dropout prediction with WRN-28-10 in bfloat16 on one GPU by PyTorch: every pass runs the whole network. A rate
counts image-passes: 100 of them make an image's prediction.

    eager       autocast
    eager-half  weights kept in bfloat16, batch-norm in float32: no casts
    compiled    eager-half through torch.compile, max-autotune-no-cudagraphs and a CUDA graph; for information
"""

import torch
import torch.nn as nn
from peer_common import Captured, WideResNet, main, say, seconds_a_call

VARIANTS = ("eager", "eager-half", "compiled")


def run(args):
    net = WideResNet(10, 1, 10) if args.tiny else WideResNet(28, 10, 10)
    net = net.to(args.device, memory_format=torch.channels_last).eval()
    half = args.variant != "eager"
    if half:
        net.to(torch.bfloat16)
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.float()
    model = net
    if args.variant == "compiled":
        model = torch.compile(net, mode="default" if args.tiny else "max-autotune-no-cudagraphs")
    best = (0.0, 0)
    rates = {}
    for batch in [4] if args.tiny else [512] if args.variant == "compiled" else [128, 256, 512]:
        x = torch.randn(batch, 3, 32, 32, device=args.device, dtype=torch.bfloat16 if half else torch.float32)
        x = x.contiguous(memory_format=torch.channels_last)

        def one_pass():
            with torch.inference_mode(), torch.autocast(args.device, torch.bfloat16, enabled=not half):
                return torch.softmax(model(x).float(), -1)

        work = Captured(one_pass, 3) if args.variant == "compiled" and args.device == "cuda" else one_pass
        seconds = seconds_a_call(work, args.device, **args.windows)
        rates[batch] = round(batch / seconds)
        best = max(best, (batch / seconds, batch))
    more = {"batch": best[1], "rates": rates, "passes": 100, "images_per_s": round(best[0] / 100, 2)}
    say("predict wrn-28-10", args.variant, best[0], "image-passes/s", **more)


if __name__ == "__main__":
    main(__doc__, VARIANTS, ("eager", "eager-half"), run)
