"""All measures in NumPy as a careful user writes them: EPCE and EPKL in O(M C), EPJS one diagonal of pairs at a time.

    diagonals           on the array as it is, logarithm in place
    diagonals, tuned    members moved to the front, so that both halves of a diagonal are contiguous, and every buffer
                        reused
    diagonals, pool     the tuned form, samples cut in two and run in a thread pool

NumPy's elementwise functions run on one thread, but release the interpreter lock, so that the pool is faster.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from score_common import EPS, FLOOR, K, arguments, measure


def pair_sum_plain(p):
    """sum over m < n and classes of s log s, s = p_m + p_n, for p (n, M, C): one diagonal of the pairs at a time."""
    p = np.maximum(p, 1e-30)
    members = p.shape[1]
    total = np.zeros(len(p))
    for d in range(1, members):
        s = p[:, d:] + p[:, : members - d]
        log = np.log(s)
        log *= s
        total += log.sum((1, 2))
    return total


def pair_sum_tuned(p):
    q = np.ascontiguousarray(p.transpose(1, 0, 2))
    np.maximum(q, 1e-30, out=q)
    members = len(q)
    s, log, total = np.empty_like(q), np.empty_like(q), np.zeros_like(q)
    for d in range(1, members):
        a, b = s[: members - d], log[: members - d]
        np.add(q[d:], q[: members - d], out=a)
        np.log(a, out=b)
        b *= a
        total[: members - d] += b
    return total.sum((0, 2), dtype=np.float64)


def family(p, pair_sum):
    members = p.shape[1]
    mu = p.mean(1, dtype=np.float64)
    log_p = np.log(np.maximum(p, FLOOR))
    tu = -(mu * np.log(np.maximum(mu, FLOOR))).sum(-1)
    own = (p * log_p).sum((1, 2), dtype=np.float64)  # sum over members of -H
    au = -own / members
    epce = -(mu * log_p.mean(1, dtype=np.float64)).sum(-1)
    # Over all ordered pairs H of the mixtures, s = 2 x mixture: -s/2 (log s - log 2); every s sums to 2.
    pairs = -0.5 * pair_sum(p) + np.log(2) * members * (members - 1) / 2
    epjs = (2 * pairs - own) / members**2 - au
    return {"tu": tu, "au": au, "eu": tu - au, "epce": epce, "epkl": epce - au, "epjs": epjs}


def score_chunk(p, pair_sum):
    rows = np.arange(len(p))
    mu, sigma = p.mean(1), p.std(1)
    out = family(p, pair_sum)
    gated = []
    for k in K:
        q = p * -np.expm1(-mu / (k * sigma + EPS))[:, None, :]
        q /= q.sum(-1, keepdims=True)
        gated.append(family(q, pair_sum))
    for name in list(out):
        out["g" + name] = np.stack([g[name] for g in gated], -1)
    order = np.argsort(-mu, -1, kind="stable")[:, :2]
    i, j = order[:, 0], order[:, 1]
    mu_i, mu_j, sigma_i, sigma_j = mu[rows, i], mu[rows, j], sigma[rows, i], sigma[rows, j]
    out["snr"] = (mu_i - mu_j) / (sigma_i + sigma_j + EPS)
    out["gmu"] = 1 - mu_i * -np.expm1(-out["snr"])
    k = np.array(K)
    sure = mu_i[:, None] - k * sigma_i[:, None] > mu_j[:, None] + k * sigma_j[:, None]
    out["decision"] = np.where(sure, i[:, None], -1).astype(np.int32)
    return out


def score(p, chunk, pair_sum=pair_sum_tuned):
    parts = [score_chunk(p[i : i + chunk], pair_sum) for i in range(0, len(p), chunk)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def score_pool(p, chunk, pool, threads):
    blocks = np.array_split(p, threads)
    parts = list(pool.map(lambda block: score(block, chunk), blocks))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def main():
    args = arguments(__doc__)
    p = np.load(args.predictions)
    wanted = args.forms.split("+") if args.forms else ["diagonals", "diagonals, tuned", "diagonals, pool"]
    chunks = (8, 40, 200) if p.shape[2] <= 20 else (2, 8, 40)
    with ThreadPoolExecutor(args.threads) as pool:
        forms = {
            "diagonals": (lambda q, chunk: score(q, chunk, pair_sum_plain), 1),
            "diagonals, tuned": (score, 1),
            "diagonals, pool": (lambda q, chunk: score_pool(q, chunk, pool, args.threads), args.threads),
        }
        for name in wanted:
            work, threads = forms[name]
            measure("numpy", np.__version__, name, work, chunks, p, args, threads)


if __name__ == "__main__":
    main()
