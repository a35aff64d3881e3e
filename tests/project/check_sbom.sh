#!/bin/sh
# The bill of materials lists what is in third_party, in the report page and in the Python package's needs.
command -v python3 >/dev/null 2>&1 || { echo "no python3" && exit 77; }
exec python3 scripts/make_sbom.py --check
