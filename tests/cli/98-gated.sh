# Networks with the gated loss: k in the run folder and in predictions, wherever k is taken; the gated members Q; a deep
# ensemble that is trained together; settings that exclude it.
small="--set network=cnn-8-16 --set epochs=2 --set train_limit=400 --set test_limit=150 --set rate=2e-3"
small="$small --set loss=gated"
gated=$folder/gated
mkdir "$gated"

# shellcheck disable=SC2086
run train quickstart $small --set heads=1 --out "$gated/none"
fails_with 1 "loss gated needs at least 2 members that can differ, found heads 1"
# shellcheck disable=SC2086
run train quickstart $small --set ensemble=mcd --set heads=1 --out "$gated/none"
fails_with 1 "loss gated trains the members together: it is for ensembles lle and deep"
# shellcheck disable=SC2086
run train quickstart $small --set label_smoothing=0.1 --out "$gated/none"
fails_with 1 "label_smoothing and class_weights need loss mean"
if [ -e "$gated/none" ]; then fail "began all the same"; else pass; fi

# a last-layer ensemble from training to the page
# shellcheck disable=SC2086
run run quickstart $small --set heads=5 --out "$gated/lle"
exits 0
says "the gated members (Q), as trained: accuracy 0."
command="results.json of a gated run"
if grep -q '"test_gated": {' "$gated/lle/results.json"; then pass; else fail "has no test_gated"; fi
if grep -q '"k": \[' "$gated/lle/metrics.jsonl"; then pass; else fail "metrics.jsonl has no k"; fi
if grep -q '"lines":\[\[' "$gated/lle/report/report.html"; then pass; else fail "the page has no course of k"; fi
for command_of in "score" "evaluate" "decide"; do
    # shellcheck disable=SC2086
    run $command_of "$gated/lle/test.npz" -k "$gated/lle/k.json" --json
    exits 0
done
run evaluate "$gated/lle/test.npz" --key Q
exits 0
prints "150 samples, 5 members, 10 classes (probabilities)"
run evaluate "$gated/lle/test.npz" # Z comes before Q
exits 0
prints "150 samples, 5 members, 10 classes (logits)"
run predict "$gated/lle" --score -k "$gated/lle/k.json" -o "$gated/scores.npz" -q
exits 0
run report "$gated/lle" -o "$gated/page" -q
exits 0

# networks that are trained together: one run
# shellcheck disable=SC2086
run train quickstart $small --set ensemble=deep --set heads=1 --set members=3 --out "$gated/deep"
exits 0
says "done, validation accuracy"
if [ -e "$gated/deep/network-1" ]; then fail "trains the networks one by one"; else pass; fi
run predict "$gated/deep" -o "$gated/deep.npz"
exits 0
says "150 images, 3 members, 10 classes"
run score "$gated/deep.npz" -k "$gated/deep/k.json"
exits 0
