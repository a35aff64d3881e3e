"""WRN-28-10, 100 heads, training steps (Adam included) in bfloat16 on one GPU by PyTorch; images already there.

eager                       fused Adam, autocast
default                     torch.compile of forward and backward
max-autotune                the same with all of Inductor's searches and its CUDA graphs
max-autotune-no-cudagraphs
graph                       forward, backward (torch.compile) and Adam recorded by hand in one CUDA graph
graph-max-autotune          the same, compiled by max-autotune-no-cudagraphs
"""

import torch
from peer_common import Captured, WideResNet, heads_loss, main, say, seconds_a_call

VARIANTS = ("eager", "default", "max-autotune", "max-autotune-no-cudagraphs", "graph", "graph-max-autotune")
MODES = {"graph": "default", "graph-max-autotune": "max-autotune-no-cudagraphs"}


def run(args):
    heads, batch = (4, 8) if args.tiny else (args.heads, args.batch)
    net = WideResNet(10, 1, heads * 10) if args.tiny else WideResNet(28, 10, heads * 10)
    net = net.to(args.device, memory_format=torch.channels_last).train()
    fused = {"fused": True, "capturable": True} if args.device == "cuda" else {"fused": True}
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4, weight_decay=1e-5, **fused)
    x = torch.randn(batch, 3, 32, 32, device=args.device).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (batch,), device=args.device)

    def forward(x, y):
        with torch.autocast(args.device, torch.bfloat16, cache_enabled=False):
            z = net(x)
        return heads_loss(z, y)

    if args.variant != "eager":
        forward = torch.compile(forward, mode=MODES.get(args.variant, args.variant))

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = forward(x, y)
        loss.backward()
        optimiser.step()
        return loss

    first = step().item()
    if args.variant.startswith("graph") and args.device == "cuda":
        replay = Captured(step, warm_up=3)
        seconds = seconds_a_call(replay, args.device, **args.windows)
    else:
        seconds = seconds_a_call(step, args.device, **args.windows)
    last = step().item()
    assert last < first, f"it does not learn one batch: loss {first} -> {last}"
    more = {"heads": heads, "batch": batch, "ms": round(1e3 * seconds, 3)}
    say("train wrn-28-10", args.variant, batch / seconds, "images/s", **more)


def options(parser):
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--heads", type=int, default=100)


if __name__ == "__main__":
    main(__doc__, VARIANTS, ("default", "graph", "graph-max-autotune"), run, options)
