#!/bin/sh
# Faults of the GPU, on a machine that has one: allocations of device memory and calls of the CUDA runtime fail
# (cuda_faults.c) while a small network is trained, predicts, or predictions are scored there. fault_walk.c says how
# each must end. A GPU that is lost during a training leaves a checkpoint from which the training goes on to the same
# bits.
#
#   SAMPLE=N   faults of each kind and command (2; with VARGATE_LONG_TESTS=1 every allocation, and 40 of the calls)
#   SEED       which of them (the day)
#   JOBS       walks at once (4)
set -u
vargate=${1:-${VARGATE:-}}
tests=${VARGATE_BUILD:-build/release}/tests
case $tests in /*) ;; *) tests=$(pwd)/$tests ;; esac
case $vargate in /*) ;; *) vargate=$(pwd)/$vargate ;; esac
faulty=$tests/vargate-cuda-faults
[ -x "$faulty" ] && [ -x "$tests/fault_walk" ] || { echo "skipped: not a build with CUDA" && exit 77; }
if ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
    echo "no GPU"
    [ -n "${VARGATE_REQUIRE_GPU:-}" ] && exit 1
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/faults/commands
memory=${SAMPLE:-2} device=${SAMPLE:-2} seed=${SEED:-$(($(date +%s) / 86400))}
[ "${VARGATE_LONG_TESTS:-}" = 1 ] && memory=${SAMPLE:-all} device=${SAMPLE:-40}
make_inputs || { echo "the inputs could not be made" && exit 1; }
cd "$work" || exit 1
echo "SEED=$seed"

gpu_arguments() {
    case $1 in
    train) echo "train $recipe --device cuda --out out/run --threads 2 -q" ;;
    predict) echo "predict trained --device cuda -o out/pred.npz --threads 2 -q" ;;
    score) echo "score pred.npz --device cuda -o out/scores.csv --threads 2 -q" ;;
    esac
}

# walk COMMAND KIND SAMPLE: in a folder of its own, so that several run at once.
walk() {
    folder=$work/$1-$2
    mkdir "$folder"
    ln -s ../data ../recipes ../trained ../pred.npz "$folder"
    # shellcheck disable=SC2046
    (cd "$folder" && "$tests/fault_walk" -k "$2" -n "$3" -r "$seed" "$1 on the GPU, $2" "$faulty" \
        $(gpu_arguments "$1") >log 2>&1)
    echo $? >"$folder/status"
}

# Longer trainings, which have saved something when the GPU is lost.
long="$recipe --set epochs=3"
# lose N: the GPU is lost at the n-th call of a training; whatever was saved by then must be good to go on from.
lose() {
    out=$work/lost-$1
    # shellcheck disable=SC2086
    VARGATE_FAULT=device VARGATE_FAULT_AT=$1 VARGATE_FAULT_LAST=yes "$faulty" train $long --device cuda \
        --out "$out" --threads 2 -q 2>"$out.err"
    code=$?
    [ $code -eq 1 ] || echo "lost at call $1: status $code" >>"$work/complaints"
    [ "$(wc -l <"$out.err")" -eq 1 ] || { echo "lost at call $1: not one line" && cat "$out.err"; } >>"$work/complaints"
    [ -e "$out/last.safetensors" ] && echo kept >>"$work/kept"
    # shellcheck disable=SC2086
    "$vargate" train $long --device cuda --out "$out" --resume --threads 2 -q 2>"$out.err" ||
        { echo "lost at call $1: does not resume" && cat "$out.err"; } >>"$work/complaints"
    cmp -s "$work/whole/last.safetensors" "$out/last.safetensors" ||
        echo "lost at call $1: other bits after resuming" >>"$work/complaints"
}

running=0
turn() { # waits when as many walks run as may
    running=$((running + 1))
    [ $running -lt "${JOBS:-4}" ] || { wait && running=0; }
}
for command in train predict score; do
    walk $command memory "$memory" &
    turn
    walk $command memory+ "$memory" &
    turn
    walk $command device "$device" &
    turn
done
wait
failed=0
for status in "$work"/*/status; do
    [ "$(cat "$status")" = 0 ] || failed=1
    tail -n 20 "$(dirname "$status")/log"
done

# shellcheck disable=SC2086
VARGATE_FAULT_COUNT=$work/count "$faulty" train $long --device cuda --out whole --threads 2 -q || failed=1
calls=$(sed -n 's/^device //p' "$work/count")
touch complaints kept
losses=$((device < 12 ? device : 12))
running=0
for i in $(seq 1 $losses); do
    lose $((calls * (2 * i - 1) / (2 * losses) + seed % 7 + 1)) &
    turn
done
wait
cat complaints
[ ! -s complaints ] || failed=1
echo "$losses trainings on a GPU that is lost, of $calls calls; $(wc -l <kept) had saved a checkpoint"
exit $failed
