#!/bin/sh
# Faults at every call: each command is run on small files with a library preloaded (fault_preload.c) that lets the n-th
# call of a kind fail. The command then either fails with exit status 1 or 2 and one line, or gives the result that it
# gives without the fault; in both cases a file under a final name is complete, no temporary or lock is left, and it
# ends in time and by no signal.
#
# Calls that oneDNN and OpenMP's library make themselves are not failed, except where C++ throws: oneDNN does not check
# them, and crashes; OpenMP's library ends the process. Training asks for memory and threads before
# (cpu_dnnl_guard.h, can_start in cpu_backend.c).
#
#   VARGATE_LONG_TESTS=1   every n; otherwise SAMPLE (3) of them for each command and kind
#   COMMANDS, KINDS        only these
set -u
vargate=${1:-${VARGATE:-}}
preload=${VARGATE_BUILD:-build/release}/tests/libfault_preload.so
[ -n "$vargate" ] && [ -e "$preload" ] || { echo "the program, or the library of faults, is not built" && exit 77; }
case $preload in /*) ;; *) preload=$(pwd)/$preload ;; esac
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
sample=${SAMPLE:-3}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && sample=all
injected=0 wrong=0
export SOURCE_DATE_EPOCH=0 # the time in a report
unset VARGATE_DATA VARGATE_SPOOL_BYTES
make_inputs || { echo "the inputs could not be made" && exit 1; }

# run_with KIND N COMMAND: runs the command with the fault; its exit status is in $code.
run_with() {
    rm -rf "$work/out" "$work/count"
    mkdir "$work/out"
    (cd "$work" && exec timeout -s KILL 120 env LD_PRELOAD="$preload" VARGATE_FAULT="$1" VARGATE_FAULT_AT="$2" \
        VARGATE_FAULT_COUNT="$work/count" \
        VARGATE_FAULT_SKIP=:libdnnl:libgomp: "$vargate" $(arguments "$3")) \
        >"$work/stdout" 2>"$work/stderr" </dev/null
    code=$?
}
# sums: the checksums of what the command wrote, standard output included. The page of a run is optional: a run that
# cannot make it, or reads no pictures for it, is done all the same.
sums() { (cd "$work" && find out -path out/run/report -prune -o -type f -exec cksum {} + && cksum stdout) | sort -k 3; }
# complain TEXT: the last run did not end as it should.
complain() {
    wrong=$((wrong + 1)) right=0
    echo "FAILED: vargate $(arguments "$command") ($kind, call $n of $calls): exit status $code, $1"
    head -n 3 "$work/stderr"
}
# judge: whether the last run ended as it should.
judge() {
    right=1
    sums >"$work/sums"
    if [ "$code" -eq 0 ]; then
        cut -d ' ' -f 3 "$work/sums" | cmp -s - "$work/names" || complain "other files than without a fault"
    elif [ "$code" -gt 2 ]; then
        complain "expected 0, 1 or 2"
    elif [ "$(grep -c -v -e ': warning: ' -e '^$' "$work/stderr")" -ne 1 ]; then
        complain "expected one line of error"
    fi
    # A file whose bytes are the same in every run is complete, or not there.
    if [ "$code" -ne 0 ]; then sed -i '/ stdout$/d' "$work/sums"; fi
    differs=$(awk 'NR == FNR { sum[$3] = $1 " " $2; next }
        $3 in sum && sum[$3] != $1 " " $2 { print $3 }' "$work/stable" "$work/sums")
    [ $right = 0 ] || [ -z "$differs" ] || complain "other contents than without a fault: "$differs
    left=$(cd "$work" && find out -name '*.tmp' -o -name '*.lock')
    if [ $right = 1 ] && [ -n "$left" ]; then complain "leaves $left"; fi
}
# numbers: the calls to fail, all of 1..$calls or a sample that is spread over them.
numbers() {
    awk -v calls="$calls" -v sample="$1" 'BEGIN {
        if (sample == "all" || calls <= sample) { for (i = 1; i <= calls; i++) print i; exit }
        for (i = 0; i < sample; i++) { # one of each part of equal length
            from = int(i * calls / sample); to = int((i + 1) * calls / sample)
            print from + 1 + (i * 7919 + calls) % (to - from)
        }
    }'
}

for command in ${COMMANDS:-$commands}; do
    run_with none 0 "$command"
    sums >"$work/first"
    [ "$code" -eq 0 ] || { cat "$work/stderr" && echo "FAILED: $command without a fault" && exit 1; }
    run_with none 0 "$command"
    cp "$work/count" "$work/counts"
    sums >"$work/second"
    comm -12 "$work/first" "$work/second" >"$work/stable" 2>/dev/null
    cut -d ' ' -f 3 "$work/second" >"$work/names"
    for kind in ${KINDS:-alloc open read write mmap fsync rename thread short eintr}; do
        calls=$(sed -n "s/^$kind //p" "$work/counts")
        tried=0 before=$wrong
        for n in $(numbers "$(sample_of "$command" "$sample")"); do
            run_with "$kind" "$n" "$command"
            judge
            tried=$((tried + 1))
        done
        injected=$((injected + tried))
        [ "$calls" = 0 ] || echo "$command $kind: $calls calls, $tried faults, $((wrong - before)) ended wrongly"
    done
done
echo "$injected faults, $wrong ended wrongly"
[ "$wrong" -eq 0 ]
