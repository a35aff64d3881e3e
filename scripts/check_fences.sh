#!/bin/sh
# check_fences.sh [JOBS] [FOLDER...] - every optional folder of kernels can be deleted. Copies the tree, deletes one
# folder at a time, builds, and runs every test of the library and of the command line: the product must work without
# the folder, only slower. Left out are the tests that a folder of kernels cannot change: of the sources and documents
# (check_*, manuals), of the report page in a browser, and of the Python package.
#
# CUDA is built where nvcc, cuDNN and cuBLASLt are found; the tests on a GPU are skipped without one.
# FENCE_CMAKE_ARGS: more arguments for CMake, e.g. -DVG_CUDNN_ROOT=... -DCMAKE_CUDA_ARCHITECTURES=90-real
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${1:-2} failed=''
[ $# -eq 0 ] || shift
generator=Ninja
command -v ninja >/dev/null 2>&1 || generator='Unix Makefiles'
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT

copy_tree() { # the tracked files, or all outside build/ where there is no git
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z -c | tar --null -T - -cf - | tar -xf - -C "$copy/tree"
    else
        tar --exclude=./build -cf - . | tar -xf - -C "$copy/tree"
    fi
}

unrelated='^(check_|test_(python|doc_examples|manuals|report_(handover|maps|page|rows|template))$)'

# check FOLDER [CMAKE_ARGS...]: builds without FOLDER and runs the tests.
check() {
    folder=$1
    shift
    [ -d "$folder" ] || { echo "check_fences: there is no $folder" && failed="$failed $folder" && return; }
    echo "== without $folder"
    rm -rf "$copy/tree" && mkdir "$copy/tree" && copy_tree &&
        rm -r "${copy:?}/tree/$folder" &&
        # shellcheck disable=SC2086
        cmake -S "$copy/tree" -B "$copy/tree/build" -G "$generator" "$@" ${FENCE_CMAKE_ARGS:-} >"$copy/log" 2>&1 &&
        cmake --build "$copy/tree/build" -j "$jobs" >"$copy/log" 2>&1 &&
        ctest --test-dir "$copy/tree/build" -E "$unrelated" -j "$jobs" --no-tests=error --output-on-failure \
            >"$copy/log" 2>&1 || {
        tail -n 40 "$copy/log"
        failed="$failed $folder"
        echo "== without $folder: FAILED"
        return
    }
    grep 'tests passed' "$copy/log"
}

[ $# -gt 0 ] || set -- src/measures/x86 src/evaluate/x86 src/backend/cpu/avx512 src/backend/cpu/winograd \
    src/backend/cuda/hopper src/backend/cuda/conv_pooling
for each; do
    case $each in
    */cuda/*) check "$each" ;;
    *) check "$each" -DVG_CUDA=OFF ;;
    esac
done
[ -z "$failed" ] || { echo "check_fences: failed without:$failed" && exit 1; }
echo "check_fences: every folder can be deleted"
