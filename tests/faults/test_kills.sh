#!/bin/sh
# Kills at any time: each command is killed (SIGKILL), in turn at a random call (fault_preload.c: an allocation, open,
# read, write, sync, rename and so on; of a write half is done) and after a random part of the time that it takes. No
# partial file is then under a final name, and the same command again, with --resume where it trains, gives the files
# that it gives without a kill, bit for bit. A stream goes on after its last complete answer. A file beside the final
# name may be left by a kill between its naming and its renaming. Only runs that the kill ended are counted.
#
#   VARGATE_LONG_TESTS=1   200 kills of each command on every file system; otherwise KILLS (3)
#   COMMANDS, FOLDERS      only these; the folders (file systems) to work in: $TMPDIR or /tmp, with the long tests also
#                          /dev/shm and an overlay where one can be mounted
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
preload=${VARGATE_BUILD:-build/release}/tests/libfault_preload.so
case $preload in /*) ;; *) preload=$(pwd)/$preload ;; esac
base=$(mktemp -d) || exit 1
. tests/faults/commands
kills=${KILLS:-3} folders=${FOLDERS:-$base} killed=0 wrong=0
trap 'umount "$base/overlay" 2>/dev/null; rm -rf "$base" ${work:+"$work"}' EXIT
if [ "${VARGATE_LONG_TESTS:-}" = 1 ]; then
    kills=${KILLS:-200}
    [ -n "${FOLDERS:-}" ] || { [ -w /dev/shm ] && folders="$folders /dev/shm"; }
    mkdir "$base/overlay" "$base/tmpfs"
    if [ -z "${FOLDERS:-}" ] && mount -t tmpfs tmpfs "$base/tmpfs" 2>/dev/null; then # an overlay needs no overlay below
        mkdir "$base/tmpfs/upper" "$base/tmpfs/scratch" "$base/lower"
        trap 'umount "$base/overlay" "$base/tmpfs" 2>/dev/null; rm -rf "$base" ${work:+"$work"}' EXIT
        mount -t overlay overlay "$base/overlay" 2>/dev/null \
            -o "lowerdir=$base/lower,upperdir=$base/tmpfs/upper,workdir=$base/tmpfs/scratch" &&
            folders="$folders $base/overlay"
    fi
fi
export SOURCE_DATE_EPOCH=0 # the time in a report
unset VARGATE_DATA VARGATE_SPOOL_BYTES

# Every file with its checksum.
sums() { (cd "$work" && find out -name '.vargate-*.tmp' -prune -o -type f -exec cksum {} +) | sort -k 3; }
start() { # start COMMAND [WORD...]: in $work, with no other programs (no gnuplot) and with the words before it
    words=$(arguments "$1")
    shift
    (cd "$work" && exec env PATH=/nonexistent "$@" "$vargate" $words ${more:-}) 2>"$work/stderr"
}
faulty() { # faulty COMMAND NAME=VALUE: with the library of faults
    start "$1" LD_PRELOAD="$preload" VARGATE_FAULT_SKIP=:libdnnl:libgomp: VARGATE_FAULT=kill "$2"
}
again() { # again COMMAND: runs it to its end over what is there
    case $1 in
    train) more=--resume ;;
    run | fetch | report | stream) more= ;;
    *) more=--force ;;
    esac
    [ -d "$work/out/run" ] || { [ "$1" = train ] && more=; }
    if [ "$1" != stream ]; then
        start "$1" </dev/null >"$work/stdout"
        return
    fi
    touch "$work/out/answers.jsonl"
    answered=$(wc -l <"$work/out/answers.jsonl") # complete lines
    head -n "$answered" "$work/out/answers.jsonl" >"$work/rest" && mv "$work/rest" "$work/out/answers.jsonl"
    tail -n +$((answered + 1)) "$work/many.jsonl" | start stream >>"$work/out/answers.jsonl"
}
# killed_run COMMAND: a run that a kill ends, at call $call or, without one, after $after seconds.
killed_run() {
    more=
    if [ "$1" = stream ]; then from=$work/many.jsonl to=$work/out/answers.jsonl; else from=/dev/null to=$work/stdout; fi
    if [ -n "$call" ]; then
        faulty "$1" VARGATE_FAULT_AT="$call" <"$from" >"$to"
        return
    fi
    (cd "$work" && exec env PATH=/nonexistent "$vargate" $(arguments "$1")) <"$from" >"$to" 2>"$work/stderr" &
    sleep "$after"
    kill -KILL $! 2>/dev/null
    wait $!
}
# differing: names of stable files in the listing $1 that are not as they should be; a stream may be any part.
differing() {
    awk 'NR == FNR { sum[$3] = $1 " " $2; next } $3 in sum && sum[$3] != $1 " " $2 { print $3 }' "$work/stable" "$1"
}
complain() {
    wrong=$((wrong + 1))
    echo "FAILED: vargate $(arguments "$command"), killed ${call:+at call }${call:-after $after s}: $1"
    head -n 3 "$work/stderr"
}
clean() { rm -rf "$work/out" && mkdir "$work/out"; }
random() { awk -v seed="$1$$" -v most="$2" 'BEGIN { srand(seed); rand(); printf "%.4f", rand() * most }'; }
one_kill() { # one_kill NUMBER
    call= after=$(random "$1" "$took" | awk '{ printf "%.4f", $1 / 1000 }')
    [ "$calls" -gt 0 ] && [ $(($1 % 2)) -eq 0 ] && call=$(random "$1" "$calls" | awk '{ print int($1) + 1 }')
    clean
    killed_run "$command"
    code=$?
    [ $code -eq 137 ] && landed=$((landed + 1))
    # On a busy machine runs take longer or shorter than the one that was measured.
    [ -n "$call" ] || { [ $code -eq 137 ] && took=$((took + took / 20 + 1)) || took=$((took - took / 5)); }
    sums >"$work/sums"
    different=$(differing "$work/sums")
    [ -z "$different" ] || [ "$command" = stream ] || complain "partial: $different"
    again "$command" || complain "the next run fails"
    sums >"$work/sums"
    different=$(differing "$work/sums")
    missing=$(awk 'FILENAME == ARGV[1] { there[$3] = 1; next } !($3 in there) { print $3 }' "$work/sums" "$work/stable")
    [ -z "$different$missing" ] || complain "the next run gives other files: $different $missing"
}

for folder in $folders; do
    work=$(mktemp -d "$folder/kills.XXXXXX") || exit 1
    make_inputs || { echo "the inputs could not be made" && exit 1; }
    seq 3000 | sed 's/.*/{"id": &, "p": [[0.75, 0.25], [0.5, 0.5]]}/' >"$work/many.jsonl"
    for command in ${COMMANDS:-score report fetch predict train run stream}; do
        clean
        again "$command" || { cat "$work/stderr" && echo "FAILED: $command" && exit 1; }
        sums >"$work/first"
        clean
        begin=$(date +%s%N)
        again "$command"
        took=$((($(date +%s%N) - begin) / 1000000))
        sums >"$work/second"
        comm -12 "$work/first" "$work/second" >"$work/stable" 2>/dev/null
        [ -s "$work/stable" ] || { echo "FAILED: $command writes no file that is the same in every run" && exit 1; }
        clean
        more= calls=0 landed=0 tries=0 before=$wrong
        [ "$command" = stream ] && input=$work/many.jsonl || input=/dev/null
        [ -e "$preload" ] && faulty "$command" VARGATE_FAULT_COUNT="$work/count" <"$input" >/dev/null &&
            calls=$(sed -n 's/^kill //p' "$work/count")
        while [ $landed -lt "$kills" ] && [ $tries -lt $((4 * kills)) ]; do
            tries=$((tries + 1))
            one_kill $tries
        done
        killed=$((killed + landed))
        echo "$command on $(stat -f -c %T "$work"): $landed kills in $tries runs," \
            "at any of $calls calls or in $took ms, $((wrong - before)) ended wrongly"
    done
    rm -rf "$work"
done 2>/dev/null
echo "$killed kills, $wrong ended wrongly"
[ "$wrong" -eq 0 ] && [ "$killed" -gt 0 ]
