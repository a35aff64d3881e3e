#!/bin/sh
# Kills at any time: each command is killed (SIGKILL) after a random part of the time that it takes. No partial file is
# then under a final name, and the same command again, with --resume where it trains, gives the files that it gives
# without a kill, bit for bit. A stream goes on behind its last complete answer. A file beside the final name may be
# left by a kill between its naming and its renaming.
#
#   VARGATE_LONG_TESTS=1   200 kills of each command on every file system; otherwise KILLS (3)
#   COMMANDS, FOLDERS      only these; the folders (file systems) to work in: $TMPDIR or /tmp, with the long tests also
#                          /dev/shm and an overlay where one can be mounted
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
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
start() { # start COMMAND [SECONDS] [MORE]: in $work, with no other programs (no gnuplot); killed after the seconds
    words=$(arguments "$1")
    (cd "$work" && exec ${2:+timeout -s KILL "$2"} env PATH=/nonexistent "$vargate" $words ${3:-}) 2>"$work/stderr"
}
again() { # again COMMAND: runs it to its end over what is there
    case $1 in
    train) more=--resume ;;
    run | fetch | report) more= ;;
    *) more=--force ;;
    esac
    [ -d "$work/out/run" ] || { [ "$1" = train ] && more=; }
    if [ "$1" != stream ]; then
        for try in 1 2 3 4 5 6 7 8 9; do # timeout does not wait until the process that it killed is gone
            start "$1" "" "$more" </dev/null >"$work/stdout" && return
            grep -q 'is training into this folder' "$work/stderr" && sleep 0.5 || return 1
        done
        return 1
    fi
    touch "$work/out/answers.jsonl"
    answered=$(wc -l <"$work/out/answers.jsonl") # complete lines
    head -n "$answered" "$work/out/answers.jsonl" >"$work/rest" && mv "$work/rest" "$work/out/answers.jsonl"
    tail -n +$((answered + 1)) "$work/many.jsonl" | start stream >>"$work/out/answers.jsonl"
}
killed_run() { # killed_run COMMAND SECONDS
    if [ "$1" = stream ]; then
        start "$1" "$2" <"$work/many.jsonl" >"$work/out/answers.jsonl"
    else
        start "$1" "$2" </dev/null >"$work/stdout"
    fi
}
# differing: names of stable files in the listing $1 that are not as they should be; a stream may be any part.
differing() {
    awk 'NR == FNR { sum[$3] = $1 " " $2; next } $3 in sum && sum[$3] != $1 " " $2 { print $3 }' "$work/stable" "$1"
}
complain() {
    wrong=$((wrong + 1))
    echo "FAILED: vargate $(arguments "$command"), killed after $after s: $1"
    head -n 3 "$work/stderr"
}
clean() { rm -rf "$work/out" && mkdir "$work/out"; }
one_kill() { # one_kill NUMBER TOOK
    after=$(awk -v took="$2" -v seed="$1$$" 'BEGIN { srand(seed); printf "%.4f", rand() * took / 1000 }')
    clean
    killed_run "$command" "$after"
    [ $? -eq 0 ] || ended=$((ended + 1))
    sums >"$work/sums"
    different=$(differing "$work/sums")
    [ -z "$different" ] || [ "$command" = stream ] || complain "partial: $different"
    again "$command" || complain "the next run fails"
    sums >"$work/sums"
    different=$(differing "$work/sums")
    missing=$(awk 'FILENAME == ARGV[1] { there[$3] = 1; next } !($3 in there) { print $3 }' "$work/sums" "$work/stable")
    [ -z "$different$missing" ] || complain "the next run gives other files: $different $missing"
    killed=$((killed + 1))
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
        ended=0
        for i in $(seq "$kills"); do
            one_kill "$i" "$took"
        done
        echo "$command on $(stat -f -c %T "$work"): $kills runs of at most $took ms, $ended of them killed"
    done
    rm -rf "$work"
done 2>/dev/null
echo "$killed runs, $wrong ended wrongly"
[ "$wrong" -eq 0 ]
