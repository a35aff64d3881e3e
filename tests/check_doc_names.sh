#!/bin/sh
# Names in the pages exist: every `vg_...`, `VG_...` and `VARGATE_...` between backquotes occurs in the sources, and every path
# between backquotes that begins with a folder of the repository is there. CHANGELOG.md also names what is gone and is not checked.
set -u
failed=0
pages=$(find . -name '*.md' -not -path './build/*' -not -path '*/node_modules/*' -not -path './.git/*' -not -name CHANGELOG.md | sort)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# Every identifier of the sources, once.
find include src cli cmake python bench scripts tests CMakeLists.txt -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' \
    -o -name '*.cmake' -o -name '*.sh' -o -name '*.txt' \) -exec cat {} + |
    grep -o -a -E '(vg|VG|VARGATE|cuda)_[A-Za-z0-9_]+' | sort -u >"$folder/known"
for page in $pages; do
    grep -o '`[^`]*`' "$page" | tr -d '`' >"$folder/quoted"
    grep -o -E '\b(vg|VG|VARGATE|cuda)_[A-Za-z0-9_]+' "$folder/quoted" | sort -u | comm -23 - "$folder/known" >"$folder/unknown"
    while read -r name; do
        # The beginning of a family (vg_verdict_*), and placeholders of the rules for names.
        case $name in *_ | *NAME* | *_thing | *_THING | vg_module_*) continue ;; esac
        echo "$page: $name is not in the sources" && failed=1
    done <"$folder/unknown"
    grep -E '^(src|include|cli|python|tests|bench|scripts|cmake|examples|fuzz|web|recipes|data|docs|results)/[A-Za-z0-9_./*-]*$' "$folder/quoted" |
        sort -u >"$folder/paths"
    while read -r path; do
        case $path in *[A-Z][A-Z]*) case $path in *README.md) ;; *) continue ;; esac ;; esac # a placeholder: src/workflow/NAME.c
        # shellcheck disable=SC2086
        ls -d $path >/dev/null 2>&1 || { echo "$page: $path is not there" && failed=1; }
    done <"$folder/paths"
done
[ -s "$folder/known" ] || { echo "no identifiers found in the sources" && failed=1; }
exit $failed
