#!/bin/sh
# No tracked source or page has a line of more than 120 columns, except as many as tests/project/long_lines.txt allows
# for each kind of file ("KIND LINES"). The numbers may only become smaller: `UPDATE=1 sh
# tests/project/check_columns.sh` lowers them to what is there, and a kind that is not listed has none. Data,
# generated files and expected outputs are exempt.
set -u
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "not a git checkout" && exit 77; }
limits=$(dirname "$0")/long_lines.txt
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
git ls-files -- . ':!LICENSE' ':!data' ':!results' ':!third_party' ':!tests/data/*/*.txt' \
    ':!tests/data/*/*.json' ':!tests/cli/expected' ':!fuzz/corpus' ':!python/tests/data' \
    ':!src/report/report_template.html' ':!web/package-lock.json' \
    ':!*.ipynb' ':!*.svg' >"$folder/files"
# -I: not in binary files. C.UTF-8 counts characters, not bytes.
LC_ALL=C.UTF-8 xargs -d '\n' grep -I -n -H -E '^.{121}' <"$folder/files" 2>/dev/null >"$folder/long"
[ -s "$folder/files" ] || { echo "git names no files" && exit 1; }

# NAME:LINE:TEXT -> the kind is the part after the last dot of the name, or the name itself.
awk -v limits="$limits" '
    BEGIN {
        while ((getline line < limits) > 0) if (line !~ /^#/ && split(line, part, " ") == 2) allowed[part[1]] = part[2]
    }
    {
        name = $0; sub(/:[0-9]+:.*/, "", name); sub(/.*\//, "", name); kind = name; sub(/.*\./, "", kind)
        count[kind]++
        if (count[kind] <= 20 && match($0, /^[^:]*:[0-9]+/))
            where[kind] = where[kind] "    " substr($0, 1, RLENGTH) "\n"
    }
    END {
        for (kind in count) {
            if (count[kind] > allowed[kind] + 0) {
                printf "%s: %d lines over 120 columns, at most %d are allowed, among them\n%s",
                       kind, count[kind], allowed[kind], where[kind]
                bad = 1
            }
        }
        for (kind in allowed) if (count[kind] + 0 < allowed[kind])
            printf "%s: %d of %d lines are left; UPDATE=1 lowers the limit\n", kind, count[kind], allowed[kind]
        exit bad
    }' "$folder/long" >"$folder/report"
status=$?
if [ -n "${UPDATE:-}" ]; then
    sed 's/:[0-9]*:.*//; s|.*/||; s/.*\.//' "$folder/long" | sort | uniq -c >"$folder/counts"
    awk 'NR == FNR { count[$2] = $1; next }
         /^#/ { print; next }
         $1 in count { print $1, (count[$1] < $2 ? count[$1] : $2) }' "$folder/counts" "$limits" >"$folder/limits" &&
        cp "$folder/limits" "$limits"
fi
cat "$folder/report"
echo "$(wc -l <"$folder/long") lines over 120 columns in $(wc -l <"$folder/files") files"
exit $status
