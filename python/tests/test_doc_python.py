"""The Python blocks of the pages run: those fenced as ```python run, each in a folder that holds the data that ship
and the files that tests/project/doc_files.py makes.

``python run torch`` and ``python run sklearn`` need that package and are skipped without it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python run ?(\w*)\n(.*?)^```", re.M | re.S)
BLOCKS = [
    pytest.param(package, code, id=f"{page.stem}-{number}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, (package, code) in enumerate(BLOCK.findall(page.read_text()))
]


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize(("package", "code"), BLOCKS)
def test_block(package: str, code: str, tmp_path: Path) -> None:
    if package and find_spec(package) is None:
        pytest.skip(f"needs {package}")
    (tmp_path / "data").symlink_to(ROOT / "data")
    subprocess.run([sys.executable, ROOT / "tests/project/doc_files.py", tmp_path], check=True)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
