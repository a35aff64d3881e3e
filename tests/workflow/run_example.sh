#!/bin/sh
# run_example.sh PROGRAM: examples/train.c trains, predicts and writes the files that it names; a second call trains
# nothing.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*"
    cat "$folder/output"
    exit 1
}
"$1" "$folder/run" "$folder/test.npz" >"$folder/output" 2>&1 || fail "the example failed"
grep -q '^validation accuracy 0\.[5-9].* after 3 epochs$' "$folder/output" || fail "the network learned nothing"
grep -q "test.npz: 2000 images, 5 members, 10 classes, accuracy 0\.[5-9]" "$folder/output" || fail "no predictions"
grep -q '^mean tu [0-2]\.[0-9]*, median [0-2]\.[0-9]*$' "$folder/output" || fail "no scores"
for file in run/last.safetensors run/best.safetensors run/metrics.jsonl test.npz; do
    [ -s "$folder/$file" ] || fail "leaves no $file"
done
cp "$folder/run/metrics.jsonl" "$folder/before"
cp "$folder/output" "$folder/first"
"$1" "$folder/run" "$folder/test.npz" >"$folder/output" 2>&1 || fail "the second call failed"
cmp -s "$folder/before" "$folder/run/metrics.jsonl" || fail "trains again"
diff "$folder/first" "$folder/output" || fail "the second call says something else"
