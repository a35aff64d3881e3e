#!/bin/sh
# Every public header compiles alone, twice over, as C17 and as C++17, and its _INIT macros initialise their structs
# in both; vargate.h includes every one; every function has a comment. Without a C++ compiler that half is left out and
# the test counts as skipped.
set -u
failed=0
cxx=''
for compiler in c++ g++ clang++; do
    command -v "$compiler" >/dev/null 2>&1 && cxx=$compiler && break
done

try() { # try HEADER LANGUAGE COMPILER STANDARD
    {
        echo "#include \"vargate/$1\""
        echo "#include \"vargate/$1\""
        sed -n 's/^#define VG_\([A-Z0-9_]*\)_INIT\([^A-Za-z0-9_(].*\)*$/\1/p' "include/vargate/$1" |
            while read -r name; do
            type=vg_$(echo "$name" | tr 'A-Z' 'a-z')
            echo "$type make_$type(void); $type make_$type(void) { $type value = VG_${name}_INIT; return value; }"
        done
    } >"$folder/header.$2"
    "$3" "-std=$4" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude "$folder/header.$2" || {
        echo "include/vargate/$1 does not compile alone as $4"
        failed=1
    }
}

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# Every function has a comment above it: who owns what, who may call at once, which errors there are. The rules that
# hold for all of them are in vargate.h.
awk 'FNR == 1 { last = "" }
    /^VG_API / && last !~ /\*\/$/ { print FILENAME ":" FNR ": no comment above: " $0; bad = 1 }
    { last = $0 }
    END { exit bad }' include/vargate/*.h || failed=1
for path in include/vargate/*.h; do
    header=$(basename "$path")
    try "$header" c cc c17
    [ -n "$cxx" ] && try "$header" cpp "$cxx" c++17
    [ "$header" = vargate.h ] || grep -q "#include \"vargate/$header\"" include/vargate/vargate.h || {
        echo "include/vargate/vargate.h does not include vargate/$header"
        failed=1
    }
done
[ $failed = 0 ] || exit 1
[ -n "$cxx" ] || { echo "no C++ compiler: checked as C only" && exit 77; }
