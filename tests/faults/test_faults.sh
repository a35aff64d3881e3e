#!/bin/sh
# Faults at every call: each command is run on small files with a library preloaded (fault_preload.c) that lets the n-th
# call of a kind fail; fault_walk.c says how it must end. In a build with a sanitizer the program contains the faults
# instead, and also fails where it leaks.
#
# Calls that oneDNN and OpenMP's library make themselves are not failed, except where C++ throws: oneDNN does not check
# them, and crashes; OpenMP's library ends the process. Training asks for memory and threads before
# (cpu_dnnl_guard.h, can_start in cpu_backend.c).
#
#   VARGATE_LONG_TESTS=1   every n; otherwise SAMPLE (2) of them for each command and kind, other ones every day
#   SAMPLE=sites           one n for every stack that allocates, and every n of the other kinds
#   SEED, COMMANDS, KINDS  the choice of the sample (the day); only these
#   SHARD=2/7              the second of seven processes that share the faults; its progress is in the file `log` of
#                          the folder that it makes below TMPDIR
set -u
vargate=${1:-${VARGATE:-}}
tests=${VARGATE_BUILD:-build/release}/tests
case $tests in /*) ;; *) tests=$(pwd)/$tests ;; esac
preload=$tests/libfault_preload.so
[ -n "$vargate" ] && [ -e "$tests/fault_walk" ] || { echo "the program, or fault_walk, is not built" && exit 77; }
[ -e "$preload" ] || [ -e "$tests/vargate-faults" ] || { echo "not with this sanitizer" && exit 77; }
if [ -e "$preload" ]; then
    case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
    walk="$tests/fault_walk -p $preload ${SHARD:+-v -m $SHARD}"
else # a sanitizer
    vargate=$tests/vargate-faults
    walk="$tests/fault_walk ${SHARD:+-v -m $SHARD}"
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=1:exitcode=23"
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
sample=${SAMPLE:-2} seed=${SEED:-$(($(date +%s) / 86400))}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && sample=all
kinds="alloc alloc+ open read write write+ mmap fsync rename thread folder short eintr shrink term readonly+ clock"
export SOURCE_DATE_EPOCH=0 # the time in a report
unset VARGATE_DATA VARGATE_SPOOL_BYTES
make_inputs || { echo "the inputs could not be made" && exit 1; }
cd "$work" || exit 1
echo "SEED=$seed"
failed=0
for command in ${COMMANDS:-$commands}; do
    if [ "$command" = doctor ] && nm "$vargate" 2>/dev/null | grep -q ' cudaGetDeviceCount$'; then
        echo "doctor is left out: it loads cuDNN, whose set-up aborts without memory"
        continue
    fi
    # The page of a run is optional: a run that cannot make it, or reads no pictures for it, is done all the same.
    $walk $(options_of "$command") -k "${KINDS:-$kinds}" -n "$(sample_of "$command" "$sample")" \
        -r "$seed" -i run/report -f "$(input_of "$command")" "$command" "$vargate" $(arguments "$command") >log ||
        failed=1
    grep -v -e ': [0-9]* faults, [0-9]* ended wrongly$' -e ' so far$' log
    tail -n 1 log >>all
done
awk '{ faults += $2; wrong += $4 } END { printf "%d faults, %d ended wrongly\n", faults, wrong }' all
exit $failed
