"""The notebooks of examples/ run from top to bottom, and end where they say."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = {"forest": ("sklearn",), "pytorch": ("sklearn", "torch")}


def cells(name: str) -> list[str]:
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text())
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def script(name: str) -> str:
    """The code cells one after another; like a notebook, a cell shows its last expression."""
    parts = []
    for i, cell in enumerate(cells(name)):
        tree = ast.parse(cell)
        if isinstance(tree.body[-1], ast.Expr):
            shown = ast.unparse(tree.body.pop().value)
            parts.append(ast.unparse(tree) + f"\n__shown = {shown}\nif __shown is not None:\n    print(repr(__shown))")
        else:
            parts.append(cell)
        parts.append(f"print('cell {i} done')")
    return "\n".join(parts)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name: str, tmp_path: Path) -> None:
    if not (EXAMPLES / f"{name}.ipynb").exists():
        pytest.skip("the examples are not beside the tests")
    for package in NOTEBOOKS[name]:
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:vargate", "-c", script(name)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cell {len(cells(name)) - 1} done" in done.stdout
    if name == "pytorch" and "no page" not in done.stdout:
        page = (tmp_path / "report" / "report.html").read_text()
        assert "Digits, MC dropout" in page
        assert len(page) > 50_000


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_shows_its_results(name: str) -> None:
    """Kept with the outputs of a run, none of them an error or a path of the machine they ran on."""
    path = EXAMPLES / f"{name}.ipynb"
    if not path.exists():
        pytest.skip("the examples are not beside the tests")
    outputs = [out for cell in json.loads(path.read_text())["cells"] for out in cell.get("outputs", [])]
    assert len(outputs) >= 5
    for out in outputs:
        assert out["output_type"] != "error"
        assert str(Path.home()) not in json.dumps(out)
        assert "/tmp/" not in json.dumps(out)
