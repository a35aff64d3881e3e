#!/bin/sh
# Installs into a folder of its own, moves that folder, and builds examples/score.c against it in the four ways a user
# would: pkg-config and find_package, shared and static. Each program must print the known values. Then make uninstall.
set -u
: "${VARGATE_BUILD:?is set by ctest}"
grep -q '^VG_SANITIZE:STRING=.' "$VARGATE_BUILD/CMakeCache.txt" && { echo "not under sanitizers" && exit 77; }
grep -q '^VG_SHARED:BOOL=ON' "$VARGATE_BUILD/CMakeCache.txt" || { echo "no shared library in this build" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*"
    exit 1
}
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log" && fail "failed: $*"; }; }

quietly cmake --install "$VARGATE_BUILD" --prefix "$folder/first"
mv "$folder/first" "$folder/prefix"
prefix=$folder/prefix
for file in lib/libvargate.a lib/libvargate.so include/vargate/vargate.h include/vargate/measures.h \
    lib/pkgconfig/vargate.pc share/vargate/schema/score.schema.json; do
    [ -e "$prefix/$file" ] || fail "$file was not installed"
done
if [ -n "${VARGATE:-}" ]; then
    "$prefix/bin/vargate" --version | grep -q '^vargate [0-9]' ||
        fail "bin/vargate --version says: $("$prefix/bin/vargate" --version 2>&1)"
fi
if [ -n "${VARGATE:-}" ]; then # what ships is found relative to the program
    (cd / && env -u VARGATE_DATA XDG_DATA_HOME="$folder/none" "$prefix/bin/vargate" data info digits) \
        >"$folder/log" 2>&1
    grep -q "good .*$prefix/share/vargate/data/digits/train" "$folder/log" ||
        { cat "$folder/log" && fail "the installed program does not find its data"; }
fi
grep -rn "$folder/first\|$(pwd)/" "$prefix/lib/pkgconfig" "$prefix/lib/cmake" &&
    fail "package files name the place they were built in"

DESTDIR=$folder/destination quietly cmake --install "$VARGATE_BUILD" --prefix /usr
[ -e "$folder/destination/usr/include/vargate/vargate.h" ] || fail "DESTDIR is not honoured"
# make uninstall removes what the list of the last installation names, and nothing else
if command -v make >/dev/null; then
    mkdir -p "$folder/list" "$folder/destination/usr/lib/other"
    find "$folder/destination" ! -type d >"$folder/list/installed.txt"
    touch "$folder/destination/usr/lib/other/file"
    quietly make SETUP=no BUILD="$folder/list" uninstall
    [ "$(find "$folder/destination" ! -type d)" = "$folder/destination/usr/lib/other/file" ] ||
        fail "make uninstall leaves files, or removes others"
    find "$folder/destination" -name vargate | grep . && fail "make uninstall leaves folders of its own"
    make SETUP=no BUILD="$folder/list" uninstall >/dev/null 2>&1 && fail "make uninstall twice says nothing"
fi

cat >"$folder/expected" <<'END'
sample 0: TU 0.4186  GTU 0.4116  GMU 0.1100  class 0
sample 1: TU 1.0409  GTU 1.0251  GMU 0.9583  class -1
END
expect() { # expect WAY PROGRAM
    LD_LIBRARY_PATH=$prefix/lib "$2" >"$folder/output" 2>&1 ||
        { cat "$folder/output" && fail "$1: the example failed"; }
    diff "$folder/expected" "$folder/output" || fail "$1: the example printed something else"
    echo "$1: works"
}

PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
pkg-config --exists vargate || fail "pkg-config does not find vargate"
quietly cc -std=c17 examples/score.c -o "$folder/shared" $(pkg-config --cflags --libs vargate)
ldd "$folder/shared" | grep -q libvargate || fail "pkg-config: not linked with the shared library"
expect "pkg-config, shared" "$folder/shared"
# --static adds what libvargate itself needs; the archive is named, as the linker would take the shared library first.
libs=$(pkg-config --static --libs vargate | sed "s|-lvargate|$prefix/lib/libvargate.a|")
quietly cc -std=c17 examples/score.c -o "$folder/static" $(pkg-config --cflags vargate) $libs
ldd "$folder/static" | grep -q libvargate && fail "pkg-config: the static program wants the shared library"
expect "pkg-config, static" "$folder/static"

for component in shared static; do
    quietly cmake -S examples -B "$folder/$component-build" -DCMAKE_PREFIX_PATH="$prefix" -DVARGATE_COMPONENT=$component
    quietly cmake --build "$folder/$component-build"
    expect "find_package, $component" "$folder/$component-build/score"
done
