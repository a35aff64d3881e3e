# A checkpoint and data that do not fit one another: one line, and nothing is lost.
own=$folder/own-digits
refused=$folder/refused
mkdir "$own" "$refused"
for part in train t10k; do
    gzip -dc "data/digits/$part-images-idx3-ubyte.gz" >"$own/$part-images-idx3-ubyte"
    # 5 classes: 5 to 9 become 0 to 4; the first 8 bytes say what the file is
    gzip -dc "data/digits/$part-labels-idx1-ubyte.gz" >"$folder/labels"
    head -c 8 "$folder/labels" >"$own/$part-labels-idx1-ubyte"
    tail -c +9 "$folder/labels" | tr '\005\006\007\010\011' '\000\001\002\003\004' >>"$own/$part-labels-idx1-ubyte"
done
five="--set network=cnn-16-48 --set heads=2 --set epochs=1 --set train_limit=256 --set test_limit=50 --set ood=[]"
# shellcheck disable=SC2086
run train quickstart $five --set "dataset=path:$own" --out "$refused/run" -q
exits 0
run predict "$refused/run" -o "$refused/five.npz" -q
exits 0
sums=$(cksum "$refused/run"/* "$refused/five.npz")

for part in train t10k; do
    gzip -dc "data/digits/$part-labels-idx1-ubyte.gz" >"$own/$part-labels-idx1-ubyte"
done
run predict "$refused/run" -o "$refused/ten.npz" -q
fails_with 1 "10 classes, the checkpoint has 5"
run predict "$refused/run" -o "$refused/five.npz" -q
fails_with 1 "10 classes, the checkpoint has 5"
run predict "$refused/run" --split val -o "$refused/ten.npz" -q
fails_with 1 "10 classes, the checkpoint has 5"
# shellcheck disable=SC2086
run train quickstart $five --set "dataset=path:$own" --out "$refused/run" --resume -q
fails_with 1 "has 5 classes, the data 10"
# shellcheck disable=SC2086
run run quickstart $five --set "dataset=path:$own" --out "$refused/run" -q
fails_with 1 "has 5 classes, the data 10"
leaves "$refused" \
    "five.npz run run/best.safetensors run/last.safetensors run/metrics.jsonl run/recipe.yaml run/run.json"
if [ "$sums" = "$(cksum "$refused/run"/* "$refused/five.npz")" ]; then pass; else fail "a file of the run changed"; fi
# Labels of classes that the network does not know are left out, with a note.
run predict "$refused/run" --input "path:$own" -o "$refused/other.npz"
exits 0
says "labels are left out"

# test_limit: drawn by the recipe's seed, so the same images whatever name they are read by.
run predict "$refused/run" --input digits -o "$refused/again.npz" -q
exits 0
if cmp -s "$refused/other.npz" "$refused/again.npz"; then pass; else fail "another sample of the same images"; fi

# A processor without bfloat16 products is named as the reason, also where the device is chosen automatically.
# shellcheck disable=SC2086
run train quickstart $five --set compute=bfloat16 --device cpu --out "$refused/bfloat16" -q
cp "$folder/err" "$refused/reason"
if [ -s "$refused/reason" ]; then
    # shellcheck disable=SC2086
    run train quickstart $five --set compute=bfloat16 --out "$refused/bfloat16" -q
    if [ ! -s "$folder/err" ] || cmp -s "$folder/err" "$refused/reason"; then pass; else
        fail "hides why there is no bfloat16"
    fi
fi
