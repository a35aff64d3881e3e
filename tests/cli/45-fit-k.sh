# vargate fit-k: the table, the file, its use, what it refuses.
mkdir "$folder/fit-k"
cd "$folder/fit-k" || exit 1
ln -s "$root/data" data
run fit-k $example -q -o k.json
exits 0
prints "Keep the plain mean"
says "makes the NLL worse"
run score $example -k k.json -q -o scores.csv
exits 0
run fit-k $example -q --json
exits 0
is_json
prints '"supported": "none"'
run fit-k $example -q -o - --folds 0 --one
exits 0
is_json
prints_not '"held_out"'
run fit-k $example -q -o k.json --one
exits 0
run decide $example -k k.json
exits 0
echo '{"k": 1}' >other.json
run fit-k $example -q -o other.json
fails_with 1 "other.json"
run fit-k $example -q -o other.json --force
exits 0
run fit-k
fails_with 2 "expected one file"
printf '{"p": [0.75, 0.25], "label": 0}\n{"p": [0.25, 0.75], "label": 1}\n' >single.jsonl
run fit-k single.jsonl -o never.json
fails_with 1 "one member has no spread"
if [ -e never.json ]; then fail "a k was fitted to one member"; else pass; fi
rm single.jsonl
run fit-k $example --k-min 2 --k-max 1
fails_with 2 "not below"
run fit-k $example --folds 1
fails_with 2 "nothing to fit to"
printf '{"p": [[0.9, 0.1]]}\n{"p": [[0.4, 0.6]]}\n' >bare.jsonl
run fit-k bare.jsonl
fails_with 1 "no labels"
leaves . "bare.jsonl data k.json other.json scores.csv"
cd "$root" || exit 1
