# Training and predicting on the digits that ship, with a network small enough for a test; mistakes of users.
small="--set network=cnn-16-48 --set heads=6 --set epochs=2 --set train_limit=640 --set test_limit=200 --set rate=1e-3"
runs=$folder/runs
mkdir "$runs"

run train quickstart --show
exits 0
prints "head_features: 0"
quiet
run train quickstart --set checkpoint_every=10m --set head_prior=20 --show
prints "checkpoint_every: 600s"
prints "head_prior: 20"
for recipe in recipes/*.yaml; do
    run train "$recipe" --show
    exits 0
done
for set in mnist svhn cifar10 cifar100; do # one network, predicted without and with dropout
    sed '1d; s/mcd-lle/lle/' "recipes/$set-mcd-lle.yaml" >"$folder/with-dropout"
    if sed 1d "recipes/$set-lle.yaml" | cmp -s - "$folder/with-dropout"; then pass; else
        fail "$set-mcd-lle is not the network of $set-lle"
    fi
done

# shellcheck disable=SC2086
run train quickstart $small --out "$runs/a"
exits 0
silent
says "epoch 2/2"
leaves "$runs/a" "best.safetensors last.safetensors metrics.jsonl recipe.yaml run.json"
near "$(wc -l <"$runs/a/metrics.jsonl")" 2
for key in epoch train_loss val_loss val_accuracy val_ece diversity k_sensitivity lr images_per_s; do
    if grep -q "\"$key\"" "$runs/a/metrics.jsonl"; then pass; else fail "no $key in metrics.jsonl"; fi
done
run train quickstart $small --out "$runs/a" -q
fails_with 1 "exists already: resume it"
run train quickstart $small --set rate=2e-3 --out "$runs/a" --resume -q
fails_with 1 "another recipe: 'rate: 0.001' there, 'rate: 0.002' here"

# stopped by a signal, then resumed: the same file, byte for byte
"$vargate" train quickstart $small --out "$runs/b" -q >"$folder/out" 2>"$folder/err" &
child=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -f "$runs/b/best.safetensors" ] && break # in the second epoch
    sleep 0.1
done
kill -TERM $child 2>/dev/null
wait $child 2>/dev/null
run train quickstart $small --out "$runs/b" --resume -q
exits 0
if cmp -s "$runs/a/last.safetensors" "$runs/b/last.safetensors"; then pass; else fail "a resumed run differs"; fi
if cmp -s "$runs/a/best.safetensors" "$runs/b/best.safetensors"; then pass; else fail "a resumed run's best differs"; fi

# predictions
run predict "$runs/a" -o "$folder/test.npz" -q
exits 0
silent
run evaluate "$folder/test.npz" --json -q
exits 0
near "$(json n)" 200
near "$(json m)" 6
near "$(json c)" 10
run predict "$runs/a" --ensemble mcd-lle --passes 4 --heads 3 --logits -o "$folder/many.npz" -q
exits 0
run score "$folder/many.npz" --json -q
exits 0
near "$(json m)" 12
run predict "$runs/a" "$runs/b" --checkpoint best -o "$folder/deep.npz" -q
exits 0
run score "$folder/deep.npz" --json -q
near "$(json m)" 12
run predict "$runs/a" --input digits-ood -o "$folder/ood.npz" -q
exits 0
run predict "$runs/a" --split val -o "$folder/val.npz" -q
exits 0
run predict "$runs/a" --members 7 -o "$folder/none.npz" -q
fails_with 1 "has 6 heads, 7 members"
run predict "$runs/a" --ensemble mcd -o "$folder/none.npz" -q
fails_with 1 "mcd needs one"
run predict "$runs/none" -o "$folder/none.npz"
fails_with 1 "no such run folder or checkpoint"
run predict "$runs/a"
fails_with 2 "expected -o"
head -c 5000 "$runs/a/last.safetensors" >"$folder/cut.safetensors"
run predict "$folder/cut.safetensors" -o "$folder/none.npz" -q
exits 1

# mistakes of users
run train quickstart --set epoch=3
fails_with 1 "unknown key 'epoch'; the nearest known one is 'epochs'"
run train nosuch
fails_with 1 "nosuch"
printf 'name: x\nheads: many\n' >"$folder/bad.yaml"
run train "$folder/bad.yaml"
fails_with 1 "line 2: heads must be a number, found 'many'"
run train quickstart $small --set dataset=path:/no/such/place --out "$runs/c"
fails_with 1 "/no/such/place"
run train quickstart $small --set network=wrn-11-1 --out "$runs/c" -q
fails_with 1 "wrn-11-1"
run train quickstart $small --device abacus --out "$runs/c" -q
fails_with 1 "device 'abacus' is not in this build"
mkdir "$folder/digits"
cp data/digits/t10k-labels-idx1-ubyte.gz data/digits/train-labels-idx1-ubyte.gz "$folder/digits"
gzip -dc data/digits/train-images-idx3-ubyte.gz | head -c 100000 >"$folder/digits/train-images-idx3-ubyte"
run train quickstart $small --set "dataset=path:$folder/digits" --out "$runs/c" -q
fails_with 1 "train-images-idx3-ubyte"

# the whole pipeline, and again: nothing is done twice
run run quickstart $small --out "$runs/a" -q
exits 0
prints "as trained"
prints "calibrated"
prints "digits-ood"
for name in val.npz test.npz ood-digits-ood.npz temps.json scores.npz results.json; do
    if [ -s "$runs/a/$name" ]; then pass; else fail "leaves no $name"; fi
done
valid run "$runs/a/results.json"
valid calibrate "$runs/a/temps.json"
before=$(ls -l --time-style=full-iso "$runs/a/test.npz" "$runs/a/last.safetensors")
run run quickstart $small --out "$runs/a"
exits 0
says "test.npz is up to date"
if [ "$before" = "$(ls -l --time-style=full-iso "$runs/a/test.npz" "$runs/a/last.safetensors")" ]; then pass; else
    fail "makes predictions or checkpoints again"
fi
