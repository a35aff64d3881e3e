"""The measures of one set of members in PyTorch, and their sums over pairs, for the peers on CPUs and on a GPU."""

import math

import torch

FLOOR = 1e-12
TINY = 1e-30  # stands for 0 in s log s


def pair_sum_all(p):
    """sum over m < n and classes of s log s, s = p_m + p_n, for p (n, M, C)."""
    s = p[:, :, None] + p[:, None, :]
    own = 2 * p
    return 0.5 * ((s * s.log()).sum((1, 2, 3)) - (own * own.log()).sum((1, 2)))


def diagonal_terms(p):
    """The terms of that sum (M, n, C), added up over diagonals: members in front, so that both halves of a diagonal are
    contiguous, and every buffer reused."""
    q = p.transpose(0, 1).contiguous()
    members = len(q)
    s, log, total = torch.empty_like(q), torch.empty_like(q), torch.zeros_like(q)
    for d in range(1, members):
        a, b = s[: members - d], log[: members - d]
        torch.add(q[d:], q[: members - d], out=a)
        torch.log(a, out=b)
        total[: members - d].addcmul_(a, b)
    return total


def family(p, pair_sum):
    """tu, au, eu, epce, epkl and epjs (n) of p (n, M, C)."""
    members = p.shape[1]
    p = p.clamp_min(TINY)
    mu = p.mean(1)
    log_p = p.clamp_min(FLOOR).log()
    tu = -(mu * mu.log()).sum(-1)
    own = (p * log_p).sum((1, 2))
    au = -own / members
    epce = -(mu * log_p.mean(1)).sum(-1)
    pairs = -0.5 * pair_sum(p) + math.log(2) * members * (members - 1) / 2
    epjs = (2 * pairs - own) / members**2 - au
    return {"tu": tu, "au": au, "eu": tu - au, "epce": epce, "epkl": epce - au, "epjs": epjs}
