# Optimisers, early stopping, snapshots and TensorBoard files from the command line.
tiny="--set network=cnn-8-16 --set heads=2 --set train_limit=320 --set batch=64 --set test_limit=50 --threads 1"
tiny="$tiny --device cpu"
controls=$folder/controls

# shellcheck disable=SC2086
run run quickstart $tiny --set epochs=4 --set snapshots=2 --set schedule=cyclic --set optimiser=sgd --set momentum=0.9 \
    --set rate=0.02 --set clip_norm=1 --set ema=0.9 --set label_smoothing=0.1 --set class_weights=balanced \
    --tensorboard --out "$controls"
exits 0
says "predictions are those of all snapshots"
says "4 members, 10 classes"
if grep -q '"checkpoint": "snapshots"' "$controls/results.json"; then pass; else
    fail "results.json names no snapshots"
fi
command="read_events.py"
if python3 "$here/read_events.py" "$controls/tensorboard/events.out.tfevents.vargate" >"$folder/events"; then pass; else
    fail "the event file cannot be read"
fi
near "$(grep -c loss/train "$folder/events")" 4
near "$(sed -n 's|^3 accuracy/validation ||p' "$folder/events")" \
    "$(sed -n '3s/.*"val_accuracy": \([^,]*\),.*/\1/p' "$controls/metrics.jsonl")"

# early stopping; the event file of a resumed run has all its epochs once
# shellcheck disable=SC2086
run train quickstart $tiny --set epochs=9 --set patience=2 --set min_delta=100 --out "$folder/early" --tensorboard
exits 0
says "stopping early after epoch 3: the validation loss has not fallen"
# shellcheck disable=SC2086
run train quickstart $tiny --set epochs=9 --set patience=4 --set min_delta=100 --out "$folder/early" --resume \
    --tensorboard
exits 0
says "continuing with other settings: patience: 4 (was 2)"
says "stopping early after epoch 5"
python3 "$here/read_events.py" "$folder/early/tensorboard/events.out.tfevents.vargate" >"$folder/events"
near "$(grep -c loss/train "$folder/events")" 5
