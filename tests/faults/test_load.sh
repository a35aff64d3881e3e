#!/bin/sh
# Load: the decision stream at full speed with constant memory, slow and halting readers and writers, lines that are too
# long, readers that leave; and 64 programs at once.
#
#   VARGATE_LONG_TESTS=1   the stream runs for ten minutes; otherwise SECONDS_OF_LOAD (3)
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
[ -r /proc/self/status ] || { echo "needs /proc" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
root=$(pwd) passed=0 failed=0 seconds=${SECONDS_OF_LOAD:-3}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && seconds=600
sanitized=no
grep -q '^VG_SANITIZE:STRING=.' "${VARGATE_BUILD:-build/release}/CMakeCache.txt" 2>/dev/null && sanitized=yes
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
check() { # check WHAT TEST...: counts whether the test holds
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $what"; fi
}
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status" 2>/dev/null; }

# Lines of every kind: more shapes than scorers are kept for, ids of any length, errors.
for classes in 2 3 4 5 6 7 8 9 10 11; do
    row=$(awk -v c=$classes 'BEGIN { for (i = 0; i < c; i++) printf "%s%.17g", i ? ", " : "", 1 / c }')
    echo "{\"id\": $classes, \"p\": [[$row], [$row]]}"
    echo "{\"id\": \"$(printf '%0200d' $classes)\", \"z\": [[$row]]}"
done >lines.jsonl
printf '%s\n' '{"id": "é", "p": [[0.5, 0.5]]}' '{"p": [[0.5, 0.75]]}' 'not JSON' '{"id": 1, "p": [[1]], "z": 1}' \
    >>lines.jsonl

# Memory is flat: after the first second it grows by at most 1 MB.
mkfifo lines answers
wc -l <answers >count &
"$vargate" decide --stdin-jsonl -q <lines >answers &
job=$!
timeout "$seconds" yes "$(cat lines.jsonl)" >lines &
sleep 1
early=$(memory $job)
latest=$early peak=$early
while sleep 0.2 && now=$(memory $job) && [ -n "$now" ]; do
    latest=$now
    [ "$now" -gt "$peak" ] && peak=$now
done
wait $job
check "the stream under load ends with status 0" [ $? -eq 0 ]
wait
echo "stream: $(cat count) lines in $seconds s; memory $early kB after 1 s, $latest kB at the end, $peak kB at most"
[ $sanitized = yes ] || check "the memory of a stream is constant" [ $((peak - early)) -le 1024 ]
check "lines are answered" [ "$(cat count)" -gt 1000 ]

# Whatever way the bytes come and go, the answers are the same.
"$vargate" decide --stdin-jsonl -q <lines.jsonl >expected.jsonl
check "every line has an answer" [ "$(wc -l <expected.jsonl)" -eq "$(wc -l <lines.jsonl)" ]
sed 's/$/\r/' lines.jsonl | "$vargate" decide --stdin-jsonl -q >crlf.jsonl
check "lines that end in CRLF" cmp -s expected.jsonl crlf.jsonl
{ # one byte at a time would take long: pieces of 1 to 997 bytes, and halts within lines
    at=1 step=1 size=$(wc -c <lines.jsonl)
    while [ $at -le "$size" ]; do
        tail -c +$at lines.jsonl | head -c $step
        at=$((at + step)) step=$(((step * 7 + 3) % 997 + 1))
        sleep 0.01
    done
} | "$vargate" decide --stdin-jsonl -q >halting.jsonl
check "half lines of a slow writer" cmp -s expected.jsonl halting.jsonl
for i in 1 2 3 4 5 6 7 8 9 10; do cat lines.jsonl; done >many.jsonl
"$vargate" decide --stdin-jsonl -q <many.jsonl >expected.jsonl
"$vargate" decide --stdin-jsonl -q <many.jsonl | { sleep 0.5 && dd bs=100 2>/dev/null && cat; } >slow.jsonl
check "a slow reader" cmp -s expected.jsonl slow.jsonl

# A line is answered while the next is not there yet.
printf '{"p": [[0.75, 0.25]]}\n{"p": [[0.75' >half
{ cat half && sleep 1; } | "$vargate" decide --stdin-jsonl -q | { read -r answer && echo "$answer" >first; } &
sleep 0.7
check "a line is answered before the next is complete" grep -q '"pred":0' first
wait

# A line of a gigabyte is refused at 64 MB, in bounded memory, and the stream goes on.
long_line() { # long_line OPTIONS: in 600 MB of address space
    { head -c 1073741824 /dev/zero && printf '\n{"id": 2, "p": [[0.75, 0.25]]}\n'; } 2>/dev/null | (
        [ $sanitized = yes ] || ulimit -v 600000
        "$vargate" decide --stdin-jsonl -q "$@" >out 2>err
        echo $? >status
    )
}
long_line
check "a gigabyte line does not end the stream" [ "$(cat status)" -eq 0 ]
check "a gigabyte line is answered by an error" [ "$(head -n 1 out)" = '{"id":null,"error":"longer than 64 MB"}' ]
check "the line after it is answered" grep -q '^{"id":2,"pred":0,' out
long_line --strict
check "--strict: a gigabyte line ends it" [ "$(cat status)" -eq 1 ]
check "--strict: it is named" grep -q 'line 1: longer than 64 MB' err

# A reader that leaves: no message, no signal.
{
    yes "$(cat lines.jsonl)" | {
        timeout 20 "$vargate" decide --stdin-jsonl -q 2>err
        echo $? >status
    } | head -n 1 >first
} 2>/dev/null
check "a reader that leaves ends the stream with status 1" [ "$(cat status)" -eq 1 ]
check "silently" [ ! -s err ]

# 64 at once: each succeeds; with little memory each succeeds or says in one line that memory is out.
at_once() { # at_once KILOBYTES: exit statuses in status.N
    for i in $(seq 64); do
        (
            [ "$1" -gt 0 ] && ulimit -v "$1"
            "$vargate" score "$root/data/example-predictions.npz" -q -o "at.$i.csv" 2>"err.$i" >/dev/null
            echo $? >"status.$i"
        ) &
    done
    wait
}
"$vargate" score "$root/data/example-predictions.npz" -q -o alone.csv
at_once 0
good=0
for i in $(seq 64); do
    cmp -s alone.csv "at.$i.csv" && [ "$(cat "status.$i")" -eq 0 ] && [ ! -s "err.$i" ] && good=$((good + 1))
    rm -f "at.$i.csv"
done
echo "64 at once: $good as one alone"
check "64 at once" [ $good -eq 64 ]
if [ $sanitized = no ]; then
    good=0 short=0
    at_once "${MEMORY_OF_ONE:-60000}"
    for i in $(seq 64); do
        case $(cat "status.$i") in
        0) cmp -s alone.csv "at.$i.csv" && good=$((good + 1)) ;;
        1) [ "$(wc -l <"err.$i")" -eq 1 ] && grep -q -i 'memory\|could not start thread' "err.$i" &&
            [ ! -e "at.$i.csv" ] && short=$((short + 1)) ;;
        127) short=$((short + 1)) ;; # the loader itself had no memory
        esac
    done
    echo "64 at once in little memory: $good as one alone, $short out of memory"
    check "64 at once in little memory" [ $((good + short)) -eq 64 ]
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
