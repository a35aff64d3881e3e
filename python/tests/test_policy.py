"""`policy=`: what ``vargate decide --save`` wrote decides the same in Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import vargate
from vargate.policy import Policy


def draw(seed: int, n: int = 1500, members: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    z = rng.normal(0, 1, (n, 1, 3)) + 0.5 * rng.normal(0, 1, (n, members, 3))
    z[np.arange(n), :, labels] += rng.uniform(0, 8, n)[:, None]
    return 2 * z, labels


@pytest.mark.parametrize(
    "options", [[], ["--by", "k"], ["--by", "gtu@2", "--preset", "vge"], ["--by", "snr", "--log-base", "2"]]
)
def test_policy_of_the_command_line(program: str, tmp_path: Path, options: list[str]) -> None:
    for name, seed in (("val", 1), ("test", 2)):
        z, labels = draw(seed)
        np.savez(tmp_path / f"{name}.npz", Z=z, L=labels)
    saved = tmp_path / "policy.json"
    files = [str(tmp_path / "test.npz"), "--calibration", str(tmp_path / "val.npz"), "-o", str(tmp_path / "d.npz")]
    subprocess.run(
        [program, "decide", *files, "--target-risk", "0.05", "--save", str(saved), "-q", *options],
        check=True,
        capture_output=True,
    )
    theirs = np.load(tmp_path / "d.npz")["decision"]
    z, _ = draw(2)
    assert np.array_equal(vargate.decide(z, policy=saved, logits=True), theirs)
    policy = Policy.load(saved)
    assert np.array_equal(vargate.decide(z, policy=policy, logits=True), theirs)
    assert 0 < np.count_nonzero(theirs >= 0) < len(theirs)
    gate = policy.by.partition("@")[2]
    scores = vargate.score(z, logits=True, k=float(gate) if gate else 1.0, **policy.options())
    assert np.array_equal(scores.decide(policy=saved), theirs)


def test_refusals(program: str, tmp_path: Path) -> None:
    z, labels = draw(1)
    np.savez(tmp_path / "test.npz", Z=z, L=labels)
    saved = tmp_path / "policy.json"
    subprocess.run(
        [program, "decide", str(tmp_path / "test.npz"), "-k", "2", "--save", str(saved)],
        check=True,
        capture_output=True,
    )
    assert np.array_equal(vargate.decide(z, policy=saved, logits=True), vargate.decide(z, 2, logits=True))
    with pytest.raises(ValueError, match="3 members and 3 classes, the policy is for 4 and 3"):
        vargate.decide(z[:, :3], policy=saved, logits=True)
    with pytest.raises(TypeError, match="the policy has its own log_base"):
        vargate.decide(z, policy=saved, logits=True, log_base="2")
    text = json.loads(saved.read_text())
    for key, value, message in (("schema", "vargate/9", "schema vargate/9"), ("command", "x", "not a policy")):
        (tmp_path / "bad.json").write_text(json.dumps(text | {key: value}))
        with pytest.raises(ValueError, match=message):
            Policy.load(tmp_path / "bad.json")
    del text["members"]
    (tmp_path / "bad.json").write_text(json.dumps(text))
    with pytest.raises(ValueError, match="not a whole policy"):
        Policy.load(tmp_path / "bad.json")
