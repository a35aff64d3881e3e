# vargate calibrate: known minimisers, files that other commands take, refusals.
mkdir "$folder/calibrate"
cd "$folder/calibrate" || exit 1
ln -s "$root/data" data

# Logits (0, 2): three of four labels are class 1, so the fitted probability of class 1 is 3/4 and T = 2 / log 3.
for label in 1 1 1 0; do printf '{"z": [[0, 2]], "label": %d}\n' $label; done >four.jsonl
mkdir out
run calibrate four.jsonl -o out/temps.json --json
exits 0
says "wrote out/temps.json: 1 temperature"
is_json
leaves out temps.json
if cmp -s "$folder/out" out/temps.json; then pass; else fail "--json and the file differ"; fi
t=$(sed -n 's/.*"temperatures": *\[ *\([0-9.]*\).*/\1/p' out/temps.json | head -n 1)
near "${t:-$(tr -d '\n ' <out/temps.json | sed 's/.*"temperatures":\[\([0-9.]*\).*/\1/')}" 1.8204784532536746 1e-6
for key in solver nll_before nll_after ece_before ece_after; do
    prints "\"$key\""
done
run calibrate four.jsonl --solver both
exits 0
prints "NLL"
prints "gap"
run score four.jsonl --temperature out/temps.json -q -o scores.csv
exits 0
near "$(csv scores.csv mean_1 0)" 0.75 1e-6

# Several members: one temperature each, or one for all; every command takes the file.
run calibrate $example -q -o temps.json
exits 0
quiet
prints "one a member: median"
grep -v sweeps "$folder/out" >filtered
mv filtered "$folder/out"
matches calibrate-example.txt
for how in "score" "evaluate" "decide" "ood $example"; do
    run $how $example --temperature temps.json
    exits 0
done
run calibrate $example --shared -q
exits 0
prints "shared by all members"
run calibrate $example --solver bayes --evaluations 12 --seed 7 -q --json
exits 0
cp "$folder/out" first.json
run calibrate $example --solver bayes --evaluations 12 --seed 7 -q --json --threads 1
if cmp -s "$folder/out" first.json; then pass; else fail "another thread count gives other temperatures"; fi

# Refusals.
printf '{"p": [[0.75, 0.25]], "label": 0}\n' >probabilities.jsonl
run calibrate probabilities.jsonl -o out/new.json
fails_with 1 "holds probabilities"
printf '{"z": [[0, 2]]}\n' >unlabelled.jsonl
run calibrate unlabelled.jsonl -o out/new.json
fails_with 1 "no labels in it"
run calibrate missing.npz -o out/new.json
fails_with 1 "missing.npz"
printf '5\n0\n0\n0\n' >range.csv
run calibrate four.jsonl --labels range.csv -o out/new.json
fails_with 1 "label 5 of sample 0"
run calibrate four.jsonl -o missing/new.json
exits 1
says "missing/new.json"
leaves out temps.json
printf '{"temperatures": []}' >bad.json
run score four.jsonl --temperature bad.json
fails_with 1 "bad.json"
printf '{"temperatures": [1' >bad.json
run score four.jsonl --temperature bad.json
fails_with 1 "bad.json"
cd "$root" || exit 1
