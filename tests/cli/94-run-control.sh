# Control of a run: what stops before training, one training per folder, a stop that names its checkpoint, resuming what
# is finished, which checkpoint predictions take, progress in a narrow window.
small="--set network=cnn-16-48 --set heads=6 --set epochs=2 --set train_limit=640 --set test_limit=200 --set rate=1e-3"
control=$folder/control
mkdir "$control"

# shellcheck disable=SC2086
run run quickstart $small --set "k=[]" --out "$control/none" -q
fails_with 1 "k needs at least one gate setting"
if [ -e "$control/none" ]; then fail "began all the same"; else pass; fi
run train quickstart --set lr=1
fails_with 1 "unknown key 'lr'; it is called 'rate' here"
run train quickstart --set optimizer=sgd
fails_with 1 "unknown key 'optimizer'; it is called 'optimiser' here"

# two trainings into one folder; a stop
# shellcheck disable=SC2086
"$vargate" train quickstart $small --set epochs=500 --out "$control/a" -q >"$folder/out" 2>"$control/stopped" &
child=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    [ -f "$control/a/last.safetensors" ] && break
    sleep 0.2
done
# shellcheck disable=SC2086
run train quickstart $small --set epochs=500 --out "$control/a" --resume -q
fails_with 1 "$control/a: process $child on "
kill -TERM $child
wait $child 2>/dev/null
command="kill -TERM (vargate train)"
if grep -q "the checkpoint is $control/a/last.safetensors; --resume continues" "$control/stopped"; then pass; else
    fail "a stopped training does not name its checkpoint: $(cat "$control/stopped")"
fi
if [ -e "$control/a/train.lock" ]; then fail "leaves its lock"; else pass; fi

# a finished run, its settings, more epochs
# shellcheck disable=SC2086
run train quickstart $small --out "$control/b"
exits 0
says "done, validation accuracy"
# shellcheck disable=SC2086
run train quickstart $small --out "$control/b" --resume
exits 0
says "was finished already, validation accuracy 0."
if grep -q "accuracy 0.0000" "$folder/err"; then fail "says accuracy 0"; else pass; fi
# shellcheck disable=SC2086
run train quickstart $small --set epochs=3 --set "k=[1, 4]" --out "$control/b" --resume
exits 0
says "continuing with other settings: epochs: 3 (was 2), k: [1, 4] (was [1, 2, 3])"
says "epoch 3/3"
near "$(wc -l <"$control/b/metrics.jsonl")" 3

# which checkpoint: the recipe's, the same for predict and run, said in the results
run predict "$control/b" --checkpoint best -o "$control/best.npz" -q
exits 0
run predict "$control/b" --checkpoint last -o "$control/last.npz" -q
exits 0
run predict "$control/b" -o "$control/default.npz" -q
exits 0
if cmp -s "$control/default.npz" "$control/last.npz"; then pass; else fail "takes another checkpoint than last"; fi
# shellcheck disable=SC2086
run run quickstart $small --set epochs=3 --set "k=[1]" --set "ood=[]" --set checkpoint=best --out "$control/b"
exits 0
says "predictions are those of best.safetensors"
cp "$control/b/results.json" "$folder/out"
if [ "$(json checkpoint)" = best ] && [ "$(json split_seed)" = 1 ]; then pass; else fail "results do not say which"; fi
run predict "$control/b" -o "$control/default.npz" -q
exits 0
if cmp -s "$control/default.npz" "$control/best.npz"; then pass; else fail "takes another checkpoint than best"; fi
# another number of test images: predictions are made again
# shellcheck disable=SC2086
run run quickstart $small --set epochs=3 --set "k=[1]" --set "ood=[]" --set checkpoint=best --set test_limit=100 \
    --out "$control/b"
exits 0
says "continuing with other settings: test_limit: 100 (was 200)"
cp "$control/b/results.json" "$folder/out"
near "$(json test n)" 100

# only what comes after training changes (k, calibrate, ood): the run continues without training, and every output is
# made again
lines=$(wc -l <"$control/b/metrics.jsonl")
# shellcheck disable=SC2086
run run quickstart $small --set epochs=3 --set "k=[0.5, 4]" --set "ood=[digits-ood]" --set calibrate=no \
    --set checkpoint=best --out "$control/b"
exits 0
says "k: [0.5, 4] (was [1])"
says "calibrate: no (was yes)"
if grep -q "labels are left out" "$folder/err"; then fail "speaks of labels that OOD images do not need"; else pass; fi
if grep -q "epoch " "$folder/err" && grep -q "images/s" "$folder/err"; then fail "trains again"; else pass; fi
near "$(wc -l <"$control/b/metrics.jsonl")" "$lines"
valid run "$control/b/results.json"
cp "$control/b/results.json" "$folder/out"
if [ -n "$(json test measures gtu@0.5)" ] && [ -n "$(json ood digits-ood measures gtu@4)" ]; then pass; else
    fail "results are not those of the new settings"
fi
if [ -n "$(json test measures gtu@1)$(json test_calibrated n)$(json ood_calibrated)" ]; then
    fail "results of old settings stay"
else pass; fi
run report "$control/b/scores.npz" -o "$control/page" -q
exits 0
if grep -q 'gtu@4' "$control/page/report.html"; then pass; else fail "scores are those of the old settings"; fi

# a bar that fits the window
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    command="vargate train on a terminal of 44 columns"
    script -qec "stty cols 44; '$vargate' train quickstart $small --set epochs=60 --out '$control/narrow'" /dev/null \
        >"$control/screen" 2>&1 </dev/null
    tr '\r' '\n' <"$control/screen" | sed 's/\x1b\[K//g' | grep 's left' >"$control/bars"
    if [ -s "$control/bars" ]; then pass; else fail "shows no progress"; fi
    if awk 'length($0) > 43 { exit 1 }' "$control/bars"; then pass; else fail "a line of the bar is too wide"; fi
    tr '\r' '\n' <"$control/screen" | sed 's/\x1b\[K//g' | grep '^vargate train: epoch' >"$control/epochs"
    if [ "$(wc -l <"$control/epochs")" -eq 60 ] &&
        awk 'length($0) > 44 || !/loss [0-9]/ { exit 1 }' "$control/epochs"; then
        pass
    else
        fail "the line of an epoch wraps"
    fi
fi
