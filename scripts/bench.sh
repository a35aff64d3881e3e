#!/bin/sh
# bench.sh BUILD - runs the benchmarks of a build folder: bench/run.sh BUILD where there is one, else each bench_*
# program. One JSON line per figure on stdout.
set -u
build=${1:?build folder}
if [ -f bench/run.sh ]; then
    exec sh bench/run.sh "$build"
fi
status=0
for source in bench/bench_*.c; do
    [ -e "$source" ] || continue
    "$build/$(basename "$source" .c)" || status=1
done
exit $status
