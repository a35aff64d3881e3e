#!/bin/sh
# The command line: every tests/cli/NN-*.sh runs the program ($VARGATE, or the first argument) on small files and
# looks at what it prints, how it ends and what it leaves behind. tests/cli/expected holds whole outputs; `UPDATE=1`
# writes them again. Further arguments are the names of the scripts to run, in place of all.
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
case $vargate in
/*) ;;
*) vargate=$(pwd)/$vargate ;;
esac
root=$(pwd)
here=$root/tests/cli
example=data/example-predictions.npz
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0
unset VARGATE_SPOOL_BYTES COLUMNS NO_COLOR
. "$here/helpers"
[ $# -gt 1 ] && shift || set -- $(cd "$here" && echo [0-9]*.sh)
for script; do
    . "$here/$script"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
