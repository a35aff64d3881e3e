# Ids of the samples and names of the classes go through score and decide, in every format, and results join by id.
mkdir "$folder/ids"
cd "$folder/ids" || exit 1
cat >named.csv <<'END'
id,label,cat,dog
s-3,cat,0.9,0.1
"b,2",dog,0.2,0.8
007,cat,0.5,0.5
END
run score named.csv --measures tu,pred,decision -k 1 -q -o scores.csv
exits 0
if [ "$(head -n 1 scores.csv)" = "n,id,tu,pred,pred_name,decision@1,diversity,k_sensitivity" ]; then pass; else
    fail "$(head -n 1 scores.csv)"
fi
if grep -q '^0,s-3,.*,0,cat,' scores.csv && grep -q '^1,"b,2",.*,1,dog,' scores.csv; then pass; else
    fail "$(cat scores.csv)"
fi
run decide named.csv -q -o decisions.csv
exits 0
if [ "$(head -n 1 decisions.csv)" = "id,pred,decision,gmu,snr,pred_name,decision_name" ]; then pass; else
    fail "$(head -n 1 decisions.csv)"
fi
if grep -q '^007,0,-1,1,0,cat,$' decisions.csv; then pass; else
    fail "no abstention with its id: $(cat decisions.csv)"
fi
run decide named.csv -q -o decisions.jsonl
if grep -q '^{"id":"b,2","pred":1,.*"pred_name":"dog","decision_name":"dog"}$' decisions.jsonl &&
    grep -q '"id":"007".*"decision_name":null}$' decisions.jsonl; then pass; else fail "$(cat decisions.jsonl)"; fi
# Outputs are ours: they may be replaced, with names as without.
run decide named.csv -q -o decisions.csv
exits 0
run score named.csv -q -o scores.csv
exits 0
# Multilabel: the names of the labels that are there, of those decided to be, and of those left open.
cat >labels.csv <<'END'
id,label0,label1,label2,cat,"=d""og",cow
a,1,0,1,0.9,0.1,0.8
b,0,1,0,0.2,0.9,0.5
c,0,0,0,0.2,0.1,0.3
END
run score labels.csv --multilabel --classes 'cat,=d"og,cow' --measures pred -q -o labels-scores.csv
exits 0
found=$(cut -d, -f3-6 labels-scores.csv | tr '\n' ' ')
if [ "$found" = "pred_0,pred_1,pred_2,pred_name 1,0,1,cat;cow 0,1,0,\"'=d\"\"og\" 0,0,0, " ]; then
    pass
else
    fail "$found"
fi
run score labels.csv --multilabel --classes 'cat,=d"og,cow' --measures pred -q -o labels-scores.jsonl
found=$(sed 's/.*"pred":\(.*\),"k".*/\1/' labels-scores.jsonl | tr '\n' ' ')
if [ "$found" = '[1,0,1],"pred_name":["cat","cow"] [0,1,0],"pred_name":["=d\"og"] [0,0,0],"pred_name":[] ' ]; then
    pass
else
    fail "$found"
fi
run decide labels.csv --multilabel --classes 'cat,=d"og,cow' -q -o labels-decisions.csv
found=$(cut -d, -f14- labels-decisions.csv | tr '\n' ' ')
if [ "$found" = "pred_name,decision_name,abstained_name cat;cow,cat;cow, \"'=d\"\"og\",\"'=d\"\"og\",cow ,, " ]; then
    pass
else
    fail "$found"
fi
run decide labels.csv --multilabel --classes 'cat,=d"og,cow' -q -o labels-decisions.jsonl
if grep -qF '"pred_name":["=d\"og"],"decision_name":["=d\"og"],"abstained_name":["cow"]}' labels-decisions.jsonl; then
    pass
else
    fail "$(cat labels-decisions.jsonl)"
fi
# Whole numbers stay numbers, and a table joins back by them in any order.
printf '{"id": 30, "p": [[0.9, 0.1]]}\n{"id": 10, "p": [[0.3, 0.7]]}\n{"id": 20, "p": [[0.6, 0.4]]}\n' >lines.jsonl
run decide lines.jsonl -q -o numbers.jsonl
if grep -q '^{"id":10,"pred":1,' numbers.jsonl; then pass; else fail "$(cat numbers.jsonl)"; fi
run score lines.jsonl -q -o numbers.csv --measures pred
printf 'id,name\n10,ten\n20,twenty\n30,thirty\n' >right.csv
joined=$(awk -F, 'NR == FNR { name[$1] = $2; next } FNR > 1 { print name[$2], $3 }' right.csv numbers.csv | tr '\n' ' ')
if [ "$joined" = "thirty 0 ten 1 twenty 0 " ]; then pass; else fail "joined: $joined"; fi
# Arrays: ids as whole numbers or texts, `classes`; from .npz to .npz and .safetensors.
python=python3
if $python -c 'import numpy' 2>/dev/null; then
    $python - <<'END'
import numpy as np
p = np.array([[[.9, .1]], [[.3, .7]], [[.6, .4]]])
np.savez("texts.npz", P=p, id=np.array(["x", "y", "z"]), classes=np.array(["cat", "dog"]))
np.savez("whole.npz", P=p, id=np.array([30, 10, 20]))
END
    for name in texts whole; do
        run score $name.npz -q -o $name-scores.npz
        exits 0
        run decide $name.npz -q -o $name-decisions.npz
        exits 0
    done
    command="ids in arrays"
    if $python - <<'END'; then pass; else fail "arrays lose ids or names"; fi
import numpy as np
for kind in ("scores", "decisions"):
    a, b = np.load(f"texts-{kind}.npz"), np.load(f"whole-{kind}.npz")
    assert a["id"].tolist() == ["x", "y", "z"] and a["classes"].tolist() == ["cat", "dog"], dict(a)
    assert b["id"].tolist() == [30, 10, 20] and b["id"].dtype.kind == "i" and "classes" not in b, dict(b)
END
    run score texts.npz -q -o texts.safetensors
    exits 0
    if grep -qa 'cat' texts.safetensors; then pass; else fail "no names in the metadata"; fi
fi
# A stream answers with the names that its policy knows.
printf '{"p": [[0.9, 0.1]], "classes": ["cat", "d\\"og"]}\n{"p": [[0.5, 0.5]]}\n' >named.jsonl
run decide named.jsonl -k 1 --save named.json -q
exits 0
printf '{"id": "b", "p": [[0.5, 0.5]]}\n{"id": "a", "p": [[0.1, 0.9]]}\n' >lines.jsonl
run_on lines.jsonl decide --stdin-jsonl --policy named.json
exits 0
prints '"pred_name":"cat","decision_name":null}'
prints '"pred_name":"d\"og","decision_name":"d\"og"}'
cd "$root" || exit 1
