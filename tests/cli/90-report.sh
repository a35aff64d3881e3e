# vargate report: what it writes, from predictions, scores and a run folder; errors that leave nothing half-written.
mkdir "$folder/report"
cd "$folder/report" || exit 1
ln -s "$root/data" data

run report $example -o out --no-figures
exits 0
quiet
prints out/report.html
leaves out report.html
if grep -q 'id="vg-ratio"' out/report.html && ! grep -q 'VARGATE-DATA' out/report.html; then pass; else
    fail "the page holds no data"
fi
if [ "$(wc -c <out/report.html)" -lt 5000000 ]; then pass; else fail "the page is too large"; fi

# The same from scores, with the labels named; k comes with them.
run score $example -k 0.5,4 -o scores.npz -q
run report scores.npz --labels $example -o from-scores --no-figures
exits 0
if grep -qF '"k":[0.5,4]' from-scores/report.html && grep -qF '"label' from-scores/report.html; then pass; else
    fail "k or labels are missing"
fi

# Figures, where there is gnuplot; without it the page alone, and a line that says so.
if command -v gnuplot >/dev/null 2>&1; then
    run report $example -o figures --ood same=$example
    exits 0
    prints "15 files"
    drawn=
    for figure in decomposition gated ood reliability risk-coverage; do
        drawn="$drawn${drawn:+ }$figure.pdf $figure.png $figure.svg"
    done
    leaves figures/figures "$drawn"
    if grep -q '<svg' figures/figures/gated.svg && head -c 4 figures/figures/gated.pdf | grep -q PDF; then pass; else
        fail "figures are not what their names say"
    fi
fi
# What is no figure of this page does not stay: figures of an earlier one, with --no-figures and without gnuplot.
mkdir -p stale/figures other/figures
for kind in svg pdf png; do echo old >stale/figures/gated.$kind; done
run report $example -o stale --no-figures
exits 0
leaves stale report.html
echo mine >other/figures/gated-notes.txt
echo old >other/figures/ood.svg
run report $example -o other --no-figures
exits 0
leaves other/figures gated-notes.txt

# What a page that is handed over says of itself, and the command that repeats its decisions.
cp $example "it's.npz"
SOURCE_DATE_EPOCH=1763319900
export SOURCE_DATE_EPOCH
run report "it's.npz" -o said --no-figures --logits --temperature 2
exits 0
run report "it's.npz" -o said-again --no-figures --logits --temperature 2
unset SOURCE_DATE_EPOCH
for words in '"created":"2025-11-16T19:05:00Z"' "s.npz' --logits --calibration-map 2\","; do
    if grep -qF "$words" said/report.html; then pass; else fail "the page does not say $words"; fi
done
sed 's/said-again/said/' said-again/report.html >said-again/renamed.html
if cmp -s said-again/renamed.html said/report.html; then pass; else fail "equal inputs give other pages"; fi
mkdir empty-path
command="report without gnuplot"
PATH=$folder/report/empty-path "$vargate" report $example -o bare >"$folder/out" 2>"$folder/err"
code=$?
exits 0
says "gnuplot is not installed"
prints bare/report.html

# A run folder: what is there is used.
mkdir run
cp $example run/test.npz
cp $example run/ood-clothes.npz
printf '%s\n' '{"epoch": 1, "train_loss": 2, "diversity": 0.01, "collapsed": false}' \
    '{"epoch": 2, "train_loss": 1, "diversity": 0.0001, "collapsed": true}' >run/metrics.jsonl
run report run --no-figures
exits 0
prints run/report/report.html
if grep -qF '"collapse":2' run/report/report.html && grep -qF '"name":"clothes"' run/report/report.html; then pass; else
    fail "epochs or OOD set are missing"
fi

# Errors: one line, exit code, and a page that was there before stays.
run report $example
fails_with 2 "give -o DIR"
run report -o out
fails_with 2 "found 0 files"
run report nothing.npz -o out
fails_with 1 "nothing.npz"
run report $example -o out --ood same
fails_with 2 "expected NAME=FILE"
run report $example -o out --class-names a,b --no-figures
fails_with 1 "2 names for"
run report $example -o $example/inside --no-figures
fails_with 1 "Not a directory"
run report $example -o out --images digits --data data --no-figures
fails_with 1 "--images digits"
echo '{"epoch": 1' >broken.jsonl
run report $example -o out --metrics broken.jsonl --no-figures
fails_with 1 "line 1 is not a JSON object"
mkdir nothing
run report nothing -o out
fails_with 1 "neither test.npz nor scores.npz"
leaves out report.html
run report --help
exits 0
prints "--ood NAME=FILE"

# The verdict of scores is that of the predictions they came from.
run score $example -q -o verdict-scores.npz
run report verdict-scores.npz -o verdict-scores --no-figures -q
run report $example -o verdict-predictions --no-figures -q
verdict_in() { sed -n 's/.*"verdict_text":"\([^"]*\) of the variance.*/\1/p' "$1/report.html"; }
found=$(verdict_in verdict-scores)
if [ -n "$found" ] && [ "$found" = "$(verdict_in verdict-predictions)" ]; then pass; else
    fail "another verdict in the report on scores"
fi

# What is wrong with the calibration file is said once, not once for every kind of set.
run report $example --calibration $example -o sets-page --no-figures
exits 0
says "is also the --calibration file"
if [ "$(grep -c "is also the --calibration file" "$folder/err")" -eq 1 ]; then pass; else fail "warns twice"; fi
# So is what a file that is opened several times warns of.
npy wide.npy "<f4" "2, 8, 2"
floats32 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 \
    .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 .25 .75 >>wide.npy
npy wide-labels.npy "|u1" "2,"
printf '\001\001' >>wide-labels.npy
run sets wide.npy --calibration wide.npy --labels wide-labels.npy --alpha 0.5
exits 0
if [ "$(grep -c "read as 2 samples of 8 members" "$folder/err")" -eq 1 ]; then pass; else fail "warns twice"; fi
cd "$root" || exit 1
