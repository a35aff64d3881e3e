#!/bin/sh
# The operations of the CPU backend by the kernels of every tier of processors that this one includes, and by what
# oneDNN has for older ones: each is compared with the plain backend by test_backend_ops and test_backend_edges.
set -u
tests=${VARGATE_BUILD:-build/release}/tests
[ -x "$tests/test_backend_ops" ] || { echo "test_backend_ops is not built" && exit 77; }
failed=0 log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# A tier of our kernels and the instructions that oneDNN may use. bfloat16 is tested where oneDNN has it.
for tier in avx2/AVX2 avx2/ALL portable/SSE41 portable/ALL; do
    for program in test_backend_ops test_backend_edges; do
        env VARGATE_TEST_ONLY='cpu_*' VARGATE_CPU="${tier%/*}" ONEDNN_MAX_CPU_ISA="${tier#*/}" "$tests/$program" \
            >"$log" 2>&1 || { echo "FAILED: $tier, $program" && failed=1; }
        grep -v '^\[ RUN\|^\[=' "$log" | sed "s|^|$tier: |"
    done
done
exit $failed
