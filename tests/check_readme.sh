#!/bin/sh
# What README.md shows is what happens: the C example is examples/score.c, and each "$ vargate ..." block is that command's output.
# Relative links lead somewhere.
set -u
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md | diff - examples/score.c || {
    echo "README.md: the C example is not examples/score.c"
    failed=1
}
for page in README.md docs/*.md data/README.md; do
    for target in $(grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//; s/)$//'); do
        [ -e "$(dirname "$page")/$target" ] || { echo "$page: the link to $target leads nowhere" && failed=1; }
    done
done
[ -n "${VARGATE:-}" ] || { echo "the program is not built: its output is not compared" && exit $((failed ? 1 : 77)); }
PATH=$(dirname "$VARGATE"):$PATH
grep -n '^    \$ vargate ' README.md | while IFS=: read -r line text; do
    command=${text#*\$ }
    # The block goes on while lines are indented or empty; empty lines at its end are not part of it.
    tail -n "+$((line + 1))" README.md | awk '/^[^ ]/ { exit } { sub(/^    /, ""); print }' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' \
        >"$folder/expected"
    sh -c "$command" 2>&1 | sed 's/ *$//' >"$folder/output"
    diff "$folder/expected" "$folder/output" || {
        echo "README.md:$line: $command prints something else now"
        touch "$folder/failed"
    }
done
[ -e "$folder/failed" ] && failed=1
exit $failed
