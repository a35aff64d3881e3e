# vargate calibrate --method: maps that every command takes, streams and saved files included; refusals.
mkdir "$folder/maps"
cd "$folder/maps" || exit 1
ln -s "$root/data" data

# Of two classes, probabilities 0.2 (one hit of four), 0.6 (one of two) and 0.9 (both): the isotonic curve goes through
# 1/4, 1/2 and 1.
for pair in "0.2 0" "0.2 0" "0.2 1" "0.2 0" "0.6 1" "0.6 0" "0.9 1" "0.9 1"; do
    set -- $pair
    printf '{"p": [[%s, %s]], "label": %d}\n' "$(awk "BEGIN { print 1 - $1 }")" "$1" "$2"
done >eight.jsonl
run calibrate eight.jsonl --method isotonic -o map.json
exits 0
prints "isotonic, of the one member"
prints "exact"
says "wrote map.json: 1 calibration map"
run score eight.jsonl --calibration-map map.json -q -o scores.csv
exits 0
near "$(csv scores.csv mean_1 0)" 0.25 1e-12
near "$(csv scores.csv mean_1 4)" 0.5 1e-12
near "$(csv scores.csv mean_1 6)" 1 1e-12
run calibrate eight.jsonl --method histogram --map-bins 2 -q -o two.json --json
exits 0
is_json
run score eight.jsonl --temperature two.json -q -o scores.csv
near "$(csv scores.csv mean_1 0)" 0.25 1e-12
near "$(csv scores.csv mean_1 6)" 0.75 1e-12
# The same map for a stream.
run calibrate eight.jsonl --method venn-abers -q -o map.json
run score eight.jsonl --calibration-map map.json -q -o scores.csv
printf '{"id": 7, "p": [[0.4, 0.6]]}\n' >line.jsonl
expected=$(csv scores.csv mean_1 4)
"$vargate" decide --stdin-jsonl -k 1 --calibration-map map.json <line.jsonl >"$folder/out" 2>"$folder/err"
near "$(sed 's/.*"mean":\[[^,]*,\([^]]*\).*/\1/' "$folder/out")" "$expected" 1e-12

# Logits of several members, every form; every command takes the file, and replaces it without being forced.
for form in "" --shared --mean; do
    for method in temperature vector isotonic; do
        run calibrate $example --method $method $form -q -o map.json --folds 0
        exits 0
    done
done
for how in "score" "evaluate" "decide" "ood $example" "fit-k" "sets --calibration $example"; do
    run $how $example --calibration-map map.json
    exits 0
done
run report $example --calibration-map map.json -o page --no-figures -q
exits 0
# Policies and thresholds keep the map.
run decide $example -k 1 --calibration-map map.json --save policy.json -q -o one.csv
exits 0
run decide $example --policy policy.json -q -o two.csv
exits 0
if cmp -s one.csv two.csv; then pass; else fail "a policy decides otherwise than its map"; fi
run decide $example --policy policy.json --calibration-map map.json
fails_with 2 "has a calibration of its own"
run sets $example --calibration $example --calibration-map map.json --save thresholds.json -q -o sets-one.csv
exits 0
run sets $example --thresholds thresholds.json -q -o sets-two.csv
exits 0
if cmp -s sets-one.csv sets-two.csv; then pass; else fail "thresholds give other sets than their map"; fi

# Refusals: one line each, and nothing is written.
run calibrate eight.jsonl --method vector --shared --mean
fails_with 2 "exclude each other"
run calibrate eight.jsonl --method vector --solver bayes
fails_with 1 "for temperatures of members alone"
head -n 1 eight.jsonl >one.jsonl
run calibrate one.jsonl --method isotonic -o none.json
fails_with 1 "no sample of class 1 among 1: method isotonic needs at least one of every class"
printf '{"p": [[0.2, 0.3, 0.5]], "label": 1}\n' >three.jsonl
run calibrate eight.jsonl --method vector -q -o vector.json
run score three.jsonl --calibration-map vector.json
fails_with 1 "the vector map is for 2 classes, three.jsonl has 3"
printf '{"z": [[0.2, 0.3]], "label": 1}\n' >logits.jsonl
run score logits.jsonl --calibration-map vector.json
fails_with 1 "the vector map is for probabilities, logits.jsonl has logits"
sed 's/, "label".*/}/' eight.jsonl >unlabelled.jsonl
run score unlabelled.jsonl --calibration-map vector.json --multilabel
fails_with 2 "exclude each other"
sed 's/"scale"/"scales"/' vector.json >broken.json
run score eight.jsonl --calibration-map broken.json
fails_with 1 "key \"scale\" of a vector map"
sed 's/"vector"/"vectors"/' vector.json >broken.json
run score eight.jsonl --calibration-map broken.json
fails_with 1 "unknown method \"vectors\""
if [ ! -e none.json ]; then pass; else fail "a refused fit left a file"; fi
cd "$root" || exit 1
