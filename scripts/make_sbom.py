#!/usr/bin/env python3
"""The bill of materials: what vargate is made of and what it needs, with versions and licences, as CycloneDX 1.5 JSON.

    scripts/make_sbom.py            writes packaging/sbom.cdx.json
    scripts/make_sbom.py --check    fails unless it is there, up to date and, where the validator is installed, valid

Sources: the table of third_party/README.md, whose versions must be those of cmake/Vendored.cmake and whose folders must
be there with their licences; web/package-lock.json for what the report page contains; pyproject.toml for what the
Python package needs; the table below for libraries that are linked where a system has them."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "packaging" / "sbom.cdx.json"
SPDX = {
    "zlib": "Zlib", "jansson": "MIT", "libyaml": "MIT", "libpng": "libpng-2.0", "libjpeg-turbo": "IJG AND BSD-3-Clause",
    "libwebp": "BSD-3-Clause", "uplot": "MIT", "numpy": "BSD-3-Clause",
}  # fmt: skip
SYSTEM = (  # linked where they are found: cmake/Dependencies.cmake, cmake/Cuda.cmake
    ("oneDNN", "Apache-2.0", "products and convolutions of training on the CPU"),
    ("libgomp", "GPL-3.0-or-later WITH GCC-exception-3.1", "threads of training on the CPU"),
    ("CUDA runtime", "LicenseRef-NVIDIA-CUDA-EULA", "scoring and training on a GPU"),
    ("cuDNN", "LicenseRef-NVIDIA-cuDNN-SLA", "training on a GPU, loaded at run time"),
    ("cuBLASLt", "LicenseRef-NVIDIA-CUDA-EULA", "training on a GPU, loaded at run time"),
)


def component(name, version, licence, scope, purl=None, about=None):
    entry = {"type": "library", "name": name, "scope": scope, "licenses": [{"expression": licence}]}
    if version:
        entry["version"] = version
    if about:
        entry["description"] = about
    if purl:
        entry["purl"] = entry["bom-ref"] = purl
    return entry


def vendored():
    """The libraries of third_party, checked against the build."""
    build = (ROOT / "cmake" / "Vendored.cmake").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| ([^ |]+) \| ", (ROOT / "third_party" / "README.md").read_text(), re.M)
    folders = sorted(p.name for p in (ROOT / "third_party").iterdir() if p.is_dir())
    if sorted(name for name, _ in rows) != folders:
        raise SystemExit(f"third_party/README.md lists {[name for name, _ in rows]}, the folders are {folders}")
    for name, version in rows:
        if not re.search(rf"^vg_vendored\(\S+ {re.escape(name)} {re.escape(version)} ", build, re.M):
            raise SystemExit(f"{name} {version} of third_party/README.md is not what cmake/Vendored.cmake builds")
        if not any(re.match(r"LICENSE|License|COPYING", p.name) for p in (ROOT / "third_party" / name).iterdir()):
            raise SystemExit(f"third_party/{name} has no licence")
        yield component(name, version, SPDX[name], "optional", f"pkg:generic/{name}@{version}",
                        "compiled in with VG_VENDORED, as in wheels; otherwise the system's")  # fmt: skip


def in_page():
    """What web/build.mjs puts into the report page: packages that are not for development alone."""
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())
    wanted = lock["packages"][""]
    bundled = {**wanted.get("dependencies", {}), **{n: v for n, v in wanted.get("devDependencies", {}).items()
                                                    if n in SPDX}}  # fmt: skip
    for name in sorted(bundled):
        package = lock["packages"][f"node_modules/{name}"]
        licence = package.get("license", SPDX.get(name))
        yield component(name, package["version"], licence, "required", f"pkg:npm/{name}@{package['version']}",
                        "in the report page")  # fmt: skip


def python_needs():
    text = (ROOT / "pyproject.toml").read_text()
    needs = re.search(r"^dependencies = \[(.*?)\]", text, re.S | re.M)
    for name, least in re.findall(r'"([A-Za-z0-9_-]+)\s*(?:>=\s*([0-9.]+))?', needs.group(1) if needs else ""):
        yield component(name, None, SPDX[name.lower()], "required", f"pkg:pypi/{name.lower()}",
                        f"of the Python package, {least} or newer" if least else "of the Python package")  # fmt: skip


def bill():
    header = (ROOT / "include" / "vargate" / "version.h").read_text()
    version = re.search(r'VARGATE_VERSION_STRING "([^"]+)"', header).group(1)
    first = (ROOT / "LICENSE").read_text().strip().splitlines()[0]
    licence = {"Apache License": "Apache-2.0", "MIT License": "MIT"}.get(first.strip(), "BSD-3-Clause")
    main = component("vargate", version, licence, "required", f"pkg:generic/vargate@{version}")
    parts = [*vendored(), *in_page(), *python_needs()]
    parts += [component(name, None, words, "optional", about=about) for name, words, about in SYSTEM]
    main["type"] = "application"
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main},
            "components": parts}  # fmt: skip


def schema_error(text):
    """What CycloneDX's schema says against the text; None: nothing, or the validator is not installed."""
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        print("the schema of CycloneDX was not consulted: pip install 'cyclonedx-python-lib[json-validation]'")
        return None
    return JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)


def main():
    text = json.dumps(bill(), indent=2) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text() != text:
            print("packaging/sbom.cdx.json is not up to date: run scripts/make_sbom.py")
            return 1
        error = schema_error(text)
        if error:
            print(f"packaging/sbom.cdx.json does not follow the schema of CycloneDX 1.5: {error}")
            return 1
        print(f"packaging/sbom.cdx.json lists {len(json.loads(text)['components'])} components")
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
