#!/bin/sh
# What every command prints with --json is what docs/schema says, in all its forms; and the schemas refuse what they
# should. Skipped (77) where Python has no jsonschema (pip install jsonschema; test_python.sh puts it into
# build/python-venv).
set -u
vargate=${1:-${VARGATE:-}}
[ -n "$vargate" ] || { echo "the program is not built" && exit 77; }
python=
for candidate in python3 build/python-venv/bin/python; do
    if "$candidate" -c 'import jsonschema' 2>/dev/null; then python=$candidate && break; fi
done
[ -n "$python" ] || { echo "skipped: no Python with jsonschema" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0
example=data/example-predictions.npz
count() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && shift && echo "FAILED: $*"; fi
}
# prints SCHEMA ARGS...: the command prints a document of that schema, kept in $folder/out.json
prints() {
    schema=$1
    shift
    "$vargate" "$@" -q --json >"$folder/out.json" 2>"$folder/err"
    count $? "vargate $*: $(cat "$folder/err")"
    "$python" tests/cli/schema_check.py "docs/schema/$schema.schema.json" "$folder/out.json" >"$folder/log" 2>&1
    count $? "vargate $* --json: $(tail -n 5 "$folder/log")"
}
# refuses SCHEMA EXPRESSION: the schema does not accept the last document after the change
refuses() {
    "$python" -c "import json, sys
d = json.load(open(sys.argv[1]))
$2
json.dump(d, open(sys.argv[1] + '.changed', 'w'))" "$folder/out.json" || exit 1
    if "$python" tests/cli/schema_check.py "docs/schema/$1.schema.json" "$folder/out.json.changed" >/dev/null 2>&1; then
        count 1 "$1.schema.json accepts: $2"
    else
        count 0
    fi
}

cat >"$folder/multi.jsonl" <<'END'
{"p": [[0.9, 0.2], [0.7, 0.4]], "label": [1, 0]}
{"p": [[0.8, 0.9], [0.9, 0.6]], "label": [0, 1]}
{"p": [[0.3, 0.9], [0.2, 0.6]], "label": [0, 1]}
END
printf '{"p": [[0.9, 0.1]]}\n{"p": [[0.4, 0.6]]}\n' >"$folder/bare.jsonl"
printf '{"p": [[0.9, 0.1]], "label": 0}\n{"p": [[0.4, 0.6]], "label": 1}\n' >"$folder/right.jsonl"
cp "$example" "$folder/other.npz"

prints score score "$example"
refuses score 'd["rule"]["1"]["abstained"] = 0.0467'
refuses score 'd["schema"] = "vargate/0"'
refuses score 'del d["command"]'
refuses score 'd["measures"]["tu"]["mean"] = "0.1"'
prints score score "$folder/multi.jsonl" --multilabel
prints score score "$folder/bare.jsonl"
prints score score "$example" --measures mean
prints sets sets "$example" --calibration "$example" --alpha 0.1,0.05
refuses sets 'del d["alphas"][0]["intervals"]'
refuses sets 'd["alphas"][1]["coverage"] = 1.5'
prints sets sets "$example" --calibration "$example" --score raps --by class --gated 1
prints sets sets "$folder/multi.jsonl" --calibration "$folder/multi.jsonl" --multilabel --alpha 0.5
prints sets decide "$example" --calibration "$example" --sets 0.1
python3 tests/cli/make_sites.py "$folder/sites.npz" members
prints sets sets "$folder/sites.npz" --calibration "$folder/sites.npz" --axes NCHW --labels-key maps --renormalise \
    --ignore 255 --alpha 0.5
prints thresholds sets --calibration "$folder/sites.npz" --axes NCHW --labels-key maps --renormalise --ignore 255 \
    --save "$folder/image-thresholds.json"
prints thresholds sets --calibration "$example" --save "$folder/thresholds.json"
refuses thresholds 'd["score"] = "none"'
prints score score "$example" "$folder/other.npz"
refuses score 'd[1]["n"] = -1'
refuses score 'd.clear()'
prints doctor doctor
prints compare compare "$example" "$folder/other.npz" --bootstrap 20
refuses compare 'd["runs"][1]["difference"]["nll"]["p_value"] = 2'
refuses compare 'del d["runs"][0]["accuracy"]'
prints compare compare "$folder/multi.jsonl" --multilabel --bootstrap 0
prints evaluate evaluate "$example"
refuses evaluate 'd["rule"]["1"]["abstained"] = 0.5'
refuses evaluate 'd["measures"]["tu"]["error_auroc"] = 1.5'
refuses evaluate 'd["findings"][0]["about"] = "weather"'
refuses evaluate 'd["lead"]["p_corrected"] = 2'
prints evaluate evaluate "$example" --bootstrap 20 --curve 5
python3 tests/cli/make_sites.py "$folder/sites.npy" NMCHW f4
python3 tests/cli/make_sites.py "$folder/maps.npy" labels
prints calibrate calibrate "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255 --method vector
refuses calibrate 'd["images"] = "three"'
prints fit-k fit-k "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255
prints evaluate evaluate "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255 --renormalise
refuses evaluate 'd["images"][0]["abstained"] = 2'
refuses evaluate 'del d["images"][0]["sites"]'
prints score score "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255 --renormalise
"$vargate" score "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255 --renormalise -q \
    --maps "$folder/maps" --pictures 1 >/dev/null && cp "$folder/maps/maps.json" "$folder/out.json"
"$python" tests/cli/schema_check.py docs/schema/maps.schema.json "$folder/out.json" >"$folder/log" 2>&1
count $? "maps.json: $(tail -n 5 "$folder/log")"
refuses maps 'del d["maps"][0]["name"]'
refuses maps 'd["images"][0]["abstained"] = 2'
prints decide decide "$folder/sites.npy" --axes NMCHW --labels "$folder/maps.npy" --ignore 255 --renormalise \
    --refer-above 0.5
refuses decide 'd["images"][0]["referred"] = 1'
prints evaluate evaluate "$folder/multi.jsonl" --multilabel --bootstrap 10
prints evaluate evaluate "$folder/right.jsonl"
prints evaluate evaluate "$example" "$folder/other.npz"
refuses evaluate 'd[1]["accuracy"] = 2'
prints decide decide "$example" -k 2
refuses decide 'd["abstained"] = 0.5'
prints decide decide "$folder/other.npz" --calibration "$example" --target-coverage 0.9
prints decide decide "$folder/other.npz" --calibration "$example" --target-risk 0.2 --by gmu
prints decide decide "$folder/multi.jsonl" --multilabel
prints decide decide "$folder/bare.jsonl" --by snr --threshold 1
prints decide decide "$folder/other.npz" --calibration "$example" --target-risk 0.2 --save "$folder/policy.json"
cp "$folder/policy.json" "$folder/out.json"
"$python" tests/cli/schema_check.py docs/schema/policy.schema.json "$folder/out.json" >"$folder/log" 2>&1
count $? "decide --save: $(tail -n 5 "$folder/log")"
refuses policy 'd["members"] = 0'
refuses policy 'd["k"] = 1; d["threshold"] = 1'
refuses policy 'del d["conventions"]["log_base"]'
prints decide decide "$folder/other.npz" --policy "$folder/policy.json"
prints ood ood "$example" "$folder/other.npz"
refuses ood 'd["ood"] = d["ood"]["other"]'
refuses ood 'del d["ood"]'
prints ood ood "$example" "$folder/other.npz" "$example" --bootstrap 10
for form in "" "--shared" "--solver both --evaluations 4 --initial 3" "--solver bayes --evaluations 4 --initial 3"; do
    prints calibrate calibrate "$example" $form -o "$folder/temps.json"
    cmp -s "$folder/out.json" "$folder/temps.json"
    count $? "calibrate $form prints another document than it writes"
done
refuses calibrate 'd["temperatures"] = []'
for form in "" "--one" "--folds 0"; do
    prints fit-k fit-k "$example" $form -o "$folder/k.json"
    cmp -s "$folder/out.json" "$folder/k.json"
    count $? "fit-k $form prints another document than it writes"
done
refuses fit-k 'd["k"] = [0]'
refuses fit-k 'd["supported"] = "perhaps"'
refuses fit-k 'del d["by_class"]["gradient"]'
prints data data list
prints data data info digits --statistics
refuses data 'd["files"] = d["files"][0]'
prints data data info path:tests/data/photos --set resize=16 --set skip_corrupt=yes
refuses data 'd["holds"]["skipped"] = 1'

# The file of a schema is named after its command, and every command that prints JSON has one.
for schema in docs/schema/*.schema.json; do
    name=$(basename "$schema" .schema.json)
    grep -q "\"const\": \"$name\"" "$schema"
    count $? "$schema is not for the command $name"
done
for source in cli/*.c; do
    for name in $(sed -n 's/.*json_document("\([a-z]*\)").*/\1/p' "$source"); do
        [ -e "docs/schema/$name.schema.json" ]
        count $? "$source prints a document of $name, which has no schema"
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
