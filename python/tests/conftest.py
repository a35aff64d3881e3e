"""What the tests share: the installed program, and data with some structure in them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def find_program() -> str:
    """The program that came with the package, or the one named by VARGATE_PROGRAM."""
    installed = Path(sysconfig.get_path("scripts")) / "vargate"
    found = os.environ.get("VARGATE_PROGRAM") or (str(installed) if installed.exists() else shutil.which("vargate"))
    if not found:
        pytest.skip("the program vargate is not installed")
    return found


@pytest.fixture(scope="session")
def program() -> str:
    return find_program()


@pytest.fixture(scope="session")
def training_program(program: str) -> str:
    """The program of the tree's own build where there is one (VARGATE): it may have oneDNN, which the wheel
    lacks."""
    return os.environ.get("VARGATE") or program


@pytest.fixture(scope="session")
def command(program: str) -> Callable[..., Any]:
    """Runs ``vargate ... --json`` and gives its result without its schema and the names of files."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in ("schema", "command", "file")}
        return [strip(item) for item in value] if isinstance(value, list) else value

    def run(*arguments: object) -> Any:
        done = subprocess.run(
            [program, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True, check=True
        )
        return strip(json.loads(done.stdout))

    return run


@pytest.fixture(scope="session")
def logits() -> tuple[np.ndarray, np.ndarray]:
    """(Z, y): 400 samples, 6 members, 4 classes, about one in five wrong."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 4, 400)
    return (2 * np.eye(4)[y][:, None] + 3 * rng.normal(size=(400, 6, 4))).astype(np.float32), y


@pytest.fixture(scope="session")
def multilabel() -> tuple[np.ndarray, np.ndarray]:
    """(u, y): 150 samples, 5 members, 3 labels."""
    rng = np.random.default_rng(8)
    u = rng.beta(0.5, 0.5, size=(150, 5, 3))
    return u, (u.mean(axis=1) + 0.2 * rng.normal(size=(150, 3)) > 0.5).astype(np.int64)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, logits: Any, multilabel: Any) -> Path:
    """The same as files: z.npz, ood.npz, u.npz."""
    folder = tmp_path_factory.mktemp("predictions")
    rng = np.random.default_rng(9)
    np.savez(folder / "z.npz", Z=logits[0], L=logits[1])
    np.savez(folder / "ood.npz", Z=(0.5 * rng.normal(size=(300, 6, 4))).astype(np.float32))
    np.savez(folder / "u.npz", P=multilabel[0], L=multilabel[1])
    return folder
