#!/bin/sh
# Names in the pages exist. Every `vg_...`, `VG_...` and `VARGATE_...` between backquotes occurs in the sources, and
# every path between backquotes that begins with a folder of the repository exists. CHANGELOG.md also names what was
# removed, and is not checked.
set -u
failed=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
names='(vg|VG|VARGATE|cuda)_[A-Za-z0-9_]+'
roots='src|include|cli|python|tests|bench|scripts|cmake|examples|fuzz|web|recipes|data|docs|results'
find . -name '*.md' -not -path './build/*' -not -path '*/node_modules/*' -not -path './.git/*' -not -name CHANGELOG.md |
    sort >"$folder/pages"

# Every identifier of the sources, once.
find include src cli cmake python bench scripts tests CMakeLists.txt -type f \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' \
    -o -name '*.cmake' -o -name '*.sh' -o -name '*.txt' \) \
    -exec cat {} + | grep -o -a -E "$names" | sort -u >"$folder/known"
[ -s "$folder/known" ] || { echo "no identifiers found in the sources" && exit 1; }

there() { # PATH may be a pattern, and relative to the root or to the page's folder
    # shellcheck disable=SC2086
    ls -d $1 >/dev/null 2>&1 || (cd "$(dirname "$page")" && ls -d $1 >/dev/null 2>&1)
}

while read -r page; do
    grep -o '`[^`]*`' "$page" | tr -d '`' >"$folder/quoted"
    grep -o -E "\\b$names" "$folder/quoted" | sort -u | comm -23 - "$folder/known" >"$folder/unknown"
    while read -r name; do
        # The beginning of a family (vg_verdict_*), and placeholders of the rules for names.
        case $name in *_ | *NAME* | *_thing | *_THING | vg_module_*) continue ;; esac
        echo "$page: $name is not in the sources" && failed=1
    done <"$folder/unknown"
    grep -E "^($roots)/[A-Za-z0-9_./*-]*\$" "$folder/quoted" | sort -u >"$folder/paths"
    while read -r path; do
        case $path in *README.md) ;; *[A-Z][A-Z]*) continue ;; esac # a placeholder: src/workflow/NAME.c
        there "$path" || { echo "$page: $path is not there" && failed=1; }
    done <"$folder/paths"
done <"$folder/pages"
exit $failed
