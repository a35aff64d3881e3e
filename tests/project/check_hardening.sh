#!/bin/sh
# What the hardening flags of cmake/Compiler.cmake ask for is in the program and the shared library: read from the ELF
# files of the build, or of those that are named. Runs on what a package or a wheel contains, too.
set -u
if [ $# -eq 0 ]; then
    : "${VARGATE_BUILD:?is set by ctest}"
    grep -q '^VG_HARDEN:BOOL=ON' "$VARGATE_BUILD/CMakeCache.txt" || { echo "built without VG_HARDEN" && exit 77; }
    grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Debug' "$VARGATE_BUILD/CMakeCache.txt" && { echo "not optimised" && exit 77; }
    set -- "$VARGATE_BUILD/vargate" "$VARGATE_BUILD/libvargate.so"
fi
command -v readelf >/dev/null 2>&1 || { echo "no readelf" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0
wants() { # wants WHAT FILE PATTERN: the listing has it
    grep -qE -- "$3" "$folder/$2" || { echo "$file: $1" && failed=1; }
}
wants_not() {
    grep -qE -- "$3" "$folder/$2" && { echo "$file: $1" && failed=1; }
}
# The linker marks a program for CET only where the C library's start files are marked.
start=$(${CC:-cc} -print-file-name=crti.o 2>/dev/null)
marked=no
[ -e "$start" ] && readelf -nW "$start" 2>/dev/null | grep -q IBT && marked=yes
for file; do
    [ -e "$file" ] || { echo "$file is not there" && failed=1 && continue; }
    readelf -hW "$file" >"$folder/header" || exit 1
    readelf -lW "$file" >"$folder/segments"
    readelf -dW "$file" >"$folder/dynamic"
    readelf --dyn-syms -W "$file" >"$folder/symbols"
    readelf -nW "$file" >"$folder/notes" 2>/dev/null
    wants "is not position-independent" header 'Type:.*DYN'
    case $file in
    *.so*) ;;
    *) wants "is not marked as a position-independent program" dynamic 'FLAGS_1.*PIE' ;;
    esac
    wants "relocated data stay writable (no GNU_RELRO)" segments 'GNU_RELRO'
    wants "functions are bound lazily (no BIND_NOW)" dynamic 'BIND_NOW|FLAGS_1.*NOW'
    wants "does not say that its stack is not executable" segments 'GNU_STACK'
    wants_not "has an executable stack" segments 'GNU_STACK.* RWE '
    wants_not "has a segment that is writable and executable" segments 'LOAD.* RWE '
    wants_not "has relocations in its code" dynamic 'TEXTREL'
    wants_not "names folders to load libraries from" dynamic 'R(UN)?PATH.*\[[^]]'
    wants "has no stack canaries" symbols '__stack_chk_fail'
    wants "has no checked copies of libc (FORTIFY)" symbols '__[a-z]+_chk'
    if [ "$marked" = yes ] && grep -q 'Machine:.*X86-64' "$folder/header"; then
        wants "is not marked for CET" notes 'IBT'
    fi
done
[ $failed = 0 ] && echo "$# files are hardened (CET marked by the C library: $marked)"
exit $failed
