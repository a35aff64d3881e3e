"""The notebooks of docs/notebooks run from top to bottom, and are kept with their results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NEEDED = {
    "pytorch": ("torch", "matplotlib"),
    "forest": ("sklearn", "matplotlib"),
    "choosing_k": ("sklearn", "matplotlib"),
    "ood_measures": ("torch", "matplotlib"),
    "collapse": ("torch", "matplotlib"),
    "segmentation": ("torch", "matplotlib", "pandas"),
    "multilabel": ("sklearn", "matplotlib", "pandas"),
}
# What a run must print: figures that would be far off if something were wrong, with room for other machines' rounding.
SAID = {
    "pytorch": "answered",
    "forest": "<- least",
    "choosing_k": "met: False",
    "ood_measures": "shuffled pixels",
    "collapse": "collapsed: the members are nearly copies",
    "segmentation": "pixels of 120 images, 11228 left out",
    "multilabel": "80.9% of the answers are right",
}


def read(name: str) -> Any:
    path = NOTEBOOKS / f"{name}.ipynb"
    if not path.exists():
        pytest.skip("the notebooks are not beside the tests")
    return json.loads(path.read_text())


def printed(notebook: Any) -> str:
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", [])]
    return "".join("".join(out["text"]) for out in outputs if out["output_type"] == "stream")


def test_every_notebook_is_tested() -> None:
    if not NOTEBOOKS.exists():
        pytest.skip("the notebooks are not beside the tests")
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(NEEDED)


@pytest.mark.parametrize("name", NEEDED)
def test_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("nbclient", "nbformat", "ipykernel", *NEEDED[name]):
        pytest.importorskip(package)
    import nbclient
    import nbformat

    notebook = nbformat.reads(json.dumps(read(name)), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning:vargate")
    before = sorted(os.listdir(NOTEBOOKS))
    client = nbclient.NotebookClient(
        notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(NOTEBOOKS)}}
    )
    client.execute()  # raises where a cell does
    assert SAID[name] in printed(notebook)
    assert sorted(os.listdir(NOTEBOOKS)) == before  # nothing is left behind


@pytest.mark.parametrize("name", NEEDED)
def test_notebook_shows_its_results(name: str) -> None:
    """Kept small, with the outputs of a run, pictures among them, and none of them an error or a path of a machine."""
    notebook = read(name)
    assert notebook["nbformat"] == 4
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 500_000
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [out for cell in code for out in cell["outputs"]]
    assert len(outputs) >= 5
    assert sum("image/png" in out.get("data", {}) for out in outputs) >= 2
    assert SAID[name] in printed(notebook)
    for out in outputs:
        assert out["output_type"] != "error"
        assert not (out["output_type"] == "stream" and out["name"] == "stderr")
        text = json.dumps({key: value for key, value in out.get("data", {}).items() if key != "image/png"})
        for path in (str(Path.home()), "/tmp/", "site-packages"):
            assert path not in text + json.dumps(out.get("text", ""))
