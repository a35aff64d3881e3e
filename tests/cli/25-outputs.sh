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

# Files of vargate of the same kind are replaced by every command; those of another kind and other files are not.
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
# Figures: labels and temperatures are inputs too, and figures of one kind do not replace those of another.
awk 'BEGIN { print "label"; for (i = 0; i < 300; i++) print i % 10 }' >labels.csv
for name in evaluate compare; do
    sum=$(cksum <labels.csv)
    run $name a.npz --labels labels.csv -o labels.csv --force
    fails_with 1 "the output is the input labels.csv itself"
    kept labels.csv "$sum"
done
sum=$(cksum <temps.json)
for command_line in "evaluate a.npz" "ood a.npz other.npz" "compare a.npz other.npz"; do
    # shellcheck disable=SC2086
    run $command_line --temperature temps.json -o temps.json --force
    fails_with 1 "the output is the input temps.json itself"
    kept temps.json "$sum"
done
for kind in json csv; do
    run evaluate a.npz -q -o figures.$kind
    exits 0
    run evaluate a.npz -q -o figures.$kind
    exits 0
    run ood a.npz other.npz -o figures.$kind
    fails_with 1 "exists and is not a file of OOD figures"
    run ood a.npz other.npz -q -o far.$kind
    exits 0
    run ood a.npz other.npz -q -o far.$kind
    exits 0
    run evaluate a.npz -o far.$kind
    fails_with 1 "exists and is not a file of figures"
done
cp a.npz 1a.npz # the output of a.npz would be 1a.npz, which is an input as well
run score a.npz 1a.npz -o '1*.npz' --force
fails_with 1 "the output is the input 1a.npz itself"
kept 1a.npz "$before"
# --json beside -o prints as well.
run evaluate a.npz -q --json -o figures.csv
exits 0
prints '"command": "evaluate"'
run ood a.npz other.npz -q --json -o far.csv
exits 0
prints '"command": "ood"'
# decide writes both of its files or neither, and never one over the other.
mkdir pair
run decide a.npz --save ./pair/x.csv -o pair/x.csv
fails_with 2 "--save and -o both name ./pair/x.csv"
run decide a.npz --save pair/none/p.json -o pair/d.csv
fails_with 1 "cannot create a file in pair/none"
leaves pair ""
run decide a.npz -k 1 --save -
exits 0
if [ "$(tail -n 1 "$folder/out")" = "}" ]; then pass; else fail "more than a policy on standard output"; fi
run decide a.npz -o - --save -
fails_with 2 "both write to standard output"
run score a.npz -o a.txt
fails_with 2 "must end in .npz, .safetensors, .csv or .jsonl"
cd "$root" || exit 1
