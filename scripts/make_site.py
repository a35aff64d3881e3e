"""make_site.py PROGRAM FOLDER - the pages of the documentation site, for mkdocs (mkdocs.yml).

Copies docs/ with links that fit the site, and makes the pages that are in no file: home, start, the options of every
command from the program's help, the C API from the headers, the Python API from the docstrings, the notebooks with
their results, and a formula and a picture of each measure. The pictures are computed by the library: two members and
two classes, member 1's probability of the first class to the right, member 2's upwards.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import sys
import zlib
from pathlib import Path

import latex2mathml.converter
import make_manuals
import numpy as np

import vargate

ROOT = Path(__file__).resolve().parent.parent

# --- pages of the tree

# Files outside docs/ that are pages of the site, and those that docs/ has under another name there.
MOVED = {
    "README.md": "index.md",
    "docs/README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "results/README.md": "results.md",
    "docs/notebooks/README.md": "start.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def site_path(path: str) -> str | None:
    """Where a file of the tree is on the site; None: nowhere."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/notebooks/") and path.endswith(".ipynb"):
        return path.removeprefix("docs/").removesuffix("ipynb") + "md"
    if path.startswith("include/vargate"):
        return "c-api.md"
    if path.startswith("docs/") and (path.endswith(".md") or "/images/" in path):
        return path.removeprefix("docs/")
    return path if path.startswith("results/figures/") else None


def relink(text: str, source: str, target: str) -> str:
    """Links of a page that lies at `source` in the tree and at `target` on the site. Others become plain text."""

    def change(found: re.Match[str]) -> str:
        picture, words, address = found.groups()
        if re.match(r"[a-z]+:|#", address):
            return found.group(0)
        path, _, anchor = address.partition("#")
        place = (ROOT / source).parent.joinpath(path).resolve()
        inside = site_path(str(place.relative_to(ROOT))) if place.is_relative_to(ROOT) else None
        if inside is None:
            return words
        up = "../" * target.count("/")
        anchor = "" if inside in ("c-api.md", "start.md") else anchor
        return f"{picture}[{words}]({up}{inside}{'#' + anchor if anchor else ''})"

    return LINK.sub(change, text)


def page_text(source: str) -> str:
    """A page without the marks of its blocks that the tests read."""
    text = re.sub(r"^(```\w+) run.*$", r"\1", (ROOT / source).read_text(), flags=re.M)
    return re.sub(r"^<!-- (run|not run: .*|compile: .*) -->\n\n", "", text, flags=re.M)


def copy_page(source: str, target: str, folder: Path) -> None:
    text = page_text(source)
    path = folder / target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(relink(text, source, target))


def copy_pages(folder: Path) -> None:
    for path in sorted((ROOT / "docs").rglob("*.md")):
        source = str(path.relative_to(ROOT))
        if "notebooks" not in path.parts and source != "docs/README.md":
            copy_page(source, source.removeprefix("docs/"), folder)
    copy_page("CONTRIBUTING.md", "contributing.md", folder)
    copy_page("results/README.md", "results.md", folder)
    shutil.copytree(ROOT / "docs/images", folder / "images")
    shutil.copytree(ROOT / "results/figures", folder / "results/figures")


def home(folder: Path) -> None:
    """README.md, with a line that leads to the pictures of the measures."""
    text = relink(page_text("README.md"), "README.md", "index.md")
    lines = "What each measure responds to: [pictures](pictures.md).\n\n"
    (folder / "index.md").write_text(text.replace("## Two commands", lines + "## Two commands", 1))


def start(folder: Path) -> None:
    """docs/start.md of the tree, if it has one, else its list of pages."""
    copy_page("docs/start.md" if (ROOT / "docs/start.md").exists() else "docs/README.md", "start.md", folder)


def notebook(path: Path, folder: Path) -> None:
    """A notebook as a page: its text, its code, what it printed and drew."""
    out, pictures = [], 0
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            out.append(relink(text, str(path.relative_to(ROOT)), f"notebooks/{path.stem}.md"))
            continue
        out.append(f"```python\n{text}\n```")
        for result in cell["outputs"]:
            data = result.get("data", {})
            if "image/png" in data:
                pictures += 1
                name = f"{path.stem}-{pictures}.png"
                (folder / "notebooks").mkdir(exist_ok=True)
                (folder / "notebooks" / name).write_bytes(base64.b64decode("".join(data["image/png"])))
                out.append(f"![Figure {pictures} of this notebook]({name})")
            else:
                printed = "".join(result.get("text") or data.get("text/plain") or "").rstrip()
                out.append(f"```text\n{printed}\n```" if printed else "")
    (folder / "notebooks").mkdir(exist_ok=True)
    (folder / "notebooks" / f"{path.stem}.md").write_text("\n\n".join(out) + "\n")


# --- reference


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def options(program: str, folder: Path) -> None:
    _, commands = make_manuals.read_program(program)
    out = ["# Every option\n\nFrom the option tables of the program. [cli.md](cli.md) explains them.\n"]
    for c in commands:
        out.append(f"## {c.name}\n\n{cell(c.summary)}\n\n    {c.usage}\n")
        for title, entries in c.groups:
            out.append(f"**{title}**\n\n| option | meaning |\n| --- | --- |")
            for o in entries:
                names = (f"`-{o.letter}`, " if o.letter else "") + f"`--{o.name}{' ' + o.value if o.value else ''}`"
                out.append(f"| {names.replace('|', chr(92) + '|')} | {cell(o.help)} |")
            out.append("")
        out.append(f"Example: `{c.example}`\n")
    (folder / "options.md").write_text("\n".join(out))


COMMENT = r"((?:/\*(?:[^*]|\*(?!/))*\*/\s*)?)"
STRUCT = r"typedef \w+ \w+ \{[^\n]*\} \w+;|typedef \w+ \w+ \{.*?\n\} \w+;"
DECLARATION = re.compile(rf"{COMMENT}(VG_API [^;]+;|typedef [^;{{]+;|{STRUCT})", re.S)


def c_api(folder: Path) -> None:
    """Every declaration of the public headers after its comment."""
    out = ["# C API\n\nFrom the headers in `include/vargate`; `vargate/vargate.h` includes them all.\n"]
    for path in sorted((ROOT / "include/vargate").glob("*.h")):
        text = path.read_text()
        first = re.match(r"/\*(.*?)\*/", text, re.S)
        about = re.sub(r"^ \* ?", "", first.group(1).strip() if first else "", flags=re.M)
        out.append(f"## {path.name}\n\n```text\n{about}\n```\n")
        for comment, declared in DECLARATION.findall(text[first.end() if first else 0 :]):
            named = re.search(r"(vg_\w+)\s*\(", declared) if declared.startswith("VG_API") else None
            name = named.group(1) if named else re.findall(r"\w+", declared)[-1]
            words = re.sub(r"^ ?\* ?", "", re.sub(r"^/\*|\*/$", "", comment.strip()), flags=re.M).strip()
            words = re.sub(r"^-+.*?-+$", "", words)
            said = "" if words.startswith("---") else cell(re.sub(r"\s+", " ", words))
            out.append(f"### {name}\n\n{said}\n\n```c\n{declared.replace('VG_API ', '')}\n```\n")
    (folder / "c-api.md").write_text("\n".join(out))


def python_api(folder: Path) -> None:
    out = ["# Python API\n\nFrom the docstrings. [python.md](python.md) explains the package.\n"]
    modules = ["", ".calibrate", ".policy", ".sklearn", ".torch", ".plots", ".dask", ".onnx"]
    for name in (n for n in vargate.__all__ if n not in ("plots", "__version__")):
        out.append(f"::: vargate.{name}\n")
    out += [f"::: vargate{m}\n    options:\n      show_root_full_path: true\n" for m in modules[3:]]
    (folder / "python-api.md").write_text("\n".join(out))


# --- measures

SIDE = 96
ANCHORS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], float)  # dark to light
GATED = r"q_m(c) \propto p_m(c) \left(1 - e^{-\mu(c) / (k \sigma(c))}\right)"
MEASURES = {
    "tu": (
        "Total uncertainty",
        r"H(\mu) = -\sum_c \mu(c) \log \mu(c)",
        "the mean alone: high wherever it is undecided",
    ),
    "au": ("Aleatoric", r"\frac{1}{M} \sum_m H(p_m)", "the doubt of each member by itself"),
    "eu": ("Epistemic", r"H(\mu) - \frac{1}{M} \sum_m H(p_m)", "disagreement: nothing on the diagonal"),
    "epce": (
        "Expected pairwise cross entropy",
        r"-\frac{1}{M^2} \sum_{m,n} \sum_c p_m(c) \log p_n(c)",
        "doubt and disagreement, without bound where members are sure of different things",
    ),
    "epkl": (
        "Expected pairwise KL divergence",
        r"\frac{1}{M^2} \sum_{m,n} KL(p_m \| p_n)",
        "disagreement, without bound in the corners",
    ),
    "epjs": ("Expected pairwise JS divergence", r"\frac{1}{M^2} \sum_{m,n} JS(p_m, p_n)", "disagreement, bounded"),
    "gmu": (
        "Gated margin uncertainty",
        r"1 - \mu(i) \left(1 - e^{-SNR}\right)",
        "whether the best class leads by more than the members spread",
    ),
    "snr": (
        "Margin over spread",
        r"\frac{\mu(i) - \mu(j)}{\sigma(i) + \sigma(j)}",
        "the lead in units of the spread; large is certain (shown as its logarithm)",
    ),
    "gtu": (
        "Gated total uncertainty",
        r"H\left(\frac{1}{M} \sum_m q_m\right), \quad " + GATED,
        "the mean after disputed classes lose weight, k = 1",
    ),
    "gau": ("Gated aleatoric", r"\frac{1}{M} \sum_m H(q_m)", "the members' own doubt after the gate, k = 1"),
    "geu": ("Gated epistemic", r"GTU - GAU", "what disagreement is left after the gate, k = 1"),
    "gepce": (
        "Gated pairwise cross entropy",
        r"-\frac{1}{M^2} \sum_{m,n} \sum_c q_m(c) \log q_n(c)",
        "EPCE of the gated members, k = 1",
    ),
    "gepkl": (
        "Gated pairwise KL divergence",
        r"\frac{1}{M^2} \sum_{m,n} KL(q_m \| q_n)",
        "EPKL of the gated members, k = 1",
    ),
    "gepjs": (
        "Gated pairwise JS divergence",
        r"\frac{1}{M^2} \sum_{m,n} JS(q_m, q_n)",
        "EPJS of the gated members, k = 1",
    ),
    "maxprob": ("Largest probability", r"1 - \mu(i)", "the mean alone"),
    "gap": ("Margin of the mean", r"1 - (\mu(i) - \mu(j))", "the mean alone"),
    "topstd": ("Spread of the best class", r"\sigma(i)", "the spread alone"),
    "votes": (
        "Variation ratio",
        r"1 - \max_c \frac{1}{M} |\{m : \arg\max p_m = c\}|",
        "whether the members name different classes",
    ),
}


def png(values: np.ndarray) -> bytes:
    """A picture of values in 0..1, rows from the bottom, as a PNG file."""
    at = np.clip(values[::-1], 0, 1) * (len(ANCHORS) - 1)
    low = np.minimum(at.astype(int), len(ANCHORS) - 2)
    part = (at - low)[..., None]
    pixels = (
        np.repeat(np.repeat(ANCHORS[low] * (1 - part) + ANCHORS[low + 1] * part, 2, 0), 2, 1).round().astype(np.uint8)
    )
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    size = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def pictures(folder: Path) -> None:
    grid = (np.arange(SIDE) + 0.5) / SIDE
    first, second = (a.ravel() for a in np.meshgrid(grid, grid))
    p = np.stack([np.stack([first, 1 - first], 1), np.stack([second, 1 - second], 1)], 1)
    scores = vargate.score(p, k=(1,), measures=",".join(MEASURES))
    out = [
        "# What each measure responds to\n\nTwo members, two classes: to the right the probability that member 1 gives "
        "the first class, upwards that of member 2. On the diagonal they agree; in the upper left and lower right "
        "corners each is sure of another class. Bright is a large value. Computed by the library itself; "
        "[Definitions](measures.md) has the conventions.\n"
    ]
    for name, (title, latex, meaning) in MEASURES.items():
        values = np.asarray(scores[name], float).reshape(SIDE, SIDE)
        values = np.log1p(values) if name == "snr" else values
        spread = np.nanmax(values) - np.nanmin(values)
        (folder / "images" / f"measure-{name}.png").write_bytes(png((values - np.nanmin(values)) / (spread or 1)))
        formula = latex2mathml.converter.convert(latex, display="block")
        out.append(
            f"## {name.upper()}\n\n<div class='measure' markdown>\n\n![{title} over two members' probabilities]"
            f"(images/measure-{name}.png){{ width=192 }}\n\n<div markdown>\n\n**{title}**: {meaning}.\n\n{formula}\n\n"
            "</div>\n\n</div>\n"
        )
    (folder / "pictures.md").write_text("\n".join(out))


CSS = """.measure { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center }
.measure math { font-size: 1.1rem; overflow-x: auto; max-width: 100% }
.md-typeset table:not([class]) { display: block; overflow-x: auto }
"""


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: make_site.py PROGRAM FOLDER")
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True)
    copy_pages(folder)
    home(folder)
    start(folder)
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        notebook(path, folder)
    options(program, folder)
    c_api(folder)
    python_api(folder)
    pictures(folder)
    (folder / "site.css").write_text(CSS)


if __name__ == "__main__":
    main()
