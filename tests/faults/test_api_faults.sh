#!/bin/sh
# Faults at every call over the C API: api_walk.c calls the public functions, each with the n-th allocation, open, read,
# write and so on failing. Every public function has a call there.
#
#   VARGATE_LONG_TESTS=1   every n, of the calls that train every 50th or 500th; otherwise every STRIDE-th (41);
#                          STRIDE=sites: one n for every stack that allocates
#   SEED, CASE             where the stride begins (the day); only cases whose names begin so
set -u
vargate=${1:-${VARGATE:-}}
tests=${VARGATE_BUILD:-build/release}/tests
case $tests in /*) ;; *) tests=$(pwd)/$tests ;; esac
[ -n "$vargate" ] && [ -e "$tests/api_walk" ] || { echo "the program, or api_walk, is not built" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
failed=0 stride=${STRIDE:-41}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && stride=1

# vg_train is called by vg_train_recipe with the data that it needs; vg_error_message by api_walk.c.
cat include/vargate/*.h | awk '
    /^VG_API / { text = $0; while (text !~ /\(/ && (getline line) > 0) text = text " " line
                 sub(/\(.*/, "", text); sub(/.*[ *]/, "", text); print text }' | sort -u >"$work/declared"
for name in $(cat "$work/declared"); do
    [ "$name" = vg_train ] || grep -q "\b$name(" tests/faults/api_*.c ||
        { echo "FAILED: no call of $name" && failed=1; }
done
export SOURCE_DATE_EPOCH=0 SEED="${SEED:-$(($(date +%s) / 86400))}"
unset VARGATE_DATA VARGATE_SPOOL_BYTES
make_inputs || { echo "the inputs could not be made" && exit 1; }
mkdir -p "$work/photos/a" "$work/photos/b" # images of files
cp tests/data/photos/plain.png tests/data/photos/turned6.jpg "$work/photos/a"
cp tests/data/photos/grey.png tests/data/photos/lossy.webp tests/data/photos/cmyk.jpg "$work/photos/b"
cp -r "$work/trained" "$work/run" && cp "$work/pred.npz" "$work/run/test.npz"
echo "SEED=$SEED"
cd "$work" || exit 1
mkdir out
env LD_PRELOAD="$tests/libfault_preload.so" VARGATE_FAULT_SKIP=:libdnnl:libgomp: PATH=/nonexistent "$tests/api_walk" \
    "$stride" >log || failed=1
grep -v ' 0 ended wrongly$' log
tail -n 1 log
exit $failed
