# vargate score: hand-computable cases, the shipped example, all kinds of output.
mkdir "$folder/score"
cd "$folder/score" || exit 1
ln -s "$root/data" data

# Two members that are certain of different classes; two that agree.
npy two.npy '<f4' '2, 2, 2'
floats32 1 0 0 1 .75 .25 .75 .25 >>two.npy
run score two.npy -k 1 -o two.csv
exits 0
silent
says "wrote two.csv: 2 samples"
log2=0.6931471805599453
near "$(csv two.csv tu 0)" $log2
near "$(csv two.csv au 0)" 0
near "$(csv two.csv eu 0)" $log2 1e-6
near "$(csv two.csv epjs 0)" 0.34657359027997264 1e-6
near "$(csv two.csv gmu 0)" 1
near "$(csv two.csv snr 0)" 0
near "$(csv two.csv gtu@1 0)" $log2
near "$(csv two.csv decision@1 0)" -1
near "$(csv two.csv pred 0)" 0
near "$(csv two.csv second 0)" 1
near "$(csv two.csv mean_1 0)" 0.5
near "$(csv two.csv std_1 0)" 0.5
near "$(csv two.csv flags 0)" 2
near "$(csv two.csv tu 1)" 0.5623351446188083 1e-6
near "$(csv two.csv eu 1)" 0
near "$(csv two.csv gmu 1)" 0.25 1e-6
near "$(csv two.csv decision@1 1)" 0
near "$(csv two.csv diversity 1)" 0.125
run score two.npy -k 1 -q -o two.jsonl
exits 0
quiet
if [ "$(wc -l <two.jsonl)" -eq 2 ]; then pass; else fail "not two lines"; fi
expected='^{"n":0,"tu":0.69314718055994529,.*"gtu":\[0.693147.*"decision":\[-1\],"mean":\[0.5,0.5\],"std":\[0.5,0.5\]'
if grep -q "$expected"',"flags":2,"k":\[1\]' two.jsonl; then
    pass
else
    fail "two.jsonl: $(head -n 1 two.jsonl)"
fi

# The same bytes on standard input, through a file and through a pipe.
run_on two.npy score - -k 1 -q -o stdin.csv
exits 0
if cmp -s two.csv stdin.csv; then pass; else fail "standard input gives other scores"; fi
cat two.npy | "$vargate" score - -k 1 -q -o pipe.csv
if cmp -s two.csv pipe.csv; then pass; else fail "a pipe gives other scores"; fi

# The shipped example, as text, JSON and files; the same from columns kept in memory or in a temporary file.
run score $example
exits 0
quiet
matches score-example.txt
run score $example --json
exits 0
is_json
matches score-example.json
cp "$folder/out" example.json
VARGATE_SPOOL_BYTES=0 run score $example --json
exits 0
if cmp -s "$folder/out" example.json; then pass; else fail "columns in a file give another summary"; fi
run score $example --json --threads 1
if cmp -s "$folder/out" example.json; then pass; else fail "one thread gives another summary"; fi
for kind in npz csv jsonl safetensors; do
    run score $example -q -o memory.$kind
    exits 0
    VARGATE_SPOOL_BYTES=0 run score $example -q -o spool.$kind
    exits 0
    if cmp -s memory.$kind spool.$kind; then pass; else fail "columns in a file give another $kind"; fi
done
if [ "$(wc -l <memory.csv)" -eq 301 ]; then pass; else fail "not a heading and 300 rows"; fi
run score $example -q --json -o both.npz
exits 0
if cmp -s "$folder/out" example.json && [ -s both.npz ]; then pass; else fail "-o with --json differs"; fi
if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
    if python3 "$here/check_npz.py" memory.npz memory.csv >"$folder/out" 2>"$folder/err"; then pass; else
        fail "check_npz.py: $(cat "$folder/out")"
    fi
fi

# Only what is asked for.
run score $example -q --measures gmu,entropies -o some.csv
exits 0
if [ "$(head -n 1 some.csv)" = "n,tu,au,eu,gmu,diversity,k_sensitivity" ]; then pass; else
    fail "columns: $(head -n 1 some.csv)"
fi
run score $example --measures margin --json
exits 0
prints_not '"tu"'
prints '"k_sensitivity": null'
run score $example --measures tu
exits 0
prints "Accuracy"
prints_not "k-sensitivity"

# Labels, order of axes, a named array, renormalising, logits, temperature, presets.
printf '0\n1\n' >labels.csv
run score two.npy --labels labels.csv --json -k 1
exits 0
near "$(json accuracy)" 0.5
near "$(json rule 1 coverage)" 0.5
near "$(json rule 1 accuracy)" 0
run score two.npy --axes MNC -q -o mnc.csv
near "$(csv mnc.csv tu 0)" 0.37677016125643675 1e-6
run score $example --key Z --json
if cmp -s "$folder/out" example.json; then pass; else fail "--key Z differs"; fi
run score $example --key P
fails_with 1 "P"
printf '{"p": [[2, 2], [1, 3]]}\n' >sums.jsonl
run score sums.jsonl
fails_with 1 "member 0"
run score sums.jsonl --renormalise -q -o sums.csv
exits 0
near "$(csv sums.csv mean_0 0)" 0.375
printf '{"z": [[0, 2], [0, 4]]}\n' >logits.jsonl
run score logits.jsonl --temperature 2,4 -q -o logits.csv
exits 0
near "$(csv logits.csv mean_1 0)" 0.7310585786300049
near "$(csv logits.csv eu 0)" 0
printf '{"temperatures": [2]}' >temps.json
run score logits.jsonl --temperature temps.json -q -o temps.csv
run score logits.jsonl --temperature 2 -q -o number.csv
exits 0
if cmp -s temps.csv number.csv; then pass; else fail "temps.json differs from --temperature 2"; fi
run score two.npy --temperature 2
fails_with 2 "applies to logits"
run score logits.jsonl --temperature 1,2,3
fails_with 2 "3 values for 2 members"
run score logits.jsonl --temperature 0
fails_with 2 "not a positive number"
run score logits.jsonl --temperature none.json
fails_with 1 "none.json"
run score two.npy --log-base 2 -q -o bits.csv
near "$(csv bits.csv tu 0)" 1
run score two.npy --normalise -q -o normal.csv
near "$(csv normal.csv tu 0)" 1
run score two.npy --sigma sample -q -o sample.csv
near "$(csv sample.csv std_0 0)" 0.5
for preset in paper vge mljku; do
    run score $example --preset $preset
    exits 0
done

# One member, identical members, multilabel.
printf '0.75,0.25\n' >one.csv
run score one.csv
exits 0
prints "1 member,"
prints "one member: there is no disagreement"
printf '{"p": [[0.75, 0.25], [0.75, 0.25]]}\n' >equal.jsonl
run score equal.jsonl
prints "identical members"
printf '{"p": [[0.9, 0.5], [0.7, 0.5]], "label": [1, 0]}\n' >multi.jsonl
run score multi.jsonl --multilabel -k 1 -q -o multi.csv
exits 0
near "$(csv multi.csv mean_0 0)" 0.8
near "$(csv multi.csv pred_0 0)" 1
near "$(csv multi.csv decision_0@1 0)" 1
near "$(csv multi.csv decision_1@1 0)" -1
near "$(csv multi.csv gmu_1 0)" 1
near "$(csv multi.csv tu_1 0)" $log2
run score multi.jsonl --multilabel -k 1 --json
exits 0
near "$(json accuracy)" 1
near "$(json measures tu max mean)" $log2
run score multi.jsonl --multilabel --multilabel-form literal -k 1 -q -o literal.csv
near "$(csv literal.csv gmu_1 0)" 0

# The verdict: the same whatever -k and --measures are, and in a report on scores as in one on predictions.
verdict_of() {
    tr -d '\n' <"$folder/out" |
        sed 's/.*"verdict": *"\([a-z-]*\)".*"share": *\([0-9.e-]*\).*"disagreement": *\([0-9.e-]*\).*/\1 \2 \3/'
}
run score $example --json -q
exits 0
first=$(verdict_of)
for how in "-k 100" "-k 0.01,5" "--measures gmu" "--measures tu -k 1,2,3"; do
    run score $example $how --json -q
    exits 0
    if [ "$(verdict_of)" = "$first" ]; then pass; else fail "another verdict with $how"; fi
done
# Labels that are never right: the members still disagree, but the ensemble has no skill.
for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p q r s t u v; do
    printf '{"p": [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2]], "label": 2}\n'
done >wrong.jsonl
run score wrong.jsonl
exits 0
prints "no skill: the mean is right on 0 % where chance is 33 %"
cd "$root" || exit 1
