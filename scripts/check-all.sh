#!/bin/sh
# check-all.sh [JOBS] - everything that is too long for `make test`: warning-free builds and the suite under gcc and
# clang, under ASan+UBSan and under TSan, in every vector tier this machine has, the long tests once, RANDOM_CASES
# (10,000,000) random problems against the properties of the measures, without oneDNN and without each optional folder
# of kernels (check_fences.sh), and each fuzz target for FUZZ_SECONDS (20). Runs all of it, then says what failed.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${1:-2} failed='' seconds=${FUZZ_SECONDS:-20}
generator=Ninja
command -v ninja >/dev/null 2>&1 || generator='Unix Makefiles'

step() { # step NAME COMMAND...: runs it, notes a failure
    echo "== $1"
    name=$1
    shift
    "$@" || { failed="$failed $name" && echo "== $name FAILED"; }
}
build() { # build FOLDER PRESET CMAKE_ARGS...
    folder=$1 preset=$2
    shift 2
    cmake --preset "$preset" -B "$folder" -G "$generator" -DVG_TESTS=ON "$@" >/dev/null &&
        cmake --build "$folder" -j "$jobs"
}
suite() { # suite FOLDER PRESET CMAKE_ARGS...
    build "$@" && sh scripts/test.sh "$1" "$jobs"
}
long_suite() { VARGATE_LONG_TESTS=1 suite "$@"; }
tier() { VARGATE_CPU=$1 sh scripts/test.sh build/check-gcc "$jobs"; }
own_products() { # the CPU backend without oneDNN, as in wheels, in every tier
    build build/check-own release -DCMAKE_C_COMPILER=gcc -DVG_WERROR=ON -DVG_CUDA=OFF -DVG_DNNL_LIBRARY= || return 1
    for tier in portable avx2 avx512; do
        VARGATE_CPU=$tier ctest --test-dir build/check-own -R '^test_(backend|nn_(reference|members|training))' \
            --output-on-failure || return 1
    done
}
aarch64() { # the NEON tier under qemu, where the tools are installed
    sh scripts/check_aarch64.sh "$jobs" || [ $? = 77 ]
}
packages() { # Debian packages, installed and removed in a bare Debian
    command -v dh >/dev/null 2>&1 || return 0
    sh scripts/deb.sh && { sh scripts/check_deb.sh || [ $? = 77 ]; }
}
fuzz() { # fuzz TARGET
    name=${1#fuzz_}
    mkdir -p fuzz/artifacts
    python3 fuzz/corpus.py unpack "$name" "build/check-fuzz/corpus/$name" || return 1
    ASAN_OPTIONS=allocator_may_return_null=1 "build/check-fuzz/fuzz/$1" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="fuzz/artifacts/$name-" "build/check-fuzz/corpus/$name" \
        >"build/check-fuzz/$1.log" 2>&1 || {
        tail -n 40 "build/check-fuzz/$1.log"
        return 1
    }
    grep '^Done' "build/check-fuzz/$1.log"
}

step gcc long_suite build/check-gcc release -DCMAKE_C_COMPILER=gcc -DVG_WERROR=ON
best=$(build/check-gcc/vargate --version 2>/dev/null | head -n 1)
for tier in portable neon avx2 avx512; do # those that this machine can run; the best has just been
    case $best in *"($tier)") continue ;; esac
    case $(VARGATE_CPU=$tier build/check-gcc/vargate --version 2>/dev/null | head -n 1) in
    *"($tier)") step "tier-$tier" tier $tier ;;
    esac
done
step random build/check-gcc/tests/test_measures_random --cases "${RANDOM_CASES:-10000000}" --jobs "$jobs" \
    --reference 256
step own-products own_products
step aarch64 aarch64
step deb packages
step fences sh scripts/check_fences.sh "$jobs"
step gcc-asan-ubsan suite build/check-asan asan -DCMAKE_C_COMPILER=gcc
if command -v clang >/dev/null 2>&1; then
    step clang suite build/check-clang release -DCMAKE_C_COMPILER=clang -DVG_WERROR=ON
    step clang-tsan suite build/check-tsan tsan -DCMAKE_C_COMPILER=clang
    step fuzz-build build build/check-fuzz release -DCMAKE_C_COMPILER=clang -DVG_FUZZ=ON -DVG_TESTS=OFF \
        -DVG_SHARED=OFF -DVG_PROGRAM=OFF
    for source in fuzz/fuzz_*.c; do
        [ -e "$source" ] || continue
        target=$(basename "$source" .c)
        step "$target" fuzz "$target"
    done
else
    step gcc-tsan suite build/check-tsan tsan -DCMAKE_C_COMPILER=gcc
    echo "clang is not installed: no clang build, no fuzzing"
    failed="$failed clang-missing"
fi

if [ -n "$failed" ]; then
    echo "check-all: failed:$failed"
    exit 1
fi
echo "check-all: everything passed"
