#!/bin/sh
# Power cuts: what a command does to its files is recorded (power_preload.c), and the disk is put into the states that a
# power cut after each operation may leave (power_replay.c): what was not synced is lost, torn or kept. A file under a
# final name is then the old or the new one, whole, and the same command again gives the files that it gives without a
# cut, bit for bit. After the command has ended nothing is lost.
#
#   VARGATE_LONG_TESTS=1   every operation; otherwise CUTS (3) of them, other ones every day, and no run
#   SEED, COMMANDS         the choice (the day); only these
set -u
vargate=${1:-${VARGATE:-}}
tests=${VARGATE_BUILD:-build/release}/tests
case $tests in /*) ;; *) tests=$(pwd)/$tests ;; esac
[ -n "$vargate" ] && [ -e "$tests/libpower_preload.so" ] || { echo "not built" && exit 77; }
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
commands="score replace report fetch predict train" cuts=${CUTS:-3}
seed=${SEED:-$(($(date +%s) / 86400))} tried=0 wrong=0
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && cuts=all commands="$commands run"
export SOURCE_DATE_EPOCH=0
unset VARGATE_DATA VARGATE_SPOOL_BYTES
make_inputs || { echo "the inputs could not be made" && exit 1; }
cd "$work" || exit 1
echo "SEED=$seed"

sums() { find out \( -name '.vargate-*.tmp' -o -name '*.lock' \) -prune -o -type f -exec cksum {} + | sort -k 3; }
clean() { # clean COMMAND: out/ as it is before
    rm -rf out && mkdir out
    [ "$1" != replace ] || cp old.json out/
}
start() { # start COMMAND [MORE] [JOURNAL]
    words=$(arguments "$1")
    env PATH=/nonexistent ${3:+LD_PRELOAD="$tests/libpower_preload.so" VARGATE_POWER_JOURNAL="$3"} "$vargate" $words \
        ${2:-} >stdout 2>stderr </dev/null
}
again() { # again COMMAND: over what is there
    case $1 in
    train) if [ -d out/run ]; then start train --resume; else start train; fi ;;
    run | fetch | report) start "$1" ;;
    *) start "$1" --force ;;
    esac
}
complain() {
    wrong=$((wrong + 1))
    echo "FAILED: $command, power cut after operation $n of $operations ($how): $1"
    head -n 2 stderr
}
# differing LISTING: stable files in it that are not as they should be.
differing() {
    awk 'FILENAME == ARGV[1] { sum[$3] = $1 " " $2; next } $3 in sum && sum[$3] != $1 " " $2 { print $3 }' stable "$1"
}
missing() { awk 'FILENAME == ARGV[1] { there[$3] = 1; next } !($3 in there) { print $3 }' "$1" stable; }
cut_at() { # the power fails after operation $n, $how
    rm -rf out
    if [ "$command" = replace ]; then
        "$tests/power_replay" journal "$n" "$how" old.json out/old.json
    else
        "$tests/power_replay" journal "$n" "$how"
    fi || complain "cannot be replayed"
    sums >listing
    grep -v -x -F -e "$(cksum old.json | cut -d ' ' -f 1,2) out/old.json" listing >changed
    # Checkpoints and the log of a training change while it runs: the next run reads them.
    case $command in train | run) : >changed ;; esac
    found=$(differing changed)
    [ -z "$found" ] || complain "neither old nor new: $found"
    if [ "$n" = "$operations" ]; then
        found=$(missing listing)
        [ -z "$found" ] || complain "lost after the end: $found"
    fi
    again "$command" || complain "the next run fails"
    sums >listing
    found="$(differing listing)$(missing listing)"
    [ -z "$found" ] || complain "the next run gives other files: $found"
    tried=$((tried + 1))
}

for command in ${COMMANDS:-$commands}; do
    clean "$command"
    start "$command" "" "$work/journal" || { cat stderr && echo "FAILED: $command" && exit 1; }
    sums >first
    clean "$command"
    start "$command"
    sums >second
    comm -12 first second >stable 2>/dev/null
    operations=$("$tests/power_replay" journal count)
    [ "$operations" -gt 3 ] && [ -s stable ] || { echo "FAILED: $command: nothing was recorded" && exit 1; }
    points=$(awk -v n="$operations" -v cuts="$cuts" -v seed="$seed" 'BEGIN {
        if (cuts == "all") { for (i = 1; i <= n; i++) print i; exit }
        srand(seed); for (i = 1; i < cuts; i++) print 1 + int(rand() * n); print n }')
    before=$wrong
    for n in $points; do
        for how in lost empty torn kept; do cut_at; done
    done
    echo "$command: $operations operations, $(echo "$points" | wc -l) cuts in 4 ways, $((wrong - before)) ended wrongly"
done
echo "$tried power cuts, $wrong ended wrongly"
[ "$wrong" -eq 0 ]
