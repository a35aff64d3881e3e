#!/bin/sh
# test.sh BUILD [JOBS] - runs every test of a build folder and ends with the plain line "N passed, N failed, N skipped".
# cmocka programs count by their cases, scripts that say "N passed, N failed" by that, everything else as one. Exit
# status 1 when anything failed.
set -u
build=${1:?build folder} jobs=${2:-2}
report=$(pwd)/$build/tests.xml
rm -f "$report"
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error --output-junit "$report" \
    --test-output-size-passed 1000000 --test-output-size-failed 1000000
status=$?

# One <testcase> after another: its status, and the totals that cmocka printed inside it.
[ -f "$report" ] && awk '
    function finish() {
        if (name == "") return
        if (state == "fail") { failed += fails > 0 ? fails : 1; passed += passes }
        else if (state == "run") { passed += passes > 0 ? passes : (skips > 0 ? 0 : 1) }
        else if (skippable) { skipped++; list = list " " name }
        else failed++ # not run: there is no such program
        skipped += skips
    }
    /<testcase / {
        finish()
        passes = fails = skips = skippable = 0
        name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
        state = $0; sub(/.* status="/, "", state); sub(/".*/, "", state)
    }
    /\[  PASSED  \] [0-9]+ test/ { n = $0; sub(/.*PASSED  \] /, "", n); passes += n + 0 }
    /\[  FAILED  \] [0-9]+ test/ { n = $0; sub(/.*FAILED  \] /, "", n); fails += n + 0 }
    /\[  SKIPPED \] [0-9]+ test/ { n = $0; sub(/.*SKIPPED \] /, "", n); skips += n + 0 }
    /^(\t*<system-out>)?[0-9]+ passed, [0-9]+ failed/ {
        n = $0; sub(/.*<system-out>/, "", n); passes += n + 0; sub(/.* passed, /, "", n); fails += n + 0
    }
    /<skipped message="SKIP_|status="disabled"/ { skippable = 1 }
    END {
        finish()
        if (list != "") print "skipped:" list
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    }' "$report"
[ "$status" = 0 ]
