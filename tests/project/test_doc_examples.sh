#!/bin/sh
# The examples in the documentation run: every block that is fenced as ```sh run, page by page, in a folder of its own
# that holds the data that ship as data/. A block's commands run one after another in one shell, which stops at the
# first that fails. Blocks without "run" are forms to fill in, or need files, hours or a network.
set -u
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
root=$(pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
case $VARGATE in
/*) ln -s "$VARGATE" "$folder/bin/vargate" ;;
*) ln -s "$root/$VARGATE" "$folder/bin/vargate" ;;
esac
unset COLUMNS NO_COLOR VARGATE_SPOOL_BYTES
PATH=$folder/bin:$PATH
export PATH
failed=0
blocks=0
commands=0
for page in README.md docs/*.md; do
    name=$(echo "${page%.md}" | tr / -)
    mkdir "$folder/$name"
    ln -s "$root/data" "$folder/$name/data"
    # Writes block N of the page to NAME-N, and prints "N LINE" for each.
    awk -v to="$folder/$name-" '
        /^```sh run$/ { n++; file = to n; print n, NR; next }
        /^```/ { if (file) close(file); file = "" }
        file { print >file }' "$page" >"$folder/$name.blocks"
    while read -r number line; do
        blocks=$((blocks + 1))
        commands=$((commands + $(grep -c vargate "$folder/$name-$number")))
        if ! (cd "$folder/$name" && sh -eu "$folder/$name-$number" >"$folder/out" 2>"$folder/err" </dev/null); then
            echo "FAILED: $page, block at line $line"
            cat "$folder/$name-$number"
            tail -n 5 "$folder/err"
            failed=1
        fi
    done <"$folder/$name.blocks"
done
echo "$blocks blocks with $commands commands"
[ "$commands" -ge 25 ] || { echo "too few examples are run" && failed=1; }
exit $failed
