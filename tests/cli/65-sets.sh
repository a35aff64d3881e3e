# vargate sets: tables, files, saved thresholds, groups, streams, refusals; decide --sets.
mkdir "$folder/sets"
cd "$folder/sets" || exit 1
ln -s "$root/data" data

cp $example copy.npz
run sets copy.npz --calibration $example --alpha 0.1,0.05
exits 0
quiet
prints "Score lac; calibrated on 300 samples."
prints "beta distribution"
run sets $example --calibration $example --json
exits 0
is_json
near "$(json alphas 0 coverage)" 0.9033333333333333

# The three kinds of files hold the same sets, and saved thresholds make them again.
for score in lac aps raps saps margin topk snr; do
    run sets $example --calibration $example --score $score -q -o sets.csv --save thresholds.json
    exits 0
    run sets $example --thresholds thresholds.json -q -o again.csv
    exits 0
    if cmp -s sets.csv again.csv; then pass; else fail "$score: saved thresholds make other sets"; fi
done
run sets $example --calibration $example --alpha 0.2,0.02 -q -o sets.csv
exits 0
if [ "$(head -n 1 sets.csv)" = "id,pred,decision@0.2,size@0.2,set@0.2,decision@0.02,size@0.02,set@0.02" ]; then
    pass
else
    fail "$(head -n 1 sets.csv)"
fi
run sets $example --calibration $example --alpha 0.2,0.02 -q -o sets.jsonl --p-values
exits 0
line='^{"id":0,"pred":[0-9],"sets":\[{"alpha":0.2[0-9]*,"decision":-\{0,1\}[0-9],"size":[0-9]*,"classes":\[[0-9,]*\]}'
if head -n 1 sets.jsonl | grep -q "$line"; then pass; else fail "$(head -n 1 sets.jsonl)"; fi
if head -n 1 sets.jsonl | grep -q '"p_values":\[0\.'; then pass; else fail "no p-values"; fi
run sets $example --calibration $example -q -o sets.npz
exits 0
run sets sets.npz --calibration $example
fails_with 1 "sets.npz"
echo "id,other" >mine.csv
run sets $example --calibration $example -q -o mine.csv
fails_with 1 "not a file of prediction sets"
run sets $example --calibration $example -q -o sets.csv
exits 0
run sets $example --calibration $example -o -
exits 0
prints "id,pred,decision,size,set"

# Names of classes, groups, and cells that are too small.
cat >val.csv <<'END'
id,site,label,cat,dog,fox
a,north,cat,0.7,0.2,0.1
b,north,dog,0.1,0.8,0.1
c,south,dog,0.3,0.3,0.4
d,north,fox,0.2,0.1,0.7
e,north,cat,0.6,0.3,0.1
END
cat >new.csv <<'END'
id,site,cat,dog,fox
x,north,0.7,0.2,0.1
y,west,0.1,0.8,0.1
END
run sets new.csv --calibration val.csv --classes cat,dog,fox --alpha 0.4 -q -o named.csv
exits 0
if grep -q '^x,0,0,1,0,cat$' named.csv; then pass; else fail "$(cat named.csv)"; fi
run sets new.csv --calibration val.csv --classes cat,dog,fox --alpha 0.4 --by group:site -o by.csv
exits 0
if grep -q '^y,1,-1,3,1 0 2,dog;cat;fox$' by.csv; then pass; else fail "$(cat by.csv)"; fi
says "of group south: too few for a threshold"
says "groups without calibration samples (first: west)"
run sets new.csv --calibration val.csv --classes cat,dog,fox --alpha 0.4 --by class
exits 0
says "of class fox"
run sets new.csv --calibration val.csv --classes cat,dog,fox --alpha 0.1
exits 0
says "too few for a threshold; sets hold every class"
prints "full set"
# The column of the groups is no class, and need not be told apart by --classes.
sed '1s/cat,dog,fox/p_cat,p_dog,p_fox/' val.csv >named-val.csv
sed '1s/cat,dog,fox/p_cat,p_dog,p_fox/' new.csv >named-new.csv
run sets named-new.csv --calibration named-val.csv --alpha 0.4 --by group:site -q -o named-by.csv
exits 0
command="sets by group with and without --classes"
if cmp -s by.csv named-by.csv; then pass; else fail "their sets differ"; fi
run sets new.csv --calibration val.csv --classes cat,dog,fox --by group:none
fails_with 1 "none"
run sets new.csv --calibration new.csv --classes cat,dog,fox
fails_with 1 "no labels"

# Streams.
run sets --calibration $example --save thresholds.json
exits 0
printf '{"id":7,"p":[[0.5,0.5]]}\nnonsense\n' | "$vargate" sets --stdin-jsonl --thresholds thresholds.json >out 2>err
if grep -q '^{"id":7,"error":"1 members and 2 classes' out; then pass; else fail "$(cat out)"; fi
run sets --calibration val.csv --classes cat,dog,fox --alpha 0.25 --save named.json
exits 0
echo '{"id":"q","p":[[0.45,0.45,0.1]]}' | "$vargate" sets --stdin-jsonl --thresholds named.json >out 2>err
answer='{"id":"q","pred":0,"sets":[{"alpha":0.25,"decision":-1,"size":2,"classes":[0,1],"names":["cat","dog"]}]}'
if [ "$(cat out)" = "$answer" ]; then pass; else fail "$(cat out err)"; fi
run sets $example --thresholds named.json
fails_with 1 "promises nothing about another"

# Thresholds of logits at a temperature refuse probabilities, of a file and of a line.
run sets --calibration $example --temperature 1.5 --save warm.json
exits 0
run sets $example --thresholds warm.json
exits 0
row=0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1
rows=$(awk -v r="[$row]" 'BEGIN { for (i = 0; i < 100; i++) printf "%s%s", i ? "," : "", r }')
echo "{\"id\":1,\"p\":[$rows]}" >warm.jsonl
"$vargate" sets --stdin-jsonl --thresholds warm.json <warm.jsonl >out 2>err
answer='{"id":1,"error":"probabilities, expected logits: the thresholds are for logits at a temperature"}'
if [ "$(cat out)" = "$answer" ]; then pass; else fail "$(cat out err)"; fi
run sets warm.jsonl --thresholds warm.json
fails_with 1 "probabilities, expected logits: the thresholds are for logits at a temperature"

# Multilabel: at most the share alpha of a sample's labels is missed.
awk -v seed=4 "$uniform"'BEGIN { for (i = 0; i < 400; i++) { a = uniform(); b = uniform();
    printf "{\"p\": [[%.6f, %.6f]], \"label\": [%d, %d]}\n", a, b, uniform() < a, uniform() < b } }' >multi.jsonl
run sets multi.jsonl --calibration multi.jsonl --multilabel --alpha 0.2 --json
exits 0
is_json
if [ "$(json alphas 0 risk | cut -c 1-4)" != "null" ]; then pass; else fail "no risk"; fi
awk -v r="$(json alphas 0 risk)" 'BEGIN { exit !(r < 0.2 && r > 0.1) }' && pass || fail "risk $(json alphas 0 risk)"

# decide --sets.
run decide $example --calibration $example --sets 0.05 -o decisions.csv
exits 0
prints "a person"
if [ "$(head -n 1 decisions.csv)" = "id,pred,decision,size,set" ]; then pass; else fail "$(head -n 1 decisions.csv)"; fi
run decide $example --sets 0.05
fails_with 2 "--calibration"
run decide $example --calibration $example --sets 0.05 -k 1
fails_with 2 "--sets"

# The image is the unit of exchange: two images, not four sites.
npy sites.npy "<f4" "2, 1, 2, 1, 2"
floats32 .25 .25 .75 .75 .75 .75 .25 .25 >>sites.npy
npy maps.npy "|u1" "2, 1, 2"
printf '\001\001\000\000' >>maps.npy
run sets --calibration sites.npy --labels maps.npy --axes NMCHW --save sites.json
exits 0
prints "calibrated on 2 images."
says "alpha 0.1: 2 calibration images: too few for a threshold; sets hold every class"

# Refusals.
run sets $example
fails_with 2 "--calibration VAL, or --thresholds FILE, is needed"
run sets $example --calibration $example --alpha 0
fails_with 2 "--alpha: 0"
run sets $example --calibration $example --lambda 0.1
fails_with 2 "raps and saps"
run sets $example --calibration $example --score snr --gated 1
fails_with 2 "--gated"
run sets $example --calibration $example --class-k 1,2,3,4,5,6,7,8,9,10
fails_with 2 "--class-k multiplies the k of a gate: sets need --gated K for it"
run report $example --calibration copy.npz --class-k 1,2,3,4,5,6,7,8,9,10 -o class-k-report
exits 0
run sets $example --calibration $example --by colour
fails_with 2 "--by: 'colour'"
run sets $example --calibration $example --p-values
fails_with 2 "--p-values goes with -o"
run sets $example --thresholds $example
fails_with 1 "$example"
for option in "--alpha 0.05" "--score aps" "--by class" "--gated 1" "--seed 3" "--confidence 0.9"; do
    run sets $example --thresholds thresholds.json $option
    fails_with 1 "was calibrated with another ${option%% *} than is asked for"
done
run sets $example --thresholds thresholds.json --preset vge
fails_with 1 "was calibrated under another"
run sets $example --thresholds thresholds.json --alpha 0.1 --score lac -q
exits 0
run sets $example --calibration $example --randomise --no-randomise
fails_with 2 "exclude each other"
run sets $example --calibration $example
exits 0
says "is also the --calibration file"
# A bad row is named by its number in its own file; the calibration samples are not counted.
for i in 1 2 3 4; do echo '{"p": [[0.75, 0.25], [0.5, 0.5]], "label": 0}'; done >"$folder/calibration.jsonl"
printf '{"p": [[0.5, 0.5], [0.5, 0.5]]}\n{"p": [[0.5, 0.5], [0.75, 0.75]]}\n' >"$folder/bad.jsonl"
run sets "$folder/bad.jsonl" --calibration "$folder/calibration.jsonl" --alpha 0.5
fails_with 1 "sample 1, member 1"
cd "$root" || exit 1
