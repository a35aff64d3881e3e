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
    { print NR == 1 ? "id" : $1, $at["pred"], NR == 1 ? "decision" : $at["decision@2"], $at["gmu"], $at["snr"] }
' OFS=, scores.csv >expected.csv
if cmp -s decisions.csv expected.csv; then pass; else fail "decisions are not those of score at that k"; fi
run decide $example -k 2 -q -o decisions.jsonl
exits 0
if [ "$(wc -l <decisions.jsonl)" -eq 300 ]; then pass; else fail "not 300 lines"; fi
line='^{"id":0,"pred":[0-9],"decision":-\{0,1\}[0-9],"gmu":[0-9.e-]*,"snr":[0-9.e+-]*}$'
if head -n 1 decisions.jsonl | grep -q "$line"; then pass; else
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
fails_with 2 "not a positive number"

# A threshold of a measure.
run decide $example --by gmu --threshold 0.1 -q -o gmu.csv
exits 0
prints "gmu < 0.1"
if awk -F, 'NR > 1 && ($3 != ($4 < 0.1 ? $2 : -1)) { exit 1 }' gmu.csv; then pass; else
    fail "decisions do not follow gmu"
fi
run decide $example --by snr --threshold 3 -q -o snr.csv
exits 0
if awk -F, 'NR > 1 && ($3 != ($5 > 3 ? $2 : -1)) { exit 1 }' snr.csv; then pass; else
    fail "decisions do not follow snr"
fi
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
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.05 --by k --json -o chosen.csv
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
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.0001 --by k -o out/never.csv
fails_with 1 "no k meets a risk of 0.0001"
says "best reachable is k = "
leaves out ""
says "cannot show it: even without an error it takes 36887 answered ones, at the risks found here about "
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.0001 --by gmu
fails_with 1 "best reachable is gmu < "
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.0001 --by gmu,k
fails_with 1 "no threshold of the measures in --by meets"
# The file itself as its own calibration: part of it is set aside, the rest is tested.
run decide validation.jsonl --calibration validation.jsonl --target-risk 0.05 --by k --json
prints '"thresholds": "set-aside"'
prints '"unit": "sample"'
prints '"bound": "clopper-pearson"'
near "$(json calibration set_aside)" 80
near "$(json calibration n)" 320
# Others to be decided place the thresholds, and all validation samples are tested.
sed 's/0\.99, 0\.01/0.97, 0.03/; s/, "label": [01]//' validation.jsonl | head -n 200 >todecide.jsonl
run decide todecide.jsonl --calibration validation.jsonl --target-risk 0.05 --by k --json
exits 0
prints '"thresholds": "unlabelled"'
near "$(json calibration set_aside)" 0
near "$(json calibration n)" 400
near "$(json calibration samples)" 400
run decide todecide.jsonl --calibration validation.jsonl --target-risk 0.05 --by k
prints "unit: the sample"
prints "quantiles of the predictions to be decided"
prints "The same again: vargate decide todecide.jsonl -k "
again=$(sed -n 's/^The same again: vargate //p' "$folder/out")
kept=$(grep '^kept' "$folder/out")
# shellcheck disable=SC2086
run $again
exits 0
prints "$kept"
# Several candidates share the level.
run decide todecide.jsonl --calibration validation.jsonl --target-risk 0.05 --by k,gmu,gtu@1,gtu@2 --json
exits 0
near "$(json calibration candidates)" 4
level=$(json calibration level)
if awk -v l="$level" 'BEGIN { exit !(l > 0 && l <= 0.0125 + 1e-12) }'; then pass; else
    fail "level $level of 0.05 for one of 4"
fi
run decide todecide.jsonl --calibration validation.jsonl --target-coverage 0.5 --by k,gmu
fails_with 2 "several candidates need --target-risk"
run decide todecide.jsonl --by k,gmu -k 1
fails_with 2 "several candidates need --target-risk"
run decide todecide.jsonl --calibration validation.jsonl --target-risk 0.05 --by gmu,gmu
fails_with 2 "gmu is named twice"
run decide todecide.jsonl --calibration validation.jsonl --target-risk 0.05 --by gmu,
fails_with 2 "unknown measure ''"
# Margins of many spreads: there is no largest k.
i=0
while [ $i -lt 400 ]; do
    if [ $((i % 10)) -eq 0 ]; then
        echo '{"p": [[0.990001, 0.009999], [0.99, 0.01]], "label": 1}'
    else
        echo '{"p": [[0.99000000001, 0.00999999999], [0.99, 0.01]], "label": 0}'
    fi
    i=$((i + 1))
done >close.jsonl
run decide close.jsonl --calibration close.jsonl --target-risk 0.05 --by k --json
exits 0
near "$(json coverage)" 0.9
if awk -v k="$(json k)" 'BEGIN { exit !(k > 1e6) }'; then pass; else fail "k $(json k)"; fi
# Labels of the validation data in a file of their own; a coverage needs none.
sed 's/, "label": [01]//' validation.jsonl >bare.jsonl
sed 's/.*"label": \([01]\).*/\1/' validation.jsonl >labels.csv
run decide bare.jsonl --calibration bare.jsonl --labels labels.csv --target-risk 0.05 --by k --json
exits 0
near "$(json coverage)" 0.9
prints_not '"accuracy"'
run decide bare.jsonl --calibration bare.jsonl --target-risk 0.05
fails_with 1 "no labels in it"
run decide bare.jsonl --calibration bare.jsonl --target-coverage 0.9 --json
exits 0
prints_not '"risk"'
# Multilabel: one decision per label.
printf '{"p": [[0.9, 0.5], [0.8, 0.5]]}\n' >multi.jsonl
run decide multi.jsonl --multilabel -q -o multi.csv
exits 0
if [ "$(head -n 1 multi.csv)" = "id,pred_0,pred_1,decision_0,decision_1,gmu_0,gmu_1,snr_0,snr_1" ]; then pass; else
    fail "$(head -n 1 multi.csv)"
fi
near "$(csv multi.csv decision_0 0)" 1
near "$(csv multi.csv decision_1 0)" -1
run decide multi.jsonl --multilabel -q -o multi-decisions.jsonl
if grep -q '^{"id":0,"pred":\[1,0\],"decision":\[1,-1\],' multi-decisions.jsonl; then pass; else
    fail "$(cat multi-decisions.jsonl)"
fi
# Multilabel risk: the unit is the sample, 300 of them with four labels each, of which the last is always undecided and
# wrong.
i=0
while [ $i -lt 300 ]; do
    echo '{"p": [[0.9, 0.1, 0.95, 0.55], [0.92, 0.12, 0.94, 0.5], [0.91, 0.1, 0.95, 0.52]], "label": [1, 0, 1, 0]}'
    i=$((i + 1))
done >many.jsonl
run decide many.jsonl --multilabel --calibration many.jsonl --target-risk 0.05 --by k --json
exits 0
near "$(json coverage)" 0.75
near "$(json kept_accuracy)" 1
near "$(json calibration samples)" 240
near "$(json calibration answered)" 240
near "$(json calibration n)" 960
near "$(json calibration errors)" 0
prints_not '"bound": "clopper-pearson"'
# A k for every label: the last label is undecided and wrong, and no risk of it can be promised.
run decide many.jsonl --multilabel --calibration many.jsonl --label-risk 0.05
fails_with 1 "label 3: no k meets a risk of 0.05 with 95 % confidence"
sed 's/0, 1, 0]/0, 1, 1]/' many.jsonl >right.jsonl
run decide right.jsonl --multilabel --calibration right.jsonl --label-risk 0.2,0.1,0.05,0.05 --save labels.json --json
exits 0
is_json
near "$(json coverage)" 1
near "$(json labels 0 target_risk)" 0.2
near "$(json labels 0 errors)" 0
valid decide "$folder/out"
valid policy labels.json
run decide right.jsonl --policy labels.json --json
near "$(json coverage)" 1
prints '"k": 1.0'
run decide right.jsonl --multilabel --calibration right.jsonl --label-risk 0.05
prints "a k for every label"
for option in "--label-risk 0.1,0.2" "--label-risk 1" "--label-risk 0.1 -k 1" "--label-risk 0.1 --class-k 1,1,1,1"; do
    # shellcheck disable=SC2086
    run decide right.jsonl --multilabel --calibration right.jsonl $option
    fails_with 2 "--label-risk"
done
run decide $example --calibration $example --label-risk 0.1
fails_with 2 "it goes with --multilabel"
run decide right.jsonl --multilabel --label-risk 0.1
fails_with 2 "--label-risk needs --calibration"
# Validation data of another ensemble: nothing can be promised, whatever the target.
for line in 1 2 3 4 5 6; do echo '{"p": [[0.9, 0.1], [0.8, 0.2]], "label": 0}'; done >narrow.jsonl
for target in "--target-risk 0.5" "--target-coverage 0.5"; do
    # shellcheck disable=SC2086
    run decide "$example" --calibration narrow.jsonl $target -o shape.csv
    exits 1
    says "100 members and 10 classes, the validation file narrow.jsonl has 2 and 2"
    if [ -e shape.csv ]; then fail "decisions are left"; else pass; fi
done
run decide many.jsonl --multilabel --calibration many.jsonl --target-risk 0.05
prints "its risk the share of errors among its kept labels"

# Without --by: a search. 54 ways on logits, 3 of them tested, and the line that is printed repeats the choice.
awk -v seed=7 "$uniform"'BEGIN {
    for (f = 1; f <= 2; f++) for (i = 0; i < 1500; i++) {
        s = 6 * uniform(); y = int(3 * uniform()); line = ""
        for (m = 0; m < 3; m++) {
            line = line (m ? "," : "") "["
            for (c = 0; c < 3; c++) line = line (c ? "," : "") sprintf("%.4f", 3 * (uniform() - 0.5) + (c == y ? s : 0))
            line = line "]"
        }
        print "{\"z\":[" line "],\"label\":" y "}" >(f == 1 ? "val.jsonl" : "new.jsonl")
    } }'
run decide new.jsonl --calibration val.jsonl --target-risk 0.02 --sigma sample
exits 0
prints "Searched: 54 ways to decide on 300 validation samples, 3 of them tested on the others."
prints "with 95 % confidence at most 2 % of what is kept is wrong."
again=$(sed -n 's/^The same again: vargate //p' "$folder/out")
kept=$(grep '^kept' "$folder/out")
case $again in
*"--sigma sample"*) pass ;;
*) fail "'$again' does not say how the measures are computed" ;;
esac
# shellcheck disable=SC2086
run $again
exits 0
prints "$kept"
# The line holds for names that a shell would split, and for options that say how the file is read.
mkdir "two words"
sed 's/"z"/"out"/' new.jsonl >"two words/it's.jsonl"
sed 's/"z"/"out"/' val.jsonl >"two words/val.jsonl"
for save in "" "--save p.json"; do
    # shellcheck disable=SC2086
    run decide "two words/it's.jsonl" --calibration "two words/val.jsonl" --target-risk 0.02 --key out --logits \
        $save -o first.csv --force
    exits 0
    again=$(sed -n 's/.*he same again: vargate //p' "$folder/out")
    command="sh: $again"
    (eval "\"$vargate\" $again -o second.csv --force") >"$folder/out" 2>"$folder/err"
    code=$?
    exits 0
    if cmp -s first.csv second.csv; then pass; else fail "the line decides otherwise"; fi
done
# A policy in a file: the same decisions, for a file and for a stream; other members are refused.
run decide new.jsonl --calibration val.jsonl --target-risk 0.02 --sigma sample --save policy.json -o searched.csv -q
exits 0
prints "$kept"
prints "decide new.jsonl --policy policy.json"
run decide new.jsonl --policy policy.json -o again.csv
exits 0
prints "$kept"
if cmp -s searched.csv again.csv; then pass; else fail "the policy's file decides otherwise"; fi
sed 's/^{/{"id":7,/' new.jsonl >lines.jsonl
run_on lines.jsonl decide --stdin-jsonl --policy policy.json
exits 0
sed 's/.*"decision":\(-*[0-9]*\).*/\1/' "$folder/out" >stream.txt
awk -F, 'NR > 1 { print $3 }' again.csv >file.txt
if cmp -s stream.txt file.txt; then pass; else fail "the stream decides otherwise than the file"; fi
sed 's/"p"/"z"/' todecide.jsonl >narrow-logits.jsonl
run decide narrow-logits.jsonl --policy policy.json
fails_with 1 "3 members and 2 classes, the policy policy.json has 3 and 3"
run decide new.jsonl --policy policy.json --target-risk 0.02 --calibration val.jsonl
fails_with 2 "--policy says what decides"
run decide new.jsonl --policy policy.json --log-base 2
fails_with 2 "another 'log_base'"
run decide new.jsonl --policy val.jsonl
fails_with 1 "val.jsonl: not a policy"
run decide new.jsonl --policy none.json
fails_with 1 "none.json: cannot open"
run decide new.jsonl -k 1 --save val.jsonl
fails_with 1 "is not a policy that vargate wrote"
run decide new.jsonl -k 1 --save new.jsonl
fails_with 1 "the output is the input"
run_on lines.jsonl decide --stdin-jsonl -k 1 --save p.json
fails_with 2 "of a stream are not known beforehand"
# Nothing meets it: why, and how many samples it would take.
run decide new.jsonl --calibration val.jsonl --target-risk 0.0001 --save never.json
fails_with 1 "none of 54 ways to decide"
says "validation samples cannot show it: even without an error it takes"
if [ -e never.json ]; then fail "a policy that meets nothing is kept"; else pass; fi
cd "$root" || exit 1
