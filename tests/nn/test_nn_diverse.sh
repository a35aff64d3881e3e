#!/bin/sh
# Compares the recipe mnist-lle-diverse on the digits that ship with the same run without its head settings: at least 3
# times the diversity over the test set, an accuracy at most 0.003 lower, and an AUROC of clothes by EU that is no
# lower. It trains the paper's CNN twice, which takes about two minutes on two free cores, so it runs only when
# VARGATE_LONG_TESTS is set (make check-all does).
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
[ -n "${VARGATE_LONG_TESTS:-}" ] || { echo "long: set VARGATE_LONG_TESTS=1 to run it" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
compute=float32
grep -q avx512_bf16 /proc/cpuinfo 2>/dev/null && compute=bfloat16

# number FILE KEY: the first value of a key in a JSON file
number() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),*$/\1/p" "$1" | head -n 1; }

# one NAME KEY=VALUE...: trains, predicts, scores; leaves NAME.diversity, NAME.accuracy, NAME.auroc
one() {
    name=$1
    shift
    switches=
    for change in "$@"; do
        switches="$switches --set $change"
    done
    # shellcheck disable=SC2086
    "$vargate" train mnist-lle-diverse --set dataset=digits --set epochs=16 --set rate=3e-4 --set compute=$compute \
        $switches --out "$folder/$name" -q || exit 1
    "$vargate" predict "$folder/$name" --logits -o "$folder/$name.npz" -q || exit 1
    "$vargate" predict "$folder/$name" --input digits-ood --logits -o "$folder/$name-ood.npz" -q || exit 1
    "$vargate" score "$folder/$name.npz" --json -q >"$folder/score.json" || exit 1
    "$vargate" evaluate "$folder/$name.npz" --measures eu --json -q >"$folder/evaluate.json" || exit 1
    "$vargate" ood "$folder/$name.npz" "$folder/$name-ood.npz" --measures eu --json -q >"$folder/ood.json" || exit 1
    number "$folder/score.json" diversity >"$folder/$name.diversity"
    number "$folder/evaluate.json" accuracy >"$folder/$name.accuracy"
    number "$folder/ood.json" auroc >"$folder/$name.auroc"
    echo "$name: diversity $(cat "$folder/$name.diversity"), accuracy $(cat "$folder/$name.accuracy")," \
        "AUROC by EU $(cat "$folder/$name.auroc")"
}
one diverse
one plain head_features=0 head_prior=0
awk -v d="$(cat "$folder/diverse.diversity")" -v p="$(cat "$folder/plain.diversity")" \
    -v da="$(cat "$folder/diverse.accuracy")" -v pa="$(cat "$folder/plain.accuracy")" \
    -v du="$(cat "$folder/diverse.auroc")" -v pu="$(cat "$folder/plain.auroc")" \
    'BEGIN { exit !(p > 0 && d >= 3 * p && da >= pa - 0.003 && pu > 0 && du >= pu) }'
