# -k FILE and --class-k FILE: a k for every class in score, decide, evaluate, ood, report, policies and streams.
mkdir "$folder/class-k"
cd "$folder/class-k" || exit 1
ln -s "$root/data" data
echo '{"k": [2, 2, 2, 2, 2, 2, 2, 2, 2, 2]}' >same.json
echo '{"k": [2]}' >one.json
echo '{"k": [0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 13, 21]}' >k.json

# The same k for every class is that k, in every measure and decision.
columns='gtu gau geu gepce gepkl gepjs decision'
run score $example -k 2 -q -o plain.csv
for file in same one; do
    run score $example -k $file.json -q -o $file.csv
    exits 0
    if awk -F, -v names="$columns" '
        FNR == 1 { split(names, list, " "); for (i = 1; i <= NF; i++) at[NR == FNR, $i] = i; next }
        NR == FNR { for (n in list) was[FNR, n] = $at[1, list[n] "@2"]; next }
        { for (n in list) { d = was[FNR, n] - $at[0, list[n] "@1"]; if (d > 1e-6 || d < -1e-6) exit 1 } }
    ' plain.csv $file.csv; then pass; else fail "$file.json is not k = 2"; fi
done
run score $example --class-k same.json -k 0.5,1 -q -o halves.csv
exits 0
if head -n 1 halves.csv | grep -q 'gtu@0.5,gtu@1'; then pass; else fail "multiples of the ks are not named"; fi

# One k for each class: the rule of evaluate, decide, a policy and a stream is one rule.
run evaluate $example -k k.json --json
exits 0
coverage=$(json rule 1 coverage)
run decide $example -k k.json --save policy.json --json
exits 0
near "$(json coverage)" "$coverage"
run decide $example --class-k k.json -k 1 -q -o decisions.csv
exits 0
run decide $example --policy policy.json -o again.csv --json
exits 0
prints "times the k of each class"
if cmp -s decisions.csv again.csv; then pass; else fail "the policy decides otherwise"; fi
run decide $example --policy policy.json --class-k k.json
fails_with 2 "does not go with it"
printf '{"id": 0, "p": [[0.6, 0.4], [0.8, 0.2]]}\n' >lines.jsonl # 0.7 - k 0.1 > 0.3 + k 0.1: k1 + k2 < 4
echo '{"k": [1, 2.9]}' >keeps.json
echo '{"k": [1, 3.1]}' >abstains.json
run_on lines.jsonl decide --stdin-jsonl -k keeps.json
exits 0
prints '"decision":0'
run_on lines.jsonl decide --stdin-jsonl -k abstains.json
exits 0
prints '"decision":-1'
run decide $example --calibration $example --target-risk 0.1 --by k -k k.json
exits 0
prints "--class-k k.json"
run score $example -k k.json -q -o scores.npz
exits 0
run report scores.npz -o of-scores --no-figures
exits 0
run sets $example --calibration $example --gated k.json -q --json
exits 0
threshold=$(json alphas 0 threshold)
run sets $example --calibration $example --gated 1 --class-k k.json -q --json
if [ "$(json alphas 0 threshold)" = "$threshold" ]; then pass; else fail "--gated k.json is not --class-k at 1"; fi
run sets $example --calibration $example --gated 1,2
fails_with 2 "--gated: 2 values"
run report $example -k k.json -o of-predictions --no-figures
exits 0
run ood $example $example -k k.json --json
exits 0
is_json

# What cannot be.
echo '{"k": [1, 2, 3]}' >three.json
run score $example -k three.json
fails_with 1 "three.json: a k for each of 3 classes"
echo '{"k": [1, 0, 1, 1, 1, 1, 1, 1, 1, 1]}' >zero.json
run score $example -k zero.json
fails_with 1 "k[1] is 0"
echo '{"temperatures": [1]}' >temps.json
run score $example -k temps.json
fails_with 1 'key "k" holds nothing'
run score $example -k missing.json
fails_with 1 "missing.json"
run score $example -k k.json --class-k same.json
fails_with 2 "both name a file"
run decide $example -k 1,2
fails_with 2 "one k"
# A k for every label as numbers: the decisions of a file with the same.
multi=$root/data/example-multilabel.npz
echo '{"k": [1, 2, 0.5, 1, 3, 1]}' >"$folder/labels-k.json"
run decide "$multi" --multilabel -k 1 --class-k "$folder/labels-k.json" -q -o "$folder/by-file.csv"
exits 0
run decide "$multi" --multilabel -k 1 --class-k 1,2,0.5,1,3,1 -q -o "$folder/by-numbers.csv"
exits 0
if cmp -s "$folder/by-file.csv" "$folder/by-numbers.csv"; then pass; else fail "numbers and file differ"; fi
run decide "$multi" --multilabel -k 1 -q -o "$folder/by-one.csv"
if cmp -s "$folder/by-one.csv" "$folder/by-numbers.csv"; then fail "a k per label changes nothing"; else pass; fi
run report "$multi" --multilabel -k 1 --class-k 1,2,0.5,1,3,1 -q --no-figures -o "$folder/by-label"
exits 0
run decide "$multi" --multilabel --class-k 1,2
fails_with 1 "1,2: a k for each of 2 labels"
run decide "$multi" --multilabel --class-k 1,2,0,1,3,1
fails_with 1 "a k for every class: number 3 is 0, expected a finite number > 0"
# The words of a decision say that k is a multiple of the k of each class, also where a policy keeps it.
run fit-k $example -q -o words.json
run decide $example -k words.json --save words-policy.json
prints "300 samples, k = 1 times the k of each class"
run decide $example --policy words-policy.json
prints "300 samples, k = 1 times the k of each class"
run decide $example -k 1
prints_not "times the k"
cd "$root" || exit 1
