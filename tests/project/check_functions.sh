#!/bin/sh
# Sizes of functions and files of the library and the command line: at most ten functions have eight or more
# parameters, half of the functions have at most 14 lines and nine tenths at most 50, no file has more than 600 lines.
# The command line as a whole has fewer than 4,500 lines: what another face would need belongs into src/workflow.
# A function is what clang-format lays out as one: it begins in the first column, ends with "}" in the first column, and
# its lines are counted from its name to that brace.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
git ls-files -- 'src/*.c' 'src/*.h' 'src/*.cu' 'src/*.cuh' 'cli/*.c' 'cli/*.h' 'include/*.h' \
    >"$folder/files" 2>/dev/null
[ -s "$folder/files" ] || find src cli include \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) >"$folder/files"

# lengths: LINES FILE:LINE NAME of every definition; many: PARAMETERS FILE:LINE NAME, one line per name.
xargs awk -v many="$folder/many" '
    function parameters(text,    i, depth, count, c) {
        sub(/^[^(]*\(/, "", text)
        depth = 1
        count = 1
        for (i = 1; i <= length(text) && depth > 0; i++) {
            c = substr(text, i, 1)
            if (c == "(") depth++
            if (c == ")") depth--
            if (c == "," && depth == 1) count++
        }
        return count
    }
    function name_of(text) {
        sub(/\(.*/, "", text)
        sub(/.*[ *]/, "", text)
        return text
    }
    FNR == 1 { state = 0 }
    state == 0 && /^[A-Za-z_].*\(/ && !/^(typedef|extern|return|struct [a-z_]* \{|enum)/ && !/=/ && !/^[A-Z_0-9]+\(/ {
        text = ""
        first = FNR
        state = 1
    }
    state == 1 {
        line = $0
        gsub(/__(launch_bounds|maxnreg|attribute)__\(([^()]|\([^()]*\))*\)/, "", line)
        text = text " " line
        if (/\{$/ || /\{.*\}$/ || /;/) {
            name = name_of(text)
            count = parameters(text)
            if (count >= 8 && !(name in seen)) {
                seen[name] = 1
                print count, FILENAME ":" first, name >many
            }
            state = /\{$/ ? 2 : 0
            if (/\{.*\}$/) print FNR - first + 1, FILENAME ":" first, name
            next
        }
    }
    state == 2 && /^}/ {
        print FNR - first + 1, FILENAME ":" first, name
        state = 0
    }' <"$folder/files" | sort -n >"$folder/lengths"
touch "$folder/many"

failed=0
total=$(wc -l <"$folder/lengths")
[ "$total" -gt 1000 ] || { echo "only $total functions were found" && failed=1; }
at() { sed -n "$(((total * $1 + 99) / 100))s/ .*//p" "$folder/lengths"; }
median=$(at 50) tenth=$(at 90) wide=$(wc -l <"$folder/many")
echo "$total functions: median $median lines, nine tenths at most $tenth; $wide have eight or more parameters"
[ "$median" -le 14 ] || { echo "the median may be 14" && failed=1; }
[ "$tenth" -le 50 ] || { echo "nine tenths may have 50 lines" && failed=1; }
[ "$wide" -le 10 ] || {
    echo "ten functions may have eight or more parameters:" && sort -rn "$folder/many" && failed=1
}
xargs wc -l <"$folder/files" | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines, at most 600"; bad = 1 }
    END { exit bad }' || failed=1
cli=$(cat cli/*.[ch] | wc -l)
echo "$cli lines in cli"
[ "$cli" -lt 4500 ] || { echo "cli may have fewer than 4,500 lines" && failed=1; }
exit $failed
