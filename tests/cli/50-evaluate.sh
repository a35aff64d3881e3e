# vargate evaluate and vargate ood: hand-checked figures, documented keys, the shipped example.
mkdir "$folder/evaluate"
cd "$folder/evaluate" || exit 1
ln -s "$root/data" data

# Four samples, one member: three right; the wrong one is the least certain, so ranking by TU is perfect.
cat >four.jsonl <<'END'
{"p": [[0.9, 0.1]], "label": 0}
{"p": [[0.2, 0.8]], "label": 1}
{"p": [[0.7, 0.3]], "label": 0}
{"p": [[0.6, 0.4]], "label": 1}
END
run evaluate four.jsonl --json -k 1
exits 0
is_json
near "$(json n)" 4
near "$(json accuracy)" 0.75
near "$(json f1_macro)" 0.7333333333333333
near "$(json nll)" 0.4003674356962309 1e-9
near "$(json brier)" 0.25 1e-9
near "$(json ece)" 0.3 1e-9
near "$(json mce)" 0.6 1e-9
near "$(json measures tu error_auroc)" 1
near "$(json measures tu error_aupr)" 1
near "$(json measures tu aurc)" 0.0625
near "$(json measures tu eaurc)" 0
near "$(json measures gmu error_auroc)" 1
near "$(json measures snr error_auroc)" 1
near "$(json measures gtu@1 error_auroc)" 1
near "$(json measures eu error_auroc)" 0.5
near "$(json rule 1 coverage)" 1
near "$(json rule 1 accuracy)" 0.75
near "$(json measures tu risk_at_coverage 0.8)" 0.25
near "$(json measures tu coverage_at_risk 0.01)" 0.75
for key in ece_adaptive ece_classwise per_class confusion reliability best augrc; do
    prints "\"$key\""
done
prints "[2,0]"
prints "[1,1]"
run evaluate $example
exits 0
quiet
matches evaluate-example.txt
# A first look fits 80 columns, with intervals too; --all shows every measure.
for how in "" "--bootstrap 50"; do
    # shellcheck disable=SC2086
    run evaluate $example $how
    exits 0
    if awk 'length > 80 { exit 1 }' "$folder/out"; then pass; else fail "a line is wider than 80 columns"; fi
    prints "measures; --all shows every measure"
done
# Intervals in every table: of the data set, the measures, the rule, the classes.
if [ "$(grep -c '95 % interval' "$folder/out")" -ge 4 ]; then pass; else fail "a table has no intervals"; fi
run evaluate $example --all
exits 0
for name in gepkl@3 gau@1 E-AURC risk@95% cov@5%risk; do prints "$name"; done
prints_not "6 of 26 measures"
# Names of classes, in the table and in JSON; what abstaining costs each.
cat >named.csv <<'END'
id,label,cat,dog
a,cat,0.9,0.1
b,dog,0.2,0.8
c,cat,0.7,0.3
d,dog,0.6,0.4
END
run evaluate named.csv
exits 0
if grep -q '^  cat  *2  *100.00 %  *66.67 %  *0.8 ' "$folder/out"; then pass; else fail "no row of the class cat"; fi
prints "1 error is too few to tell which measure finds them best."
run evaluate named.csv --json
exits 0
prints '"name": "dog"'
prints '"verdict": "one-member"'
# The words agree with the figures.
run evaluate $example
prints "No measure is clearly best at finding errors: gepce@2"
prints "Not calibrated, overconfident: mean confidence 96.78 %"
prints "Use k = 1: at another, k = 3"
prints "Abstaining at k = 1 on 4.67 %" # at the k that is advised
run evaluate $example --json
exits 0
is_json
cp "$folder/out" plain.json
near "$(json lead p_corrected)" 1
prints '"choice": "tu"'
run evaluate $example --json --threads 1
if cmp -s "$folder/out" plain.json; then pass; else fail "another thread count gives other figures"; fi
run score $example --json
coverage=$(json rule 2 coverage)
run evaluate $example --json
near "$(json rule 2 coverage)" "$coverage"
run evaluate $example --json --sigma sample --measures gmu
coverage=$(json rule 2 coverage)
run score $example --json --sigma sample --measures decision
near "$(json rule 2 coverage)" "$coverage"
run evaluate $example --json --bootstrap 50 --seed 3 --measures tu,gmu --curve 10
exits 0
is_json
prints '"intervals"'
prints '"curve"'
cp "$folder/out" first.json
run evaluate $example --json --bootstrap 50 --seed 3 --measures tu,gmu --curve 10 --threads 1
if cmp -s "$folder/out" first.json; then pass; else fail "another thread count gives other intervals"; fi
run evaluate $example --bootstrap 50
exits 0
prints "95 % interval"
prints "95 % intervals:"
prints "a perfectly calibrated model would show 0.0208"
prints "MCE comes from a bin of 3 rows"
prints "16 errors: with fewer than 30"

# Every interval holds its figure; what has none has no key; the test of calibration is there without a bootstrap.
run evaluate $example --json --measures tu
near "$(json ece_expected)" 0.0208 0.0001
near "$(json ece_p_value)" 0.0075 0.003
near "$(json ece_debiased)" 0.0165 0.0001
near "$(json mce_rows)" 3
near "$(json errors)" 16
run evaluate $example --json --bootstrap 50 --measures tu
prints '"accuracy": [0.913'
prints '"0.8": [0.0,'
if grep -q '"0.05": \[0\.[0-9]*,1\.0\]' "$folder/out"; then pass; else
    fail "coverage at a risk of 0.05 has no interval up to 1"
fi
if grep -A8 '^  "intervals"' "$folder/out" | grep -q '"mce"\|"ece_classwise"\|"ece_adaptive"'; then
    fail "MCE or classwise ECE has an interval"
else pass; fi

# Six in ten right at confidence 0.6: perfect calibration, said plainly.
i=0
while [ $i -lt 200 ]; do
    printf '{"p": [[0.6, 0.4]], "label": %d}\n' $((i % 5 < 2))
    i=$((i + 1))
done >calibrated.jsonl
run evaluate calibrated.jsonl
exits 0
prints "ECE 0.0000 is no larger than a perfectly calibrated model would show"
run evaluate two.jsonl
fails_with 1 "two.jsonl"
printf '{"p": [[0.9, 0.1]]}\n' >unlabelled.jsonl
run evaluate unlabelled.jsonl
fails_with 1 "give --labels"
printf '%s\n' '{"p": [[0.9, 0.2], [0.7, 0.4]], "label": [1, 0]}' '{"p": [[0.8, 0.9], [0.9, 0.6]], "label": [0, 1]}' \
    >multi.jsonl
run evaluate multi.jsonl --multilabel --json
exits 0
is_json
near "$(json accuracy)" 0.75
near "$(json subset_accuracy)" 0.5
prints '"per_label"'
run evaluate multi.jsonl --multilabel
exits 0
prints "Per label:"

# OOD: one set that every measure separates, the same set twice, several sets.
cat >id.jsonl <<'END'
{"p": [[0.98, 0.02], [0.97, 0.03]]}
{"p": [[0.03, 0.97], [0.04, 0.96]]}
END
cat >far.jsonl <<'END'
{"p": [[0.9, 0.1], [0.3, 0.7]]}
{"p": [[0.2, 0.8], [0.6, 0.4]]}
{"p": [[0.4, 0.6], [0.7, 0.3]]}
END
run ood id.jsonl far.jsonl --json
exits 0
is_json
near "$(json ood far measures tu auroc)" 1
near "$(json ood far measures tu aupr_out)" 1
near "$(json ood far measures tu aupr_in)" 1
near "$(json ood far measures gtu@2 fpr95)" 0
near "$(json ood far measures snr auroc)" 1
near "$(json ood far measures tu detection_error)" 0
near "$(json ood far n)" 3
near "$(json id n)" 2
prints '"positive": "ood"'
run ood id.jsonl id.jsonl --json
near "$(json ood id measures tu auroc)" 0.5
near "$(json ood id measures tu aupr_out)" 0.5 0.1
cp far.jsonl other.jsonl
mkdir again
cp id.jsonl again/far.jsonl
run ood id.jsonl far.jsonl other.jsonl again/far.jsonl --json
exits 0
is_json
near "$(json ood far measures tu auroc)" 1
near "$(json ood other measures tu auroc)" 1
near "$(json ood far-2 measures tu auroc)" 0.5
run ood id.jsonl far.jsonl --json --bootstrap 40
if grep -q '"auroc": \[0\.[0-9]*,1\.0\]' "$folder/out"; then pass; else
    fail "perfect separation has no interval below 1"
fi
if grep -A9 '"intervals"' "$folder/out" | grep -q '"detection_error"'; then
    fail "detection error has an interval"
else pass; fi
run ood id.jsonl far.jsonl --bootstrap 40
exits 0
prints "95 % intervals:"
run ood id.jsonl far.jsonl
exits 0
prints "OOD is the positive class"
prints_not "* best: AUROC " # every measure separates them: none is best
run ood multi.jsonl multi.jsonl --multilabel --json
exits 0
near "$(json ood multi measures tu_max auroc)" 0.5
prints '"gtu_max@1"'
prints '"snr_min"'
printf '{"p": [[0.9, 0.05, 0.05]]}\n' >three.jsonl
run ood id.jsonl three.jsonl
fails_with 1 "3 classes, the in-distribution file has 2"
run ood id.jsonl missing.npz
fails_with 1 "missing.npz"
# Everything is wrong: that is said, and not that the errors are too few.
awk 'BEGIN { for (i = 0; i < 60; i++) print "{\"p\": [[0.9, 0.1], [0.8, 0.2]], \"label\": 1}" }' >wrong.jsonl
run evaluate wrong.jsonl
exits 0
prints "every prediction is an error"
# Of two classes and one member TU and the largest probability rank alike: neither is a rival of the other.
awk 'BEGIN {
    for (i = 0; i < 200; i++) {
        a = 0.5 + (i * 37 % 100) / 220
        printf "{\"p\": [[%.3f, %.3f]], \"label\": %d}\n", a, 1 - a, ((i * 61 % 100) / 100 > a)
    }
}' >two.jsonl
run evaluate two.jsonl
exits 0
prints_not "by 0.0000"
cd "$root" || exit 1
