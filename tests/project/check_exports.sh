#!/bin/sh
# The shared library exports the functions of the public headers and nothing else; the static one defines no global name
# outside vg_ (but for stubs that nvcc names after file and kernel, and a helper of clang's C++); the soname carries the
# major version.
set -u
: "${VARGATE_BUILD:?is set by ctest}"
grep -q '^VG_SANITIZE:STRING=.' "$VARGATE_BUILD/CMakeCache.txt" && { echo "not under sanitizers" && exit 77; }
library=$VARGATE_BUILD/libvargate.so
[ -e "$library" ] || { echo "no shared library in this build" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

# VG_API declarations, one or several lines each; the name is what precedes the first parenthesis.
cat include/vargate/*.h | awk '
    /^VG_API / { text = $0; while (text !~ /\(/ && (getline line) > 0) text = text " " line
                 sub(/\(.*/, "", text); sub(/.*[ *]/, "", text); print text }' | sort -u >"$folder/declared"
nm -D --defined-only "$library" | awk '{ print $NF }' | sort -u >"$folder/exported"
comm -23 "$folder/declared" "$folder/exported" |
    sed 's/^/declared in a public header but not exported: /' >"$folder/report"
comm -13 "$folder/declared" "$folder/exported" | sed 's/^/exported but in no public header: /' >>"$folder/report"
nm -g --defined-only "$VARGATE_BUILD/libvargate.a" 2>/dev/null | awk '
    NF == 3 && $3 !~ /^(vg_|_Z[0-9]*__device_stub__|DW\.ref\.|__clang_call_terminate$)/ {
        print "global name without vg_: " $3
    }' >>"$folder/report"
[ -s "$folder/report" ] && { cat "$folder/report" && failed=1; }
major=$(sed -n "s/^CMAKE_PROJECT_VERSION_MAJOR:STATIC=//p" "$VARGATE_BUILD/CMakeCache.txt")
readelf -d "$library" | grep -q "SONAME.*libvargate\.so\.$major\]" ||
    { echo "soname is not libvargate.so.$major" && failed=1; }
count=$(wc -l <"$folder/declared")
echo "$count public functions"
# Each is one that a user needs and that no later version may remove.
[ "$count" -lt 145 ] || { echo "fewer than 145 functions may be public" && failed=1; }
exit $failed
