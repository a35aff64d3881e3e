# Outputs: never over an input, whatever name leads to it; over an existing file only if it is ours of the same kind, or
# --force.
mkdir "$folder/outputs"
cd "$folder/outputs" || exit 1
cp "$root/$example" a.npz
ln -s a.npz link.npz
ln a.npz hard.npz
mkdir sub
printf '%s\n' 0 1 >y.csv
before=$(cksum <a.npz)
kept() { # kept FILE SUM: the file is as it was
    if [ "$(cksum <"$1")" = "$2" ]; then pass; else fail "$1 was changed"; fi
}
for name in a.npz link.npz hard.npz ./a.npz sub/../a.npz; do
    for how in "score a.npz" "score a.npz --force" "decide a.npz" "decide link.npz --force" \
        "calibrate a.npz" "calibrate hard.npz --force"; do
        run $how -o "$name"
        fails_with 1 "the output is the input"
        kept a.npz "$before"
    done
done
run_on a.npz score - -o a.npz
fails_with 1 "the output is the input on standard input"
kept a.npz "$before"
run score a.npz --labels y.csv -o y.csv --force
fails_with 1 "the output is the input y.csv itself"
cp a.npz val.npz
run decide a.npz --calibration val.npz --target-coverage 0.9 -o val.npz --force
fails_with 1 "the output is the input val.npz itself"
run calibrate a.npz -q -o temps.json
exits 0
run score a.npz --temperature temps.json -o temps.csv -q
exits 0
ln -s temps.json temps.npz
run score a.npz --temperature temps.json -o temps.npz --force
fails_with 1 "the output is the input temps.json itself"
mkdir page
cp a.npz page/report.html
run report page/report.html -o page --no-figures --force
fails_with 1 "the output is the input page/report.html itself"

# Ours of the same kind are replaced without a question, by every command; ours of another kind and strangers are not.
for kind in npz csv jsonl safetensors; do
    run score a.npz -q -o s.$kind
    exits 0
    run score a.npz -q -k 1 -o s.$kind
    exits 0
    run decide a.npz -q -o d.$kind
    exits 0
    run decide a.npz -q -k 2 -o d.$kind
    exits 0
    sum=$(cksum <s.$kind)
    run decide a.npz -o s.$kind
    fails_with 1 \
        "exists and is not a file of decisions that vargate wrote; choose another name, or replace it with --force"
    kept s.$kind "$sum"
    sum=$(cksum <d.$kind)
    run score a.npz -o d.$kind
    fails_with 1 "exists and is not a file of scores that vargate wrote"
    kept d.$kind "$sum"
    printf 'my notes\n' >notes.$kind
    run score a.npz -o notes.$kind
    fails_with 1 "--force"
    if [ "$(cat notes.$kind)" = "my notes" ]; then pass; else fail "notes.$kind is gone"; fi
    run score a.npz -q --force -o notes.$kind
    exits 0
    run score a.npz -q -o notes.$kind
    exits 0
    : >empty.$kind
    run score a.npz -q -o empty.$kind
    exits 0
done
cp a.npz other.npz
run score a.npz -o other.npz
fails_with 1 "other.npz: exists and is not a file of scores"
kept other.npz "$before"
run calibrate a.npz -q -o temps.json
exits 0
printf '{"temperatures": "my own"}\n' >mine.json
run calibrate a.npz -o mine.json
fails_with 1 "mine.json: exists and is not a file of temperatures"
run calibrate a.npz -q -o mine.json --force
exits 0
run report a.npz -q -o made --no-figures
exits 0
run report a.npz -q -o made --no-figures
exits 0
mkdir web
printf '<html>my site</html>\n' >web/report.html
run report a.npz -o web --no-figures
fails_with 1 "web/report.html: exists and is not a report page"
run report a.npz -q -o web --no-figures --force
exits 0
cd "$root" || exit 1
