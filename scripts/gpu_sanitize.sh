#!/bin/sh
# gpu_sanitize.sh [BUILD] [SECONDS] - the tests of the GPU's operations under compute-sanitizer: bad accesses (memcheck) and races
# in shared memory (racecheck). SECONDS bounds each run.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/gpu} seconds=${2:-200}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
command -v "$sanitizer" >/dev/null 2>&1 || sanitizer=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
command -v "$sanitizer" >/dev/null 2>&1 || { echo "gpu_sanitize: compute-sanitizer was not found"; exit 1; }
status=0
# The CPU's part of these tests is not run: it is slow under the tool and has no kernels.
for tool in memcheck racecheck; do
    for test in test_backend_ops test_backend_masks test_cuda_recordings; do
        [ -x "$build/tests/$test" ] || continue
        log=$build/sanitize-$tool-$test.log
        VARGATE_REQUIRE_GPU=1 VARGATE_TEST_ONLY="*cuda*" timeout -k 5 "$seconds" "$sanitizer" --tool $tool --error-exitcode 9 \
            "$build/tests/$test" >"$log" 2>&1
        code=$?
        summary=$(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$log" | tail -n 1)
        case $code in
        0) echo "gpu_sanitize: $tool $test: clean: $summary" ;;
        124 | 137) echo "gpu_sanitize: $tool $test: not finished in $seconds s: $summary" && status=1 ;;
        *) echo "gpu_sanitize: $tool $test: status $code: $summary" && tail -n 40 "$log" && status=1 ;;
        esac
    done
done
exit $status
