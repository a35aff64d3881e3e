# Several files, patterns, folders, standard output and standard input of every kind.
mkdir "$folder/several"
cd "$folder/several" || exit 1
for f in one two; do cp "$root/$example" $f.npz; done
run score one.npz two.npz
exits 0
if [ "$(grep -c '^  \(one\|two\).npz  *300  *100  *10 ' "$folder/out")" -eq 2 ]; then pass; else
    fail "$(cat "$folder/out")"
fi
run score 'o*.npz' two.npz -q -o scores/
exits 0
leaves scores "one.npz two.npz"
run score '*.npz' -q -o 'tables/*.csv' --measures gmu
exits 0
leaves tables "one.csv two.csv"
run score one.npz -q -o single.csv --measures gmu
if cmp -s single.csv tables/one.csv; then pass; else fail "a file among several has other scores"; fi
run score 'none*.npz'
fails_with 1 "none*.npz: no file matches"
run score one.npz two.npz --json
exits 0
if [ "$(grep -c '"command": "score"' "$folder/out")" -eq 2 ] && [ "$(head -n 1 "$folder/out")" = "[" ]; then pass; else
    fail "no list"
fi
# One file with a name that is also a pattern is taken as it is.
cp one.npz 'odd[1].npz'
run score 'odd[1].npz' --json
exits 0
# evaluate: a table, a list, a file of all figures, a file each.
run evaluate one.npz two.npz
exits 0
prints "best measure"
if [ "$(grep -c 'gepce@2' "$folder/out")" -eq 2 ]; then pass; else fail "not two rows"; fi
run evaluate one.npz -o one.json -q
exits 0
run evaluate one.npz --json
if cmp -s "$folder/out" one.json; then pass; else fail "-o and --json differ"; fi
run evaluate one.npz -o -
if cmp -s "$folder/out" one.json; then pass; else fail "-o - and -o FILE differ"; fi
run evaluate one.npz two.npz -o all.csv -q
exits 0
if [ "$(wc -l <all.csv)" -eq 65 ]; then pass; else fail "$(wc -l <all.csv) lines, expected a heading and 2 x 32"; fi
near "$(csv all.csv accuracy 40)" 0.94666666666666666
if [ "$(csv all.csv measure 32)" = tu ] && [ "$(csv all.csv file 32)" = two.npz ]; then pass; else
    fail "rows are not by file"
fi
run evaluate one.npz -o one.csv --bootstrap 20 -q
near "$(csv one.csv error_auroc_low 0)" 0.87 0.01
run evaluate one.npz two.npz -o each/ -q
exits 0
leaves each "one.json two.json"
if cmp -s each/one.json one.json; then pass; else fail "a file in a folder differs"; fi
run evaluate one.npz -o one.npz
fails_with 2 "must end in"
echo mine >notes.csv
run evaluate one.npz -o notes.csv
fails_with 1 "is not a file of figures that vargate wrote"
run evaluate one.npz two.npz -o all.csv -q
exits 0
run ood one.npz two.npz -o ood.json -q
exits 0
run ood one.npz two.npz --json
if cmp -s "$folder/out" ood.json; then pass; else fail "ood -o and --json differ"; fi
run ood one.npz two.npz -o ood.csv -q
exits 0
if [ "$(head -n 1 ood.csv)" = "file,n,measure,auroc,aupr_out,aupr_in,fpr95,detection_error" ]; then pass; else
    fail "$(head -n 1 ood.csv)"
fi
# Standard output: the rows that a file would have.
run decide one.npz -o -
exits 0
cp "$folder/out" stdout.csv
run decide one.npz -q -o file.csv
if cmp -s stdout.csv file.csv; then pass; else fail "-o - is not what a file holds"; fi
run score one.npz -o - --measures gmu
if cmp -s "$folder/out" single.csv; then pass; else fail "score -o - is not what a file holds"; fi
run calibrate one.npz -o -
exits 0
prints '"temperatures"'
command="score -o - into a reader that leaves"
"$vargate" score one.npz -o - 2>err.txt | head -n 1 >/dev/null
if [ -s err.txt ]; then fail "$(cat err.txt)"; else pass; fi
# Standard input of every kind.
printf 'id,cat,dog\na,0.9,0.1\nb,0.2,0.8\n' >rows.csv
printf '{"id": "a", "p": [[0.9, 0.1]]}\n{"id": "b", "p": [[0.2, 0.8]]}\n' >rows.jsonl
for kind in csv jsonl; do
    run_on rows.$kind decide - --format $kind -o -
    exits 0
    if grep -q '^b,1,1,' "$folder/out"; then pass; else fail "$(cat "$folder/out")"; fi
done
run score one.npz --json
sed 's/one.npz/-/' "$folder/out" >expected.json
for form in "" "--format npz"; do
    # shellcheck disable=SC2086
    run_on one.npz score - --json $form
    exits 0
    if cmp -s "$folder/out" expected.json; then pass; else fail "standard input is scored otherwise"; fi
done
run_on one.npz evaluate - --format npz --json
exits 0
run_on one.npz calibrate - --format npz --json
exits 0
run_on rows.csv score - --format jsonl
exits 1
# The kind of a named file is that of its name.
for name in score evaluate decide calibrate; do
    run $name one.npz --format npz
    fails_with 2 "--format npz is the kind of standard input (-); that of one.npz is known by its ending"
done
run score rows.csv --format jsonl -o -
fails_with 2 "--format jsonl is the kind of standard input (-)"
run_on one.npz compare one.npz - --format npz --bootstrap 0 -o -
if [ "$code" -ne 2 ]; then pass; else fail "standard input among files"; fi
# A pattern gives a list in JSON, whatever it matches, so that a program sees one shape.
for name in score evaluate; do
    run $name 'one.np[z]' --json
    exits 0
    if [ "$(head -n 1 "$folder/out")" = "[" ] && [ "$(grep -c '"command"' "$folder/out")" -eq 1 ]; then pass; else
        fail "no list of one"
    fi
done
run compare one.npz two.npz --bootstrap 0 -o -
exits 0
prints '"command": "compare"'
# Text on standard input needs --format, and the message says so.
for name in score evaluate decide; do
    run_on rows.csv $name -
    fails_with 1 "of a text say which: --format csv"
done
run_on rows.csv report - --format csv -o page --no-figures -q
exits 0
if grep -q '"decide":"vargate decide - --format csv"' page/report.html && ! grep -q '"policy":"vargate' page/report.html
then pass; else fail "the page's command does not read standard input again"; fi
cd "$root" || exit 1
