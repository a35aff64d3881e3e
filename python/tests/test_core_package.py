"""The package itself: doctests, types, lint, versions, and the wheel in an environment that has nothing else."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import importlib.util
import inspect
import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vargate

PACKAGE = Path(vargate.__file__).parent
ROOT = Path(__file__).parents[2]
CORE = ["vargate"] + [
    f"vargate.{p.stem}"
    for p in sorted(PACKAGE.glob("*.py"))
    if p.stem not in ("__init__", "__main__", "dask", "sklearn", "_sklearn_members", "_sklearn_sets", "torch")
]


@pytest.mark.parametrize("name", CORE)
def test_doctests(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_public_names_are_documented_with_examples() -> None:
    for name in vargate.__all__:
        thing = getattr(vargate, name)
        if name != "__version__":
            assert thing.__doc__, name
        if callable(thing) and not isinstance(thing, type) and name != "cpu_tier":
            assert ">>>" in thing.__doc__, name


def test_import_brings_numpy_only() -> None:
    names = ("pandas", "polars", "pyarrow", "matplotlib", "torch", "sklearn", "dask")
    script = f"import sys, vargate; print([m for m in {names} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_versions_agree() -> None:
    text = (ROOT / "include/vargate/version.h").read_text()
    assert f'#define VARGATE_VERSION_STRING "{vargate.__version__}"' in text
    try:
        assert importlib.metadata.version("vargate-uq") == vargate.__version__
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed, run from the tree")


def test_the_other_distribution_is_named(tmp_path: Path) -> None:
    """PyPI's `vargate` is another program with this import name: beside it, importing says so in one line."""
    (tmp_path / "vargate").symlink_to(PACKAGE)
    script = "import sys; sys.path.insert(0, sys.argv[1]); import vargate"

    def said() -> str:
        return subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True).stderr

    assert said() == ""
    (tmp_path / "vargate-1.0.0.dist-info").mkdir()
    lines = [line for line in said().splitlines() if "RuntimeWarning" in line]
    assert len(lines) == 1
    assert "vargate 1.0.0" in lines[0]
    assert "pip uninstall vargate" in lines[0]


def test_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def check_types(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """What mypy --strict says of a user's script, against the package's sources. The scripts share mypy's cache."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports", f"--cache-dir={folder}"]

    def said(script: str) -> str:
        arguments = [sys.executable, "-m", "mypy", *options, str(TYPING / script)]
        done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return done.stdout

    return said


TYPING = Path(__file__).parent / "data" / "typing"


def wrong_lines() -> set[int]:
    lines = (TYPING / "wrong_script.py").read_text().split("\n")
    return {i + 1 for i, line in enumerate(lines) if line.endswith("# wrong")}


def test_users_types(check_types: Callable[[str], str]) -> None:
    """A script that uses everything has no error; each line marked wrong has one."""
    assert "Success" in check_types("user_script.py")
    said = check_types("wrong_script.py")
    assert wrong_lines() == {int(line.split(":")[1]) for line in said.split("\n") if ": error:" in line}, said


def test_users_types_with_optional_packages(check_types: Callable[[str], str]) -> None:
    for package in ("dask.array", "pandas", "polars", "pyarrow", "sklearn", "torch"):
        pytest.importorskip(package)
    said = check_types("user_extras.py")
    assert "Success" in said, said


# Errors that pyright finds in other packages are ignored.
THEIRS = ("MissingTypeStubs", "UnknownMemberType", "UnknownVariableType", "UnknownArgumentType", "MissingModuleSource")


def test_users_types_by_pyright(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    settings: dict[str, object] = {"extraPaths": [str(ROOT / "python")], "typeCheckingMode": "strict"}
    settings |= {f"report{name}": False for name in THEIRS}
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings))

    def errors(script: str) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "pyright", "-p", config, "--pythonpath", sys.executable, "--outputjson"]
        done = subprocess.run([*command, TYPING / script], cwd=tmp_path, capture_output=True, text=True, check=False)
        try:
            found: list[dict[str, Any]] = json.loads(done.stdout)["generalDiagnostics"]
        except ValueError:
            pytest.skip(f"pyright does not run here: {done.stderr[:200]}")
        return found

    scripts = ["user_script.py"]
    if all(importlib.util.find_spec(name) for name in ("dask", "pandas", "polars", "pyarrow", "sklearn", "torch")):
        scripts.append("user_extras.py")
    for script in scripts:
        assert errors(script) == []
    assert wrong_lines() == {row["range"]["start"]["line"] + 1 for row in errors("wrong_script.py")}


def test_every_option_has_a_name_and_a_type() -> None:
    """No public function or method takes keywords of any name and any type."""
    for module in [m for m in (*CORE, "vargate.dask", "vargate.sklearn", "vargate.torch") if "._" not in m]:
        try:
            things = importlib.import_module(module)
        except ImportError:
            continue  # an optional package
        for name in getattr(things, "__all__", []):
            thing = getattr(things, name)
            members = vars(thing) if isinstance(thing, type) else {name: thing}
            for key, one in members.items():
                if (key.startswith("_") and key != "__init__") or not inspect.isfunction(one):
                    continue
                for parameter in inspect.signature(one).parameters.values():
                    any_ = parameter.kind is parameter.VAR_KEYWORD and parameter.annotation in (Any, "Any")
                    assert not any_, f"{module}.{name}.{key}: **{parameter.name}"


def test_signatures_show_every_option() -> None:
    """What notebooks complete: names of the options, not a ``**scoring``."""
    for taker in (vargate.evaluate, vargate.ood, vargate.Evaluator, vargate.Scorer, vargate.select_k, vargate.decide):
        shown = inspect.signature(taker).parameters
        assert {"logits", "temperature", "preset", "axes", "renormalise"} <= shown.keys(), taker
        assert all(p.kind is not p.VAR_KEYWORD for p in shown.values()), taker
    assert {"k", "classes", "threads", "extra"} <= inspect.signature(vargate.evaluate).parameters.keys()
    assert {"target_risk", "by", "sigma"} <= inspect.signature(vargate.select_threshold).parameters.keys()
    assert {"decimal", "labels_from", "labels"} <= inspect.signature(vargate.load).parameters.keys()
    assert {"network", "heads", "epochs"} <= inspect.signature(vargate.train).parameters.keys()


def test_attributes_of_scores_say_what_they_are() -> None:
    """The line under each attribute, which editors show, is that of the library's table."""
    tree = ast.parse((ROOT / "python/vargate/scores.py").read_text())
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Scores")
    lines: dict[str, str] = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            lines[ast.unparse(field.targets[0])] = str(text.value.value)
    for info in vargate.measures():
        assert lines[info.name] == f"{info}."
    full = ("total uncertainty", "variance-gated total uncertainty", "maximum probability", "variation ratio")
    assert set(full) <= {info.meaning.partition(":")[0] for info in vargate.measures()}


def test_ruff() -> None:
    pytest.importorskip("ruff")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "python"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# --- the sdist --------------------------------------------------------------------------------------------------------


def test_sdist(tmp_path: Path) -> None:
    """Holds the sources and nothing that was built.

    With VG_TEST_FULL=1 it is also installed into a clean environment.
    """
    pytest.importorskip("scikit_build_core")
    script = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    archive = tmp_path / done.stdout.split()[-1]
    with tarfile.open(archive) as tar:
        names = [name.partition("/")[2] for name in tar.getnames()]
    assert {name.split("/")[0] for name in names} >= {
        "CMakeLists.txt",
        "cli",
        "cmake",
        "data",
        "include",
        "python",
        "recipes",
        "src",
    }
    assert not [
        name
        for name in names
        if name.split("/")[0] in ("build", "tests", "bench") or "node_modules" in name or name.endswith(".o")
    ]
    assert archive.stat().st_size < 10 << 20
    if os.environ.get("VG_TEST_FULL") == "1":
        subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
        python = tmp_path / "env" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", archive], check=True, cwd=tmp_path)
        subprocess.run([python, "-c", "import vargate; vargate.score([[[0.5, 0.5]]])"], check=True, cwd=tmp_path)


# --- the wheel, whose path is in VARGATE_WHEEL ------------------------------------------------------------------------


@pytest.fixture
def wheel() -> Path:
    named = os.environ.get("VARGATE_WHEEL")
    if not named:
        pytest.skip("VARGATE_WHEEL names no wheel")
    return Path(named)


def test_wheel_holds_what_it_should(wheel: Path) -> None:
    assert wheel.name.startswith(f"vargate_uq-{vargate.__version__}-py3-none-")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("vargate/__init__.py", "vargate/py.typed", "vargate/lib/libvargate.so"):
        assert name in names
    assert any(name.endswith(".data/scripts/vargate") for name in names)
    assert not any("tests" in name.split("/") or name.endswith((".c", ".h", ".a")) for name in names)
    metadata = zipfile.ZipFile(wheel).read(f"vargate_uq-{vargate.__version__}.dist-info/METADATA").decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert [line.split()[1].split(">")[0] for line in required] == ["numpy"]


def test_wheel_is_manylinux(wheel: Path) -> None:
    pytest.importorskip("auditwheel")
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    )
    assert '"manylinux_2_' in done.stdout.replace("\n", " ")


def test_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Installed where there is NumPy, no compiler, and nothing else on the path."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", "numpy", wheel], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"pip could not install: {installed.stderr.strip()[-200:]}")
    environment = {"PATH": str(tmp_path / "env" / "bin"), "HOME": str(tmp_path)}
    assert shutil.which("cc", path=environment["PATH"]) is None
    script = (
        "import numpy as np, vargate; print(vargate.score(np.full((2, 3, 4), 0.25)).tu.tolist() == [np.log(4)] * 2)"
    )
    done = subprocess.run(
        [python, "-c", script], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
    )
    assert done.stdout == "True\n"
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout
    assert {line.split("==")[0] for line in listed.split()} <= {"numpy", "pip", "setuptools", "vargate-uq"}
    program = tmp_path / "env" / "bin" / "vargate"
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, env=environment, check=True).stdout
    assert shown.startswith(f"vargate {vargate.__version__} ")
    example = tmp_path / "env" / "share" / "vargate" / "data" / "example-predictions.npz"
    subprocess.run([program, "score", example, "--json", "-q"], env=environment, check=True, stdout=subprocess.DEVNULL)
