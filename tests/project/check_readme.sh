#!/bin/sh
# What the pages show is what happens: the C example of docs/c.md is examples/score.c, and each block that begins with
# "$ vargate ..." in README.md and docs/ is that command's output; the paper's table is that of the runs in results/.
# Links are checked by check_links.sh.
set -u
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' docs/c.md | diff - examples/score.c || {
    echo "docs/c.md: the C example is not examples/score.c"
    failed=1
}
[ -n "${VARGATE:-}" ] || { echo "the program is not built: its output is not compared" && exit $((failed ? 1 : 77)); }
PATH=$(dirname "$VARGATE"):$PATH

# The paper's table is that of the runs in results/, on both pages.
mkdir "$folder/runs"
for run in results/*/results.json; do cp -r "$(dirname "$run")" "$folder/runs/"; done
vargate reproduce --table --quiet -o "$folder/runs" >/dev/null || failed=1
grep '^|' "$folder/runs/table.md" >"$folder/table"
for page in README.md results/README.md; do
    grep '^| \(data | ensemble\|--- | --- | --- | --- | --- | --- |\|[A-Z0-9-]* | \(MCD\|LLE\)\)' "$page" |
        diff "$folder/table" - || {
        echo "$page: the paper's table is not that of 'vargate reproduce --table' over results/"
        failed=1
    }
done

blocks=0
for page in README.md docs/*.md docs/design/*.md; do
    grep -n '^    \$ vargate ' "$page" >"$folder/commands" || continue
    while IFS=: read -r line text; do
        command=${text#*\$ }
        blocks=$((blocks + 1))
        # The block goes on while lines are indented or empty; empty lines at its end are not part of it.
        tail -n "+$((line + 1))" "$page" | awk '/^[^ ]/ { exit } { sub(/^    /, ""); print }' |
            sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$folder/expected"
        sh -c "$command" </dev/null 2>&1 | sed 's/ *$//' >"$folder/output"
        diff "$folder/expected" "$folder/output" || {
            echo "$page:$line: $command prints something else"
            failed=1
        }
    done <"$folder/commands"
done
[ "$blocks" -ge 2 ] || { echo "only $blocks blocks with a command were found" && failed=1; }
exit $failed
