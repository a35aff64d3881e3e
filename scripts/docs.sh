#!/bin/sh
# docs.sh BUILD - the documentation site in build/site: pages of docs/, the C API from the headers, the Python API from
# the docstrings, the command line from the program's help, pictures and formulas of the measures (make_site.py), by
# mkdocs-material. A warning is an error, and every link inside the site is checked. Tools go to build/docs-venv.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release} tools=build/docs-venv
[ -x "$tools/bin/python" ] || "${VARGATE_PYTHON:-python3}" -m venv "$tools"
"$tools/bin/python" -c 'import material, mkdocstrings, latex2mathml, numpy' 2>/dev/null ||
    "$tools/bin/python" -m pip --disable-pip-version-check --quiet install 'mkdocs<2' mkdocs-material \
        mkdocstrings-python latex2mathml numpy
rm -rf build/site-pages build/site
VARGATE_LIBRARY=$(pwd)/$build/libvargate.so PYTHONPATH=python "$tools/bin/python" scripts/make_site.py \
    "$build/vargate" build/site-pages
NO_MKDOCS_2_WARNING=1 "$tools/bin/python" -m mkdocs --quiet build --strict --config-file mkdocs.yml
"$tools/bin/python" scripts/check_site.py build/site
