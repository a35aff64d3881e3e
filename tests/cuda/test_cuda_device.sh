#!/bin/sh
# --device without a GPU (there is none, or it is hidden): `cuda` fails with one clear line; `auto` uses the CPU and
# says so on the line that names the device. With a GPU: `auto` takes it, and a short training and prediction run there.
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0
small="--set network=cnn-8-24 --set heads=3 --set epochs=1 --set train_limit=320 --set test_limit=50"
check() { # check WHAT CONDITION...
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "failed: $what" && cat "$folder/err"; fi
}
train() { # train NAME DEVICE [-q]
    # shellcheck disable=SC2086
    "$vargate" train quickstart $small --out "$folder/$1" --device "$2" ${3:-} >"$folder/out" 2>"$folder/err"
    code=$?
}
one_line() { [ "$(wc -l <"$folder/err")" -eq 1 ]; }
err_has() { grep -q -i -- "$1" "$folder/err"; }

visible=${CUDA_VISIBLE_DEVICES-all}
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
train none cuda -q
check "--device cuda without a GPU ends with status 1" [ $code -eq 1 ]
check "--device cuda without a GPU: one line" one_line
check "--device cuda without a GPU: the line names it" err_has 'cuda\|GPU'
built=yes
if err_has 'not in this build'; then built=no; fi
check "--device cuda without a GPU leaves no checkpoint" [ ! -e "$folder/none/last.safetensors" ]

train auto auto
check "--device auto without a GPU trains" [ $code -eq 0 ]
grep 'training on' "$folder/err" >"$folder/line"
check "--device auto: one line says where" [ "$(wc -l <"$folder/line")" -eq 1 ]
if [ $built = yes ]; then
    check "--device auto: that line says that there is no GPU" grep -q -i '(.*\(cuda\|GPU\)' "$folder/line"
fi
"$vargate" predict "$folder/auto" --device cuda -o "$folder/p.npz" -q >"$folder/out" 2>"$folder/err"
code=$?
check "predict --device cuda without a GPU ends with status 1" [ $code -eq 1 ]
check "predict --device cuda without a GPU: one line" one_line
check "predict --device cuda without a GPU leaves no file" [ ! -e "$folder/p.npz" ]

unset CUDA_VISIBLE_DEVICES
[ "$visible" = all ] || export CUDA_VISIBLE_DEVICES="$visible"
if [ $built = yes ] && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    train gpu auto
    check "--device auto with a GPU trains" [ $code -eq 0 ]
    check "--device auto with a GPU takes it" grep -q -i 'training on.*\(cuda\|nvidia\)' "$folder/err"
    for device in cuda cpu; do
        "$vargate" predict "$folder/gpu" --device $device -o "$folder/$device.npz" >"$folder/out" 2>"$folder/err"
        code=$?
        check "predict --device $device" [ $code -eq 0 ]
        "$vargate" evaluate "$folder/$device.npz" --json -q >"$folder/$device.json" 2>"$folder/err"
    done
    accuracy() { sed -n 's/.*"accuracy": *\([0-9.e+-]*\).*/\1/p' "$folder/$1.json" | head -n 1; }
    check "the same accuracy from both" [ "$(accuracy cuda)" = "$(accuracy cpu)" ]
elif [ -n "${VARGATE_REQUIRE_GPU:-}" ]; then
    check "a GPU" false
else
    echo "skipped: no GPU: training and predicting there"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
