#!/bin/sh
# check_aarch64.sh [JOBS] - the NEON tier: cross-compiles the library and the C tests of measures, formats, evaluate,
# calibrate and of images for aarch64 (Debian: gcc-aarch64-linux-gnu) and runs them under qemu-user (qemu-user-static).
# cmocka is built for aarch64 from the sources of Debian's package, which are fetched into build/aarch64.
set -eu
cd "$(dirname "$0")/.."
jobs=${1:-2} root=$(pwd) folder=$(pwd)/build/aarch64
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
    command -v $tool >/dev/null || {
        echo "$tool is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
        exit 77
    }
done
mkdir -p "$folder/prefix/lib/pkgconfig" "$folder/prefix/include" "$folder/lists"
if [ ! -e "$folder/prefix/lib/libcmocka.a" ]; then
    . /etc/os-release
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian" \
        "$VERSION_CODENAME main" >"$folder/sources.list"
    (
        cd "$folder"
        set -- -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- \
            -o "Dir::State::lists=$folder/lists"
        apt-get "$@" -qq update && apt-get "$@" -qq source --download-only cmocka >/dev/null
        tar xf cmocka_*.orig.tar.xz
        cd cmocka-*/
        aarch64-linux-gnu-gcc -O2 -w -fPIC -Iinclude -DHAVE_SIGNAL_H -DHAVE_STRUCT_TIMESPEC \
            -DHAVE_CLOCK_GETTIME_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE -DHAVE_STRSIGNAL -D_GNU_SOURCE \
            -include stdint.h -include string.h \
            -c src/cmocka.c -o "$folder/cmocka.o"
        aarch64-linux-gnu-ar rcs "$folder/prefix/lib/libcmocka.a" "$folder/cmocka.o"
        cp include/cmocka*.h "$folder/prefix/include/"
    )
    cat >"$folder/prefix/lib/pkgconfig/cmocka.pc" <<END
Name: cmocka
Description: unit tests
Version: 1
Libs: -L$folder/prefix/lib -lcmocka
Cflags: -I$folder/prefix/include
END
fi
PKG_CONFIG_LIBDIR=$folder/prefix/lib/pkgconfig cmake -S . -B "$folder/tree" -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DVG_VENDORED=ON -DVG_CUDA=OFF \
    -DVG_DNNL_LIBRARY= -DVG_SHARED=OFF -DVG_TESTS=ON \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static;-L;/usr/aarch64-linux-gnu" \
    >"$folder/configure.log" 2>&1 || { tail -n 20 "$folder/configure.log" && exit 1; }
pattern='^test_(measures|formats|evaluate|calibrate|backend_masks|backend_ops|data_photos|data_readers)'
targets=$(cd tests && ls */test_*.c | sed 's,.*/,,; s,\.c$,,' | grep -E "$pattern")
# shellcheck disable=SC2086
cmake --build "$folder/tree" -j "$jobs" --target $targets >"$folder/build.log" 2>&1 ||
    { tail -n 20 "$folder/build.log" && exit 1; }
cd "$root"
ctest --test-dir "$folder/tree" -R "$pattern" -j "$jobs" --output-on-failure
