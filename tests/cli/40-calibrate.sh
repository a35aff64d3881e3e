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
prints "one per member: median"
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

# Ends of the range: one warning however many members, the same range for both solvers, and a text for logits of any
# size.
i=0
while [ $i -lt 40 ]; do
    printf '{"z": [[0, 9], [0, 8], [0, 7]], "label": 1}\n{"z": [[9, 0], [8, 0], [7, 0]], "label": 0}\n'
    i=$((i + 1))
done >sure.jsonl
run calibrate sure.jsonl --solver both
exits 0
says "3 of 3 temperatures reached the lower end of their range, 0.01"
prints "no minimiser lies inside the range"
if [ "$(grep -c warning "$folder/err")" = 1 ]; then pass; else fail "more than one warning"; fi
# Half of the labels are wrong then.
sed 's/\[0, \([0-9]\)\]/[0, \1e20]/g; s/\[\([0-9]\), 0\]/[0, \1e20]/g' sure.jsonl >enormous.jsonl
run calibrate enormous.jsonl --json
exits 0
is_json
says "reached the upper end of their range, 10"
run calibrate sure.jsonl --t-min 1 --t-max 2 -q --json
prints "1.0"
run calibrate sure.jsonl --t-min 3 --t-max 2
fails_with 2 "--t-min 3 is not below --t-max 2"
run calibrate sure.jsonl --folds 1
fails_with 2 "--folds 1 leaves nothing"
# Members that are sure of different classes: each gains by its temperature, the mean loses, and that is said with
# figures.
i=0
while [ $i -lt 60 ]; do
    printf '{"z": [[4, 0, 0], [4, 0, 0], [0, 4, 0]], "label": 0}\n'
    printf '{"z": [[0, 4, 0], [0, 0, 4], [0, 4, 0]], "label": 1}\n'
    printf '{"z": [[0, 0, 4], [0, 0, 4], [4, 0, 0]], "label": 2}\n'
    i=$((i + 1))
done >apart.jsonl
run calibrate apart.jsonl
exits 0
says "on held-out samples the temperatures make the ensemble worse: NLL"
prints "held out"

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
