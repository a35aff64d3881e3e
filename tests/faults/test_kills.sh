#!/bin/sh
# Kills at any time: each command is killed (SIGKILL) after a random part of the time that it takes. No partial file is
# then under a final name, and the same command again, with --resume where it trains, gives the files that it gives
# without a kill, bit for bit. A file beside the final name may be left by a kill between its naming and its renaming.
#
#   VARGATE_LONG_TESTS=1   200 kills of each command; otherwise KILLS (3)
#   COMMANDS               only these
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
kills=${KILLS:-3}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && kills=200
killed=0 wrong=0
export SOURCE_DATE_EPOCH=0 # the time in a report
unset VARGATE_DATA VARGATE_SPOOL_BYTES
make_inputs || { echo "the inputs could not be made" && exit 1; }

# Every file with its checksum, but for figures as PDF, which hold the second in which gnuplot drew them.
sums() {
    (cd "$work" && find out \( -name '.vargate-*.tmp' -o -name '*.pdf' \) -prune -o -type f -exec cksum {} +) |
        sort -k 3
}
again() { # again COMMAND: runs it to its end over what is there
    case $1 in
    train) more=--resume ;;
    run) more= ;;
    fetch) more= ;;
    *) more=--force ;;
    esac
    [ "$1" = report ] && more=
    [ -d "$work/out/run" ] || { [ "$1" = train ] && more=; }
    (cd "$work" && "$vargate" $(arguments "$1") $more) >"$work/stdout" 2>"$work/stderr" </dev/null
}
# differing: names of stable files in the listing $1 that are not as they should be.
differing() {
    awk 'NR == FNR { sum[$3] = $1 " " $2; next } $3 in sum && sum[$3] != $1 " " $2 { print $3 }' "$work/stable" "$1"
}
complain() {
    wrong=$((wrong + 1))
    echo "FAILED: vargate $(arguments "$command"), killed after $after s: $1"
    head -n 3 "$work/stderr"
}
clean() { rm -rf "$work/out" && mkdir "$work/out"; }

for command in ${COMMANDS:-score report fetch predict train run}; do
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
        after=$(awk -v took="$took" -v seed="$i$$" 'BEGIN { srand(seed); printf "%.4f", rand() * took / 1000 }')
        clean
        (cd "$work" && exec timeout -s KILL "$after" "$vargate" $(arguments "$command")) \
            >"$work/stdout" 2>"$work/stderr" </dev/null
        [ $? -eq 0 ] || ended=$((ended + 1))
        sums >"$work/sums"
        different=$(differing "$work/sums")
        [ -z "$different" ] || complain "partial: "$different
        again "$command" || complain "the next run fails"
        sums >"$work/sums"
        different=$(differing "$work/sums")
        missing=$(awk 'NR == FNR { there[$3] = 1; next } !($3 in there) { print $3 }' "$work/sums" "$work/stable")
        [ -z "$different$missing" ] || complain "the next run gives other files: $different $missing"
        killed=$((killed + 1))
    done
    echo "$command: $kills runs of at most $took ms, $ended of them killed"
done 2>/dev/null
echo "$killed runs, $wrong ended wrongly"
[ "$wrong" -eq 0 ]
