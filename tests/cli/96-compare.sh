# vargate compare, report of several inputs, run of several recipes, reproduce: figures against evaluate's, tests
# against the first row, files of every kind, what is refused.
compare=$folder/compare
mkdir "$compare"
cd "$root" || exit 1
few="--set network=cnn-8-16 --set epochs=1 --set train_limit=320 --set batch=64 --set test_limit=50 --threads 1"
few="$few --set heads=3 --device cpu"

# The example against itself: no difference, and the figures of evaluate.
run evaluate $example --json
accuracy=$(json accuracy)
nll=$(json nll)
run compare $example $example --json --bootstrap 50
exits 0
is_json
run compare $example $example --bootstrap 50 -o "$compare/same.csv"
exits 0
near "$(csv "$compare/same.csv" accuracy 0)" "$accuracy"
near "$(csv "$compare/same.csv" nll 0)" "$nll"
near "$(csv "$compare/same.csv" accuracy_difference 1)" 0
near "$(csv "$compare/same.csv" accuracy_p 1)" 1
near "$(csv "$compare/same.csv" nll_p 1)" 1
run compare $example --bootstrap 0
exits 0
prints "accuracy"

# Two runs by one command, each in its folder; a recipe that is not there stops before the first is trained.
sed 's/^name: .*/name: second/' recipes/quickstart.yaml >"$compare/second.yaml"
# shellcheck disable=SC2086
run run quickstart no-such-recipe $few --out "$compare/none"
fails_with 1 "no recipe of that name ships; those that do: cifar10-lle"
if [ -e "$compare/none" ]; then fail "a run began before all recipes were read"; else pass; fi
# shellcheck disable=SC2086
run run quickstart "$compare/second.yaml" $few --out "$compare/runs"
exits 0
prints "second: run 2 of 2"
for name in quickstart second; do
    if [ -f "$compare/runs/$name/results.json" ]; then pass; else fail "no results of $name"; fi
done
# shellcheck disable=SC2086
run run quickstart quickstart $few --out "$compare/runs"
fails_with 2 "are both named 'quickstart'"

# A data set that a later recipe lacks is noticed before the first is trained.
sed 's/^name: .*/name: third/; s/^dataset: .*/dataset: svhn/' recipes/quickstart.yaml >"$compare/third.yaml"
# shellcheck disable=SC2086
run run quickstart "$compare/third.yaml" $few --data "$compare" --out "$compare/none"
exits 1
says "svhn: "
if [ -e "$compare/none" ]; then fail "a run began though data of another is missing"; else pass; fi

# The same training twice: four rows, all paired, nothing different.
a=$compare/runs/quickstart
b=$compare/runs/second
run compare "$a" "$b" --json --bootstrap 50
exits 0
is_json
prints '"name": "quickstart calibrated"'
prints '"epochs"'
valid compare "$folder/out"
for kind in md csv json html; do
    run compare "$a" "$b" --bootstrap 20 -o "$compare/table.$kind"
    exits 0
    run compare "$a" "$b" --bootstrap 20 -o "$compare/table.$kind" -q
    exits 0
done
near "$(csv "$compare/table.csv" accuracy_difference 2)" 0
near "$(csv "$compare/table.csv" aurc_p 2)" 1
if head -1 "$compare/table.csv" | grep -q '^name,path,n,m,c,measure,accuracy,accuracy_low'; then pass; else
    fail "the heading of the table"
fi
rows=$(grep -c '^| \(quickstart\|second\)[a-z ]* | \**[0-9]' "$compare/table.md")
if [ "$rows" -eq 4 ]; then pass; else fail "rows of table.md"; fi
if grep -q '^| second | NLL | .* \.\. .* | +0 | 0 \.\. 0 | 1 |$' "$compare/table.md"; then pass; else
    fail "table.md has no intervals and tests"
fi
if grep -q '"command": "compare"' "$compare/table.html"; then pass; else fail "the page has no data"; fi
echo "mine" >"$compare/mine.md"
run compare "$a" -o "$compare/mine.md"
fails_with 1 "--force"
run compare "$a" -o "$compare/table.xls"
fails_with 1 "expected a name that ends in .json, .csv, .md or .html"
run report "$a" "$b" -o "$compare/page"
exits 0
if grep -q "Comparison of runs" "$compare/page/report.html"; then pass; else fail "no page of two runs"; fi

# Stored figures alone: no predictions, no tests.
mkdir "$compare/stored"
cp "$a/results.json" "$compare/stored/"
run compare "$a" "$compare/stored" --bootstrap 20 --json
exits 0
prints '"predictions": false'
run compare "$a" "$compare/stored" --bootstrap 20 -o "$compare/stored.csv"
exits 0
near "$(csv "$compare/stored.csv" accuracy 2)" "$(csv "$compare/stored.csv" accuracy 0)"
near "$(csv "$compare/stored.csv" ood_auroc 2)" "$(csv "$compare/stored.csv" ood_auroc 0)"
run compare "$compare/stored" "$a" --bootstrap 20
exits 0
prints "No difference is tested: the first row has stored figures, no predictions."
prints "quickstart: accuracy "

# Rows are told apart: by as much of their paths as that takes, and inputs that are given twice by a number.
run compare "$a/test.npz" "$b/test.npz" "$a/test.npz" $example --bootstrap 20
exits 0
for name in quickstart/test.npz second/test.npz "quickstart/test.npz (2)" example-predictions.npz; do
    prints "  $name "
done
prints "second/test.npz: error AUROC "

# What is refused, in one line each.
mkdir "$compare/unfinished"
run compare "$compare/unfinished"
fails_with 1 "not a finished run"
run compare "$compare/absent.npz"
fails_with 1 "absent.npz"
printf '{"p": [[0.9, 0.1]]}\n{"p": [[0.2, 0.8]]}\n' >"$compare/plain.jsonl"
run compare "$compare/plain.jsonl"
fails_with 1 "labels"
printf '{"p": [[0.9, 0.1]], "label": 0}\n{"p": [[0.2, 0.8]], "label": 1}\n' >"$compare/two.jsonl"
run compare $example "$compare/two.jsonl"
fails_with 1 "2 classes, the first input has"
run compare
fails_with 2 "expected runs or files of predictions"

# The paper's table from stored runs; an unknown set is refused before anything runs.
run reproduce --only mnist,imagenet -o "$compare/paper"
fails_with 2 "'imagenet' is not one of"
run reproduce extra
fails_with 2 "expected no argument"
run reproduce --table -o "$compare/absent"
fails_with 1 "absent"
mkdir "$compare/paper" "$compare/paper/mnist-lle"
cp "$a/results.json" "$compare/paper/mnist-lle/"
run reproduce --table -o "$compare/paper"
exits 0
prints "mnist lle-calibrated"
prints "off"
prints "not run"
if grep -q '^| MNIST | LLE | \.' "$compare/paper/table.md"; then pass; else fail "table.md lacks the run"; fi
if grep -q "The paper's table" "$compare/paper/index.html"; then pass; else fail "no page of the paper's table"; fi
if grep -q '<h2>' "$compare/paper/index.html"; then fail "a heading without figures"; else pass; fi
mkdir -p "$compare/paper/mnist-lle/report/figures"
echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$compare/paper/mnist-lle/report/figures/gated.svg"
run reproduce --table -o "$compare/paper"
exits 0
near "$(grep -c '<h2>mnist-lle</h2>' "$compare/paper/index.html")" 1
near "$(grep -c '<figure>' "$compare/paper/index.html")" 1
# A difference that rounds to zero has no sign.
echo '{"accuracy": 0.99399, "f1_macro": 0.99401, "ece": 0.0021}' >"$compare/paper/mnist-lle/mcd-lle.json"
run reproduce --table -o "$compare/paper"
exits 0
near "$(grep -c '| 0\.0000 / 0\.0000 / -0\.0009 |' "$compare/paper/table.md")" 1
near "$(grep -c '0\.0000 / 0\.0000 / -0\.0009' "$compare/paper/index.html")" 1
if grep -q '[+-]0\.0000' "$compare/paper/table.md"; then fail "a zero with a sign"; else pass; fi

# Classes in another order are the same classes, others are not.
if python3 -c 'import numpy' 2>/dev/null; then
    python3 - "$compare" <<'END'
import sys
import numpy as np

rng = np.random.default_rng(1)
P, L, names = rng.dirichlet(np.ones(3), (60, 4)), rng.integers(0, 3, 60), np.array(["ant", "bee", "cow"])
np.savez(f"{sys.argv[1]}/named.npz", P=P, L=L, classes=names)
np.savez(f"{sys.argv[1]}/turned.npz", P=P[:, :, ::-1], L=2 - L, classes=names[::-1])
np.savez(f"{sys.argv[1]}/others.npz", P=P, L=L, classes=np.array(["ant", "bee", "yak"]))
END
    run compare "$compare/named.npz" "$compare/turned.npz" --bootstrap 20
    exits 0
    prints "turned.npz: accuracy"
    run compare "$compare/named.npz" "$compare/others.npz" --bootstrap 20
    exits 0
    says "others.npz: other classes than the first input's, no 'cow' among them"
    prints "No difference is tested: no other row has predictions of the same samples as the first."
fi
