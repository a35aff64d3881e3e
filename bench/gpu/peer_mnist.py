"""The MNIST CNN, 100 heads, training steps (Adam included) in bfloat16 on one GPU by PyTorch; every step gathers its
batch from a set of 54,000 digits that lies on the GPU.

    eager               fused Adam, autocast
    reduce-overhead     torch.compile of forward and backward with Inductor's CUDA graphs
    graph               the whole step, gathering and Adam included, recorded by hand in a CUDA graph
    graph-compiled      the same with forward and backward compiled
    graph-compiled-20   twenty steps in one graph
    graph-max-autotune  graph-compiled, compiled by max-autotune-no-cudagraphs
"""

import torch
from peer_common import CNN, Captured, heads_loss, main, say, seconds_a_call

VARIANTS = ("eager", "reduce-overhead", "graph", "graph-compiled", "graph-compiled-20", "graph-max-autotune")
MODES = {"reduce-overhead": "reduce-overhead", "graph-max-autotune": "max-autotune-no-cudagraphs"}
DIGITS = 54000


def run(args):
    heads, batch, digits = (4, 16, 256) if args.tiny else (args.heads, args.batch, DIGITS)
    device = args.device
    net = CNN(heads * 10, 8, 32) if args.tiny else CNN(heads * 10)
    net = net.to(device, memory_format=torch.channels_last).train()
    fused = {"fused": True, "capturable": True} if device == "cuda" else {"fused": True}
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-5, **fused)
    images = torch.randn(digits, 1, 28, 28, device=device).to(torch.bfloat16)
    labels = torch.randint(0, 10, (digits,), device=device)
    order = torch.randperm(digits, device=device)
    place = torch.zeros((), dtype=torch.int64, device=device)
    offsets = torch.arange(batch, device=device)

    def forward(x, y):
        with torch.autocast(device, torch.bfloat16, cache_enabled=False):
            z = net(x)
        return heads_loss(z, y)

    if args.variant in MODES or "compiled" in args.variant:
        forward = torch.compile(forward, mode=MODES.get(args.variant, "default"))

    def step():
        chosen = order[(place + offsets) % digits]
        place.add_(batch)
        optimiser.zero_grad(set_to_none=True)
        loss = forward(images[chosen].contiguous(memory_format=torch.channels_last), labels[chosen])
        loss.backward()
        optimiser.step()
        return loss

    first, steps = step().item(), 1
    if args.variant.startswith("graph") and device == "cuda":
        steps = 20 if args.variant.endswith("-20") else 1

        def several():
            for _ in range(steps):
                step()

        seconds = seconds_a_call(Captured(several), device, **args.windows)
    else:
        seconds = seconds_a_call(step, device, **args.windows)
    last = step().item()
    assert 0 < last < 2 * first, f"loss {first} -> {last}"
    rate = steps * batch / seconds
    say("train cnn", args.variant, rate, "images/s", heads=heads, batch=batch, ms=round(1e3 * seconds / steps, 4))


def options(parser):
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--heads", type=int, default=100)


if __name__ == "__main__":
    main(__doc__, VARIANTS, ("graph", "graph-compiled", "graph-compiled-20"), run, options)
