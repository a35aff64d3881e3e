# vargate decide: the rule, thresholds, choices on validation data, files.
mkdir "$folder/decide"
cd "$folder/decide" || exit 1
ln -s "$root/data" data

run decide $example
exits 0
quiet
matches decide-example.txt
run score $example -k 2 -q -o scores.csv
run decide $example -k 2 -q -o decisions.csv
exits 0
prints "k = 2"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    { print NR == 1 ? "id" : $1, $at["pred"], NR == 1 ? "decision" : $at["decision@2"], $at["gmu"], $at["snr"] }' OFS=, scores.csv >expected.csv
if cmp -s decisions.csv expected.csv; then pass; else fail "decisions are not those of score at that k"; fi
run decide $example -k 2 -q -o decisions.jsonl
exits 0
if [ "$(wc -l <decisions.jsonl)" -eq 300 ]; then pass; else fail "not 300 lines"; fi
if head -n 1 decisions.jsonl | grep -q '^{"id":0,"pred":[0-9],"decision":-\{0,1\}[0-9],"gmu":[0-9.e-]*,"snr":[0-9.e+-]*}$'; then pass; else
    fail "$(head -n 1 decisions.jsonl)"
fi
run decide $example -k 2 -q -o decisions.npz
exits 0
if [ -s decisions.npz ]; then pass; else fail "no decisions.npz"; fi
run decide $example -k 2 --json
exits 0
is_json
near "$(json k)" 2
coverage=$(json coverage)
run evaluate $example -k 2 --json
near "$(json rule 2 coverage)" "$coverage"
run decide $example -k 0
fails_with 1 "not a positive number"

# A threshold of a measure.
run decide $example --by gmu --threshold 0.1 -q -o gmu.csv
exits 0
prints "gmu < 0.1"
if awk -F, 'NR > 1 && ($3 != ($4 < 0.1 ? $2 : -1)) { exit 1 }' gmu.csv; then pass; else fail "decisions do not follow gmu"; fi
run decide $example --by snr --threshold 3 -q -o snr.csv
exits 0
if awk -F, 'NR > 1 && ($3 != ($5 > 3 ? $2 : -1)) { exit 1 }' snr.csv; then pass; else fail "decisions do not follow snr"; fi
run decide $example --by gtu@2 --threshold 0.05 --json
exits 0
prints '"by": "gtu@2"'

# Chosen on validation data. 400 samples, the 40 with the smaller margin wrong: Clopper-Pearson at 0 errors in 360.
i=0
while [ $i -lt 400 ]; do
    if [ $((i % 10)) -eq 0 ]; then
        echo '{"p": [[0.55, 0.45], [0.45, 0.55], [0.56, 0.44]], "label": 1}'
    else
        echo '{"p": [[0.99, 0.01], [0.98, 0.02], [0.99, 0.01]], "label": 0}'
    fi
    i=$((i + 1))
done >validation.jsonl
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.05 --json -o chosen.csv
exits 0
is_json
near "$(json coverage)" 0.9
near "$(json kept_accuracy)" 1
near "$(json calibration errors)" 0
near "$(json abstained_errors)" 40
bound=$(json calibration risk_bound)
if awk -v b="$bound" 'BEGIN { exit !(b > 0 && b <= 0.05) }'; then pass; else fail "risk bound $bound"; fi
for by in snr gmu tu gtu@1; do
    run decide validation.jsonl --calibration validation.jsonl --target-risk 0.05 --by $by --json
    exits 0
    near "$(json kept_accuracy)" 1
done
run decide validation.jsonl --calibration validation.jsonl --target-coverage 0.9 --json
exits 0
near "$(json coverage)" 0.9
run decide validation.jsonl --calibration validation.jsonl --target-coverage 1 --by gmu --json
exits 0
near "$(json coverage)" 1
mkdir out
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.0001 -o out/never.csv
fails_with 1 "no k meets a risk of 0.0001"
says "best reachable is k = "
leaves out ""
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.0001 --by gmu
fails_with 1 "best reachable is gmu < "
# Labels of the validation data in a file of their own; a coverage needs none.
sed 's/, "label": [01]//' validation.jsonl >bare.jsonl
sed 's/.*"label": \([01]\).*/\1/' validation.jsonl >labels.csv
run decide bare.jsonl --calibration bare.jsonl --labels labels.csv --target-risk 0.05 --json
exits 0
near "$(json coverage)" 0.9
prints_not '"accuracy"'
run decide bare.jsonl --calibration bare.jsonl --target-risk 0.05
fails_with 1 "no labels in it"
run decide bare.jsonl --calibration bare.jsonl --target-coverage 0.9 --json
exits 0
prints_not '"risk"'
# Multilabel: one decision a label.
printf '{"p": [[0.9, 0.5], [0.8, 0.5]]}\n' >multi.jsonl
run decide multi.jsonl --multilabel -q -o multi.csv
exits 0
if [ "$(head -n 1 multi.csv)" = "id,pred_0,pred_1,decision_0,decision_1,gmu_0,gmu_1,snr_0,snr_1" ]; then pass; else fail "$(head -n 1 multi.csv)"; fi
near "$(csv multi.csv decision_0 0)" 1
near "$(csv multi.csv decision_1 0)" -1
run decide multi.jsonl --multilabel -q -o multi-decisions.jsonl
if grep -q '^{"id":0,"pred":\[1,0\],"decision":\[1,-1\],' multi-decisions.jsonl; then pass; else fail "$(cat multi-decisions.jsonl)"; fi
cd "$root" || exit 1
