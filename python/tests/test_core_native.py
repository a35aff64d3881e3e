"""The mirrored structs against the headers, by a C compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from vargate import _measures, _native

HEADERS = Path(__file__).parents[2] / "include"
STRUCTS = {
    t.__doc__: t
    for t in vars(_native).values()
    if isinstance(t, type) and issubclass(t, ctypes.Structure) and t.__doc__
}
STRUCTS = {name: t for name, t in STRUCTS.items() if name.startswith("vg_")}


@pytest.mark.skipif(not shutil.which("cc") or not HEADERS.exists(), reason="needs a compiler and the headers")
def test_layout(tmp_path: Path) -> None:
    lines, ours = [], []
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        ours.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            lines.append(
                f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
            )
            ours.append(f"{name}.{field} {getattr(struct, field).offset} {getattr(struct, field).size}")
    for name, index in _measures.SCORE_INDEX.items():
        lines.append(f'printf("vg_scores.{name} %zu\\n", offsetof(vg_scores, {name}));')
        ours.append(f"vg_scores.{name} {8 * index}")
    fits = f"sizeof(vg_recipe) <= {_native.RECIPE_ROOM}"
    lines.append(f'printf("vg_recipe %d %zu\\n", {fits}, offsetof(vg_recipe, name));')
    ours.append("vg_recipe 1 0")
    lines.append('printf("%zu\\n", sizeof(vg_scores));')
    ours.append(str(ctypes.sizeof(_measures.ScorePlaces)))
    source = tmp_path / "layout.c"
    includes = "".join(
        f"#include <{h}>\n" for h in ("stddef.h", "stdio.h", "vargate/vargate.h", "vargate/temperatures.h")
    )
    source.write_text(includes + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
    subprocess.run(["cc", "-I", HEADERS, source, "-o", tmp_path / "layout"], check=True)
    theirs = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.split("\n")
    assert ours == theirs[:-1]


def test_every_struct_has_its_size_checked() -> None:
    assert set(STRUCTS.values()) == set(_native._SIZES)
    assert len(STRUCTS) == 57


def test_constants() -> None:
    text = (HEADERS / "vargate" / "types.h").read_text() if HEADERS.exists() else ""
    if text:
        names = text.split("typedef enum vg_element {")[1].split("}")[0].replace("\n", " ").split(",")
        order = [name.strip().removeprefix("VG_ELEMENT_") for name in names]
        ours = {"f2": "F16", "bf16": "BF16", "f4": "F32", "f8": "F64", "b1": "BOOL"}
        assert [ours.get(k, k.replace("i", "I").replace("u", "U")) for k in _native.ELEMENTS] == [
            {"I8": "I1", "I16": "I2", "I32": "I4", "I64": "I8", "U8": "U1", "U16": "U2", "U32": "U4", "U64": "U8"}.get(
                n, n
            )
            for n in order
        ]


@pytest.mark.parametrize(("k", "name"), [(1.0, "1"), (0.5, "0.5"), (2.25, "2.25"), (1e-3, "0.001")])
def test_k_name(k: float, name: str) -> None:
    assert _native.k_name(k) == name
