#!/bin/sh
# gpu_sanitize.sh [BUILD] [SECONDS] - the tests of the GPU's operations under compute-sanitizer: bad accesses (memcheck)
# and races in shared memory (racecheck). SECONDS limits the whole run.
#   SANITIZE_TOOLS="memcheck racecheck"   SANITIZE_TESTS="test_backend_ops ..."
#   SANITIZE_CASES="cuda*": a pattern of the cases to run; those on the CPU have no kernels and are slow under the tool
#   SANITIZE_FLAGS: more for compute-sanitizer
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/gpu} seconds=${2:-300}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
command -v "$sanitizer" >/dev/null 2>&1 || sanitizer=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
command -v "$sanitizer" >/dev/null 2>&1 || { echo "gpu_sanitize: compute-sanitizer was not found"; exit 1; }
status=0
end=$(($(date +%s) + seconds))
for tool in ${SANITIZE_TOOLS:-memcheck racecheck}; do
    for test in ${SANITIZE_TESTS:-test_backend_ops test_backend_masks test_cuda_recordings test_cuda_conv_pooling \
        test_cuda_conv_norm test_cuda_hopper test_nn_gated test_measures_cuda test_cuda_streams test_cuda_shapes}; do
        [ -x "$build/tests/$test" ] || { echo "gpu_sanitize: $test is not built" && status=1 && continue; }
        begin=$(date +%s)
        left=$((end - begin))
        [ $left -ge 5 ] || { echo "gpu_sanitize: $tool $test: no time left" && status=1 && continue; }
        log=$build/sanitize-$tool-$test.log
        # A test requests more memory than there is: that failed allocation is no error.
        flags=
        [ $tool != memcheck ] || flags='--report-api-errors no'
        # shellcheck disable=SC2086
        VARGATE_REQUIRE_GPU=1 VARGATE_TEST_ONLY=${SANITIZE_CASES:-cuda*} timeout -k 5 $left "$sanitizer" --tool $tool \
            --error-exitcode 9 $flags ${SANITIZE_FLAGS:-} "$build/tests/$test" >"$log" 2>&1
        code=$?
        summary="$(($(date +%s) - begin)) s, $(grep -a 'ERROR SUMMARY\|RACECHECK SUMMARY' "$log" | tail -n 1)"
        # Races inside kernels of cuDNN and cuBLASLt (nvjet_*) are not ours to mend.
        if [ $code = 9 ] && [ $tool = racecheck ] && ! grep -a ' access at ' "$log" | grep -q -v 'cudnn\|nvjet_'; then
            echo "gpu_sanitize: $tool $test: clean but for kernels of cuDNN and cuBLASLt: $summary"
            continue
        fi
        case $code in
        0) echo "gpu_sanitize: $tool $test: clean: $summary" ;;
        124 | 137) echo "gpu_sanitize: $tool $test: not finished: $summary" && status=1 ;;
        *) echo "gpu_sanitize: $tool $test: status $code: $summary" && tail -n 40 "$log" && status=1 ;;
        esac
    done
done
exit $status
