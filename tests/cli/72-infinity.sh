# Logits of -Infinity, as Python's json module writes them, in files and streams; other numbers that are not finite.
mkdir "$folder/infinity"
cd "$folder/infinity" || exit 1
echo '{"id": 1, "z": [[-Infinity, 1.0, 0.5], [-Infinity, 0.25, 2.5]], "label": 1}' >minus.jsonl
run score minus.jsonl -q -o scores.csv
exits 0
run evaluate minus.jsonl --json
exits 0
is_json
sed 's/"z"/"logits"/' minus.jsonl >named.jsonl
printf '[%s]\n' "$(cat named.jsonl)" >whole.json
run score whole.json -q -o again.csv
exits 0
command="score of .json and .jsonl"
if cmp -s scores.csv again.csv; then pass; else fail "their scores differ"; fi
sed 's|, "label": 1||' named.jsonl >slow.jsonl
sed 's/"logits"/"z"/' slow.jsonl >fast.jsonl
for line in slow fast; do
    run_on $line.jsonl decide --stdin-jsonl
    exits 0
    prints '"id":1,"pred":2'
    cp "$folder/out" $line.answer
done
command="decide of both readers of the stream"
if cmp -s slow.answer fast.answer; then pass; else fail "their answers differ"; fi
for other in NaN Infinity; do
    sed "s/-Infinity/$other/" minus.jsonl >other.jsonl
    run score other.jsonl
    fails_with 1 "not finite (-Infinity is allowed, in logits) near '$other'"
    run_on other.jsonl decide --stdin-jsonl
    exits 0
    prints "not finite"
done
sed 's/-Infinity/null/' minus.jsonl >null.jsonl
run score null.jsonl
fails_with 1 "line 1: member 0, class 0 is not a number"
sed 's/"z"/"p"/' minus.jsonl >p.jsonl
run score p.jsonl
fails_with 1 "class 0 is -inf, which is not a probability"
echo '{"z": [[-Infinity, -Infinity], [1, 2]]}' >none.jsonl
run score none.jsonl
fails_with 1 "every logit is -inf"
echo '{"z": [[1, 2]], "p": [[0.5, 0.5]]}' >both.jsonl
run_on both.jsonl decide --stdin-jsonl
prints 'both \"z\" and \"p\"; give one'
cd "$root" || exit 1
