#!/bin/sh
# format.sh [FILE...] - formats the sources, or only the files named: C and CUDA with clang-format, Python with ruff,
# TypeScript and JavaScript with prettier; lines of at most 120 columns. Comments keep their lines (.clang-format), so
# tables and byte layouts stay legible. A missing tool is named, the others run, and the exit status is 1.
#
# Formatting web/ changes the digest that the report's template records: run `npm run build` in web/ afterwards.
set -u
cd "$(dirname "$0")/.." || exit 1
ruff=${RUFF:-ruff} prettier=${PRETTIER:-npx --yes prettier@3.6.2} status=0

files() { # files PATTERN...: the tracked files of our own that match
    git ls-files -z -- "$@" ':!tests/data/*/*' ':!third_party' ':!src/report/report_template.html'
}
format() { # format TOOL COMMAND...: the names come on standard input
    tool=$1
    shift
    command -v "$1" >/dev/null 2>&1 || { echo "format: $tool is not installed" >&2 && status=1 && return; }
    xargs -0 -r "$@" || status=1
}
pick() { # pick PATTERN...: of the files that are asked for, those that match
    if [ -z "$named" ]; then files "$@"; else
        files "$@" | tr '\0' '\n' | grep -F -x -f "$names" | tr '\n' '\0'
    fi
}
named=$* names=$(mktemp) list=$(mktemp) || exit 1
trap 'rm -f "$names" "$list"' EXIT
for file; do echo "$file"; done >"$names"
pick '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' >"$list" && format clang-format clang-format -i <"$list"
pick '*.py' >"$list" && format ruff "$ruff" format --quiet <"$list"
# shellcheck disable=SC2086
pick '*.ts' '*.mjs' >"$list" && format prettier $prettier --log-level warn --write <"$list"
exit $status
