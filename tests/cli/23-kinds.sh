# Files that people have: every kind gives the same result, and what is not read is refused with the lines that convert
# it.
files=$root/tests/data/formats
mkdir "$folder/kinds"
cd "$folder/kinds" || exit 1
cat >t.csv <<'EOF'
sample,member,p0,p1,label
0,0,0.9,0.1,0
0,1,0.8,0.2,0
1,0,0.4,0.6,1
1,1,0.3,0.7,1
2,0,0.6,0.4,1
2,1,0.7,0.3,1
EOF
run evaluate t.csv --json
exits 0
wanted=$(json nll)
near "$(json accuracy)" 0.66666667 1e-6
tr , '\t' <t.csv >t.tsv
sed 's/,/;/g; s/\./,/g' t.csv >eu.csv
sed 's/^\([0-9]\),\([01]\)/img-\1,net-\2/' t.csv >names.csv
gzip -nc t.csv >t.csv.gz
gzip -nc t.tsv >t.tsv.gz
cat >t.json <<'EOF'
[{"p": [[0.9, 0.1], [0.8, 0.2]], "label": 0}, {"p": [[0.4, 0.6], [0.3, 0.7]], "label": 1},
 {"p": [[0.6, 0.4], [0.7, 0.3]], "label": 1}]
EOF
echo '{"labels":[0,1,1],"probs":[[[0.9,0.1],[0.8,0.2]],[[0.4,0.6],[0.3,0.7]],[[0.6,0.4],[0.7,0.3]]]}' >lists.json
for same in t.tsv eu.csv names.csv t.csv.gz t.tsv.gz t.json lists.json; do
    run evaluate "$same" --json
    exits 0
    near "$(json nll)" "$wanted"
    near "$(json m)" 2
done
run score eu.csv --decimal point
fails_with 1 "line 2, column 3: '0,9' is not a number: --decimal says that it has a point"
run score eu.csv --separator '|'
fails_with 2 "--separator: '|' is none of comma, semicolon, tab, space"
printf '0,1;2,5\n1,0;3,5\n' >plain.csv
run score plain.csv --logits --json
exits 0
near "$(json c)" 2
printf 'a,b;c\nx,y;z\n' >both.csv
run score both.csv
fails_with 1 "both.csv: its fields may be separated by ',' or by ';'; say which it is: --separator ';'"

# Quotes within fields are doubled, as Python's csv module writes them: names come out of a table as they went in.
if command -v python3 >/dev/null; then
    python3 - quotes.csv <<'EOF'
import csv, sys
names = ['d"og', '"', 'a "b", c;d']
with open(sys.argv[1], "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["id", *names, "label"])
    for i, name in enumerate(names):
        out.writerow([f'{i} ""{name}"', *(0.5 if name == other else 0.25 for other in names), name])
EOF
    run evaluate quotes.csv --json
    exits 0
    near "$(json accuracy)" 1
    run score quotes.csv --separator comma -o quotes-scores.csv
    exits 0
    if python3 - quotes.csv quotes-scores.csv <<'EOF'; then pass; else fail "other ids or names than the table's"; fi
import csv, sys
given, found = (list(csv.DictReader(open(path, newline=""))) for path in sys.argv[1:])
sys.exit([(row["id"], row["label"]) for row in given] != [(row["id"], row["pred_name"]) for row in found])
EOF
fi

# One array per member.
run evaluate "$files/models.npz" --logits --json
exits 0
near "$(json m)" 3
run score "$files/models_named.npz" --logits
fails_with 1 "all of them: --key resnet,vit,swin"
run score "$files/models_named.npz" --logits --json --key resnet,vit,swin
exits 0
near "$(json m)" 3

# Other programs' files.
run score "$files/long.parquet"
fails_with 1 't = pandas.read_parquet("long.parquet"); t.to_csv("long.csv", index=False)'
run score "$files/model.pt"
fails_with 1 'p = torch.load("model.pt", weights_only=True); np.savez("model.npz", P=p.cpu().numpy())'
run score "$files/pickled.pkl"
fails_with 1 'p = pickle.load(open("pickled.pkl", "rb")); np.savez("pickled.npz", P=np.asarray(p))'
run score "$files/pickled.npy"
fails_with 1 'a = np.load("pickled.npy", allow_pickle=True); np.savez("numbers.npz"'
cd "$root" || exit 1
