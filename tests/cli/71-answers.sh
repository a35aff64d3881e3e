# Answers of language models: log-probabilities of tokens as JSON lines, as chat servers write them.
mkdir "$folder/answers"
cd "$folder/answers" || exit 1
cat >answers.jsonl <<'EOF'
{"id": "q1", "label": "A", "top_logprobs": [{"A": -0.05, " B": -3.2, "A ": -6}, {"A": -0.11, "B": -2.9}]}
{"id": "q2", "label": "B", "top_logprobs": [{"B": -0.7, "A": -0.8}, {"C": -0.6, "B": -0.9, "Z": null}]}
EOF
python3 - answers.jsonl >chat.jsonl <<'EOF'
import json, sys
for number, line in enumerate(open(sys.argv[1])):
    q = json.loads(line)
    members = [[{"token": t, "logprob": -9999 if v is None else v} for t, v in m.items()] for m in q["top_logprobs"]]
    choices = [{"logprobs": {"content": [{"token": "A", "logprob": 0, "top_logprobs": m}, {}]}} for m in members]
    del q["top_logprobs"]
    q["responses"] = [{"choices": [c]} for c in choices]
    print(json.dumps(q))
EOF
run score answers.jsonl --classes A,B,C -q -o one.csv
exits 0
# (exp(-0.05) + exp(-6) + exp(-0.11)) / 2, and what is not listed: 1 minus all, in the mean
near "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "mean_0") c = i } NR == 2 { print $c }' one.csv)" \
    0.924771156 1e-8
near "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "mean_3") c = i } NR == 2 { print $c }' one.csv)" \
    0.027336132 1e-8
run score chat.jsonl --classes A,B,C -q -o two.csv
exits 0
if cmp -s one.csv two.csv; then pass; else fail "chat completions differ from plain lists"; fi
run score answers.jsonl --json
near "$(json c)" 5 # A, B, C, Z and the others
run evaluate answers.jsonl --classes A,B,C --json
near "$(json accuracy)" 1
run decide answers.jsonl --classes A,B,C -k 1 --save policy.json -q
exits 0
run_on answers.jsonl decide --stdin-jsonl --policy policy.json
exits 0
prints '"pred_name":"A","decision_name":"A"}'
run_on answers.jsonl decide --stdin-jsonl -k 1 # tokens of the line: A B, B A C Z
exits 0
prints '"pred_name":"B"'

# A line of a batch's output, a response of the Responses API, and one response as a document.
python3 - chat.jsonl <<'EOF'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
with open("batch.jsonl", "w") as batch, open("output.jsonl", "w") as output:
    for line in lines:
        choices = [response["choices"][0] for response in line["responses"]]
        body = {"object": "chat.completion", "choices": choices}
        whole = {"id": "batch_req", "custom_id": line["id"], "label": line["label"], "response": {"body": body}}
        print(json.dumps(whole), file=batch)
        tokens = [choice["logprobs"]["content"] for choice in choices]
        answers = [{"output": [{"type": "reasoning"}, {"content": [{"logprobs": t}]}]} for t in tokens]
        print(json.dumps({"id": line["id"], "label": line["label"], "responses": answers}), file=output)
json.dump({"id": "q1", "label": "A", "choices": [r["choices"][0] for r in lines[0]["responses"]]},
          open("one.json", "w"), indent=1)
EOF
run score batch.jsonl --id custom_id --classes A,B,C -q -o three.csv
exits 0
if cmp -s one.csv three.csv; then pass; else fail "a batch's output differs from plain lists"; fi
run score output.jsonl --classes A,B,C -q -o three.csv
exits 0
if cmp -s one.csv three.csv; then pass; else fail "the Responses API differs from plain lists"; fi
run score one.json --classes A,B,C -q --json
exits 0
near "$(json n)" 1
near "$(json m)" 2
run_on batch.jsonl decide --stdin-jsonl --policy policy.json
exits 0
prints '"pred_name":"A","decision_name":"A"}'

# Each is refused in one clear line.
refuses_answer() { # TEXT LINE
    echo "$2" >bad.jsonl
    run score bad.jsonl --classes A,B
    fails_with 1 "$1"
}
refuses_answer "line 1: a \"logprob\" is above 0: it is not a log-probability" '{"top_logprobs": [{"A": 0.7}]}'
refuses_answer "line 1: a member lists no tokens: ask the server for top_logprobs" '{"top_logprobs": [{"A": -1}, {}]}'
refuses_answer "ask the server for top_logprobs" '{"choices": [{"message": {"content": "A"}, "logprobs": null}]}'
refuses_answer "line 1: the probabilities of a member's tokens sum to more than 1" \
    '{"top_logprobs": [{"A": -0.1, "B": -0.1}]}'
refuses_answer "line 1: a listed token has no text" '{"top_logprobs": [[{"logprob": -1}]]}'
refuses_answer "line 1: holds no answers" '{"top_logprobs": []}'
refuses_answer "line 1: \"top_logprobs\" is not a list of members" '{"top_logprobs": 3}'
printf '%s\n' '{"top_logprobs": [{"A": -1}]}' '{"top_logprobs": [{"A": -1}, {"B": -1}]}' >bad.jsonl
run score bad.jsonl
fails_with 1 "line 2: 2 answers, the first line has 1: every line needs as many"
echo '{"id": 4, "top_logprobs": [{"A": 2}]}' >bad.jsonl
run_on bad.jsonl decide --stdin-jsonl -k 1
exits 0
prints '{"id":4,"error":"a '
cd "$root" || exit 1
