"""Many linear heads on one trunk, the switches that keep them apart, and their loss."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["HeadPrior", "LastLayerEnsemble", "bootstrap_weights"]


class HeadPrior(nn.Module):
    """The fixed random network added to the logits: convolutions and ReLU on the image, then one linear map to every
    logit.

    28 x 28: 5x5 stride 2 to 16, to 32. 32 x 32: 3x3 stride 2 pad 1 to 32, to 64, to 64. He initialisation, no biases,
    never trained.

    Parameters
    ----------
    image_shape : (channels, height, width)
    outputs : int
        Heads times classes.
    generator : torch.Generator, optional
    """

    def __init__(
        self, image_shape: tuple[int, int, int], outputs: int, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        channels, height, width = image_shape
        sizes: tuple[int, ...]
        if (height, width) == (28, 28):
            sizes, kernel, pad, side = (16, 32), 5, 0, 4
        elif (height, width) == (32, 32):
            sizes, kernel, pad, side = (32, 64, 64), 3, 1, 4
        else:
            raise ValueError(
                f"a prior network is defined for images of 28 x 28 and 32 x 32, found {height} x {width}; pass a module"
            )
        self.depth = len(sizes)
        for i, size in enumerate(sizes):
            self.add_module(f"conv{i + 1}", nn.Conv2d(channels, size, kernel, stride=2, padding=pad, bias=False))
            channels = size
        self.heads = nn.Linear(channels * side * side, outputs, bias=False)
        for parameter in self.parameters():
            with torch.no_grad():
                parameter.normal_(0, math.sqrt(2 / parameter[0].numel()), generator=generator)
            parameter.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        x = images
        for i in range(self.depth):
            x = F.relu(self.get_submodule(f"conv{i + 1}")(x))
        out: Tensor = self.heads(x.flatten(1))
        return out

    @torch.no_grad()
    def scale_to(self, deviation: float, images: Tensor) -> None:
        """Scales the last layer so that the logits have this standard deviation over `images`."""
        found = float(self(images).double().std(unbiased=False))
        if not (found > 0 and math.isfinite(found)):
            raise ValueError(f"the prior network's logits have standard deviation {found:g} over these images")
        self.heads.weight *= deviation / found


class LastLayerEnsemble(nn.Module):
    """H linear heads as one layer: features (N, F) to logits (N, H, C).

    Parameters
    ----------
    in_features, classes, heads : int
    features : float, default 1.0
        Each head reads its own fixed random share of the features; its initial weights grow by 1/sqrt(share).
    prior : float or module, optional
        Fixed random logits added to each head's, so that `forward` needs the images too. A module maps images to H C
        logits and is never trained. A number b stands for `HeadPrior`, scaled by `fit_prior` to standard deviation b.
    init_scale : float, default 1.0
        Head weights start at standard deviation init_scale / sqrt(F).
    init : {"normal", "uniform"}, default "normal"
        Distribution of the first weights. "uniform" also draws the biases, from +-1 / sqrt(F); with init_scale = 1 /
        sqrt(3) it is the default of `nn.Linear`.
    anchor : float, default 0.0
        The loss gets anchor/H times the squared distance of the heads' weights and biases from where they started.
    image_shape : (channels, height, width), optional
        With a number as `prior`: builds its network now and not in `fit_prior`, as loading a state needs.
    generator : torch.Generator, optional
        Of every draw made here.

    Examples
    --------
    >>> import torch
    >>> heads = LastLayerEnsemble(64, 10, heads=100, features=0.25, init_scale=4.0, anchor=2e-4)
    >>> heads(torch.randn(5, 64)).shape
    torch.Size([5, 100, 10])
    """

    weight: nn.Parameter
    bias: nn.Parameter
    mask: Tensor | None
    start_weight: Tensor | None
    start_bias: Tensor | None
    prior: nn.Module | None

    def __init__(
        self,
        in_features: int,
        classes: int,
        heads: int,
        features: float = 1.0,
        prior: float | nn.Module | None = None,
        init_scale: float = 1.0,
        anchor: float = 0.0,
        *,
        init: Literal["normal", "uniform"] = "normal",
        image_shape: tuple[int, int, int] | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if heads < 1 or classes < 2 or in_features < 1:
            raise ValueError(f"{heads} heads, {classes} classes, {in_features} features, expected at least 1, 2 and 1")
        if not 0 < features <= 1:
            raise ValueError(f"features is {features!r}, expected a share in (0, 1]")
        for name, value in (("init_scale", init_scale), ("anchor", anchor)):
            if not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name} is {value!r}, expected a number of 0 or more")
        self.in_features, self.classes, self.heads = in_features, classes, heads
        self.features, self.init_scale, self.anchor = features, init_scale, anchor
        self._generator = generator
        std = init_scale / math.sqrt(in_features)
        bias = torch.zeros(heads * classes)
        if init == "uniform":
            weight = (2 * torch.rand(heads * classes, in_features, generator=generator) - 1) * (math.sqrt(3) * std)
            bias = (2 * torch.rand(heads * classes, generator=generator) - 1) / math.sqrt(in_features)
        elif init == "normal":
            weight = torch.randn(heads * classes, in_features, generator=generator) * std
        else:
            raise ValueError(f"init is {init!r}, expected 'normal' or 'uniform'")
        mask = None
        if features < 1:
            share = max(1, round(features * in_features))
            chosen = torch.rand(heads, in_features, generator=generator).argsort(dim=1)[:, :share]
            mask = torch.zeros(heads, in_features).scatter_(1, chosen, 1.0).repeat_interleave(classes, dim=0)
            weight = weight * mask / math.sqrt(features)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)
        self.register_buffer("mask", mask)
        self.register_buffer("start_weight", weight.clone() if anchor > 0 else None)
        self.register_buffer("start_bias", bias.clone() if anchor > 0 else None)
        self.prior_scale: float | None = None
        self.prior = None
        if isinstance(prior, nn.Module):
            self.prior = prior.requires_grad_(False)
        elif prior:
            self.prior_scale = float(prior)
            if image_shape is not None:
                self.prior = HeadPrior(image_shape, heads * classes, generator=generator)

    def extra_repr(self) -> str:
        sizes = f"{self.in_features}, {self.classes}, heads={self.heads}"
        return f"{sizes}, features={self.features:g}, anchor={self.anchor:g}"

    @torch.no_grad()
    def fit_prior(self, images: Tensor) -> None:
        """Scales the prior network to its standard deviation over training images (2,000 are enough); builds it if need
        be."""
        if self.prior_scale is None:
            raise ValueError("prior is not a number, so there is nothing to scale")
        if not isinstance(self.prior, HeadPrior):
            shape = (int(images.shape[1]), int(images.shape[2]), int(images.shape[3]))
            self.prior = HeadPrior(shape, self.heads * self.classes, generator=self._generator).to(self.weight.device)
        self.prior.scale_to(self.prior_scale, images.to(self.weight.device))

    def forward(self, features: Tensor, images: Tensor | None = None) -> Tensor:
        weight = self.weight if self.mask is None else self.weight * self.mask
        z = F.linear(features, weight, self.bias)
        if self.prior is not None or self.prior_scale is not None:
            if self.prior is None:
                raise ValueError("the prior network is not built: call fit_prior with training images first")
            if images is None:
                raise ValueError("heads with a prior need the images: pass forward(features, images)")
            with torch.no_grad():
                fixed = self.prior(images).reshape(z.shape)
            z = z + fixed
        return z.view(-1, self.heads, self.classes)

    def loss(self, logits: Tensor, targets: Tensor, *, weights: Tensor | None = None, mixture: bool = False) -> Tensor:
        """Mean over samples and heads of each head's cross-entropy, and the anchor's term.

        Parameters
        ----------
        logits : Tensor (N, H, C)
            What `forward` gave.
        targets : Tensor (N,) of int64
        weights : Tensor (N, H), optional
            Of each cross-entropy: rows of `bootstrap_weights` for the samples of this batch.
        mixture : bool
            Cross-entropy of the mean probability instead of the mean of cross-entropies.
        """
        logp = F.log_softmax(logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits, dim=-1)
        picked = logp.gather(2, targets.view(-1, 1, 1).expand(-1, logp.shape[1], 1)).squeeze(2)
        if mixture:
            if weights is not None:
                raise ValueError("weights are those of each head's cross-entropy: not for mixture")
            value = -(torch.logsumexp(picked, dim=1) - math.log(picked.shape[1])).mean()
        else:
            value = -(picked if weights is None else picked * weights.to(picked)).mean()
        return value + self.anchor_penalty() if self.anchor > 0 else value

    def anchor_penalty(self) -> Tensor:
        """anchor/H times the squared distance of weights and biases from where they started."""
        if self.start_weight is None or self.start_bias is None:
            return self.weight.new_zeros(())
        moved = ((self.weight - self.start_weight) ** 2).sum() + ((self.bias - self.start_bias) ** 2).sum()
        return self.anchor / self.heads * moved

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        # Weights outside a head's features stay 0, whatever another program left there.
        super()._load_from_state_dict(state_dict, prefix, *rest)
        if self.mask is not None:
            with torch.no_grad():
                self.weight *= self.mask


def bootstrap_weights(samples: int, heads: int, *, seed: int = 0) -> Tensor:
    """Fixed Exp(1) weights (samples, heads) of each (training sample, head) on its cross-entropy.

    Examples
    --------
    >>> w = bootstrap_weights(1000, 10)
    >>> w.shape, bool((w[:5] == bootstrap_weights(1000, 10)[:5]).all())
    (torch.Size([1000, 10]), True)
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(samples, heads).exponential_(1.0, generator=generator)
