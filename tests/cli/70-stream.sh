# vargate decide --stdin-jsonl: one line in, one line out, bad lines answered in place.
mkdir "$folder/stream"
cd "$folder/stream" || exit 1
line() { sed -n "$1p" "$folder/out"; }
answers() { # answers LINE TEXT: that line of the output begins so
    case $(line "$1") in
    "$2"*) pass ;;
    *) fail "line $1 is $(line "$1"), expected $2" ;;
    esac
}
cat >good.jsonl <<'END'
{"id": 7, "p": [[0.75, 0.25], [0.75, 0.25]]}
{"id": "a b", "p": [[1, 0], [0, 1]]}
{"z": [[0, 0, 2.5e1]], "id": null}
 { "p" : [ [ 0.5 , 0.25 , 0.25 ] ] , "id" : -1.5e3 } 
{"id": {"user": [1, 2]}, "model": "x", "p": [[0.25, 0.75]]}
{"id": "\u00e9\n", "p": [[0.25, 0.75]]}
{"p": [0.125, 0.875]}

{"id": 9, "p": [[0.12345678901234567, 0.87654321098765433]]}
END
run_on good.jsonl decide --stdin-jsonl -k 1
exits 0
quiet
answers 1 '{"id":7,"pred":0,"decision":0,"gmu":0.25,"snr":'
answers 2 '{"id":"a b","pred":0,"decision":-1,"gmu":1,"snr":0,"mean":[0.5,0.5]}'
answers 3 '{"id":null,"pred":2,"decision":2,"gmu":'
answers 4 '{"id":-1.5e3,"pred":0,"decision":0,'
answers 5 '{"id":{"user":[1,2]},"pred":1,'
answers 6 '{"id":"é\n","pred":1,'
answers 7 '{"id":null,"pred":1,"decision":1,'
answers 8 '{"id":9,"pred":1,"decision":1,'
near "$(line 8 | sed 's|.*mean":.\([0-9.]*\),.*|\1|')" 0.12345678901234567 1e-15
if [ "$(wc -l <"$folder/out")" -eq 8 ]; then pass; else fail "not 8 lines"; fi

cat >bad.jsonl <<'END'
{"id": 1, "p": [[0.75, 0.25]]}
{"id": 2, "p": [[0.75, 0.75]]}
{"id": 3, "p": [[0.75, 0.25], [1]]}
{"id": 4}
{"id": 5, "p": [[0.5, 0.5]], "z": [[1, 2]]}
{"id": 6, "p": "none"}
{"id": 7, "p": [[0.5, "x"]]}
{"id": 8, "p": []}
{"id": 9, "p": [[NaN, 1]]}
{"id": 10, "p": [[1]]}
[1, 2]
not json
{"id": 11, "p": [[01, 0]]}
{"id": 12, "p": [[0.75, 0.25]]} trailing
{"id": 13, "p": [[1e999, 0]]}
{"id": 14, "p": [[-1, 2]]}
{"id": 15, "p": [[0.25, 0.75]]}
END
run_on bad.jsonl decide --stdin-jsonl -k 1
exits 0
says "15 of 17 lines could not be decided"
answers 1 '{"id":1,"pred":0,'
for id in 2 3 4 5 6 7 8 10 13 14; do
    if grep -q "^{\"id\":$id,\"error\":\"..*\"}\$" "$folder/out"; then pass; else fail "no error for id $id"; fi
done
for number in 9 11 12 13 14; do
    answers $number '{"id":null,"error":"'
done
answers 2 '{"id":2,"error":"sample 0, member 0'
answers 3 '{"id":3,"error":"\"p\": member 1 has 1 values, expected 2'
answers 17 '{"id":15,"pred":1,'
if [ "$(wc -l <"$folder/out")" -eq 17 ]; then pass; else fail "not 17 lines"; fi
if command -v python3 >/dev/null; then
    if python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"): json.loads(line)' "$folder/out" 2>/dev/null; then pass; else
    fail "a line is not JSON"
fi
fi
run_on bad.jsonl decide --stdin-jsonl --strict
exits 1
says "line 2 (id 2): sample 0, member 0"
if [ "$(wc -l <"$folder/out")" -eq 1 ]; then pass; else fail "goes on after a bad line"; fi
run_on /dev/null decide --stdin-jsonl
exits 0
silent
printf '{"id": 1, "p": [[0.75, 0.25]]}' >unended.jsonl
run_on unended.jsonl decide --stdin-jsonl
exits 0
answers 1 '{"id":1,"pred":0,'
printf '{"id": 1, "p": [[0.75, 0.25]\000]}\n' >nul.jsonl
run_on nul.jsonl decide --stdin-jsonl
exits 0
answers 1 '{"id":null,"error":"'

# The same decisions as for a file; temperatures, thresholds, multilabel.
run score "$root/$example" -k 1 -q --measures margin,mean -o scores.jsonl
printf '{"id": 0, "z": [[0, 2], [0, 4]]}\n' >logits.jsonl
run_on logits.jsonl decide --stdin-jsonl --temperature 2,4
exits 0
answers 1 '{"id":0,"pred":1,"decision":1,"gmu":0.26894142'
run_on logits.jsonl decide --stdin-jsonl --temperature 2,4,8
exits 0
answers 1 '{"id":0,"error":"3 temperatures for 2 members"}'
printf '{"id": 0, "p": [[0.5, 0.5], [0.5, 0.5]]}\n' >plain.jsonl
run_on plain.jsonl decide --stdin-jsonl --temperature 2
exits 0
answers 1 '{"id":0,"error":"probabilities, expected logits: a temperature applies to logits alone"}'
printf '{"id": 0, "p": [[0.9, 0.5], [0.7, 0.5]]}\n' >multi.jsonl
run_on multi.jsonl decide --stdin-jsonl --multilabel
exits 0
answers 1 '{"id":0,"pred":[1,0],"decision":[1,-1],"gmu":['
printf '{"id": 0, "p": [[0.75, 0.25]]}\n' >single.jsonl
run_on single.jsonl decide --stdin-jsonl --by gmu --threshold 0.2
answers 1 '{"id":0,"pred":0,"decision":-1,'
run_on single.jsonl decide --stdin-jsonl --by gmu --threshold 0.3
answers 1 '{"id":0,"pred":0,"decision":0,'
# Chosen on three members: lines of three are answered, lines of one are not.
printf '{"id": 0, "p": [[0.99, 0.01], [0.98, 0.02], [0.99, 0.01]]}\n{"id": 1, "p": [[0.75, 0.25]]}\n' >three.jsonl
run_on three.jsonl decide --stdin-jsonl --calibration "$folder/decide/validation.jsonl" --target-risk 0.05
exits 0
answers 1 '{"id":0,"pred":0,"decision":0,'
answers 2 '{"id":1,"error":"1 members and 2 classes, the policy is for 3 and 2"}'

# Every line is answered before the next one comes.
mkfifo questions
: >answers
"$vargate" decide --stdin-jsonl <questions >answers 2>"$folder/err" &
job=$!
exec 9>questions
command="vargate decide --stdin-jsonl, one line at a time"
for number in 1 2 3; do
    echo '{"id": 1, "p": [[0.75, 0.25]]}' >&9
    i=0
    while [ "$(wc -l <answers)" -lt $number ] && [ $i -lt 100 ]; do
        sleep 0.05
        i=$((i + 1))
    done
    if [ "$(wc -l <answers)" -eq $number ]; then pass; else fail "line $number is not answered"; fi
done
exec 9>&-
wait $job
code=$?
exits 0
if [ -w /dev/full ]; then
    command="vargate decide --stdin-jsonl > /dev/full"
    "$vargate" decide --stdin-jsonl <good.jsonl >/dev/full 2>"$folder/err"
    code=$?
    : >"$folder/out"
    fails_with 1 "standard output: No space left on device"
fi
cd "$root" || exit 1
