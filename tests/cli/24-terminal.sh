# The terminal: tables fit its width, colours where they are wanted, plurals, no left-overs of rounding, no best among
# equals.
mkdir "$folder/terminal"
cd "$folder/terminal" || exit 1
sample=$root/$example
widest() { awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }' "$folder/out"; }
run evaluate "$sample" --all
exits 0
whole=$(widest)
if [ "$whole" -gt 100 ]; then pass; else fail "a pipe gets no whole table: $whole columns"; fi
for columns in 40 60 80; do
    COLUMNS=$columns
    export COLUMNS
    run evaluate "$sample" --all
    exits 0
    found=$(sed 1,2d "$folder/out" | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }')
    if [ "$found" -le "$columns" ]; then pass; else fail "$found columns at COLUMNS=$columns"; fi
    # Every part has the names in front, and no figure is lost.
    for name in AURC AUGRC 'cov@5%risk'; do prints "$name"; done
    if [ "$(grep -c '^  gepjs@3 ' "$folder/out")" -gt 1 ]; then pass; else fail "parts without names"; fi
done
for columns in 5 -3 wide 99999; do
    COLUMNS=$columns
    run evaluate "$sample" --all
    exits 0
    if [ "$(widest)" -eq "$whole" ]; then pass; else fail "COLUMNS=$columns counts"; fi
done
unset COLUMNS

# The line over a table: a long path has a line of its own, and is shown without its middle where even that is too wide.
deep=a-rather-long-folder-of-the-results-of-last-year/another-one-below-it-ééééé
mkdir -p "$deep"
cp "$sample" "$deep/p.npz"
for columns in 30 50 80 90 200; do
    COLUMNS=$columns
    export COLUMNS
    for name in score evaluate; do
        run $name "$deep/p.npz"
        exits 0
        head -n 3 "$folder/out" | sed 's/é/e/g' >top
        found=$(awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }' top)
        if [ "$found" -le "$columns" ]; then pass; else fail "$found columns at COLUMNS=$columns"; fi
        if grep -q 'p.npz:' top && grep -q '^a-' top; then pass; else fail "no path at COLUMNS=$columns"; fi
        if iconv -f UTF-8 -t UTF-8 "$folder/out" >"$folder/again"; then pass; else fail "a character is cut"; fi
    done
done
unset COLUMNS
run score "$deep/p.npz"
prints "$deep/p.npz:"
prints "  300 samples, 100 members, 10 classes (logits)"

# Colours: on a terminal only, unless they are asked for.
escape=$(printf '\033')
coloured() { if grep -q "$escape" "$folder/$1"; then pass; else fail "no colours in $1"; fi; }
plain() { if grep -q "$escape" "$folder/$1"; then fail "colours in $1"; else pass; fi; }
run score "$sample"
plain out
run score "$sample" --color always
coloured out
sed "s/$escape\[[0-9;]*m//g" "$folder/out" >uncoloured
run score "$sample" --color never
if cmp -s uncoloured "$folder/out"; then pass; else fail "colours change more than colours"; fi
NO_COLOR=1
export NO_COLOR
run score "$sample" --color always
coloured out
unset NO_COLOR
run score nothing.npz
plain err
run score "$sample" --color sometimes
fails_with 2 "--color: 'sometimes' is not one of auto|always|never"
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
    command="score on a terminal"
    TERM=xterm script -qec "'$vargate' score '$sample'" /dev/null </dev/null >"$folder/out" 2>&1
    coloured out
    NO_COLOR=1 TERM=xterm script -qec "'$vargate' score '$sample'" /dev/null </dev/null >"$folder/out" 2>&1
    plain out
    TERM=dumb script -qec "'$vargate' score '$sample'" /dev/null </dev/null >"$folder/out" 2>&1
    plain out
    NO_COLOR= TERM=xterm script -qec "stty cols 50; '$vargate' evaluate '$sample' --all --color never" /dev/null \
        </dev/null 2>&1 | tr -d '\r' >"$folder/out"
    if [ "$(grep -c '^  gtu@1 ' "$folder/out")" -gt 1 ]; then pass; else fail "a table does not fit the terminal"; fi
fi

# A count of one takes the singular.
printf 'p0,p1,label\n0.75,0.25,0\n' >one.csv
run score one.csv
prints "one.csv: 1 sample, 1 member, 2 classes"
run evaluate one.csv
prints "one.csv: 1 sample, 1 member, 2 classes"
run decide one.csv -k 1
prints "one.csv: 1 sample, k = 1"
run score one.csv -o one.npz
says "wrote one.npz: 1 sample"

# EU of members that agree is 0, whatever rounding leaves of it.
printf 'sample,member,p0,p1\n0,0,0.3,0.7\n0,1,0.3,0.7\n0,2,0.3,0.7\n1,0,0.1,0.9\n1,1,0.1,0.9\n1,2,0.1,0.9\n' >agree.csv
run score agree.csv
exits 0
if grep -q 'e-1[4-9]' "$folder/out"; then fail "shows what rounding left"; else pass; fi
if awk '$1 == "eu" && $2 == "0" && $3 == "0" && $4 == "0" { found = 1 } END { exit !found }' "$folder/out"; then
    pass
else
    fail "EU is not 0"
fi
prints_not "-0"

# All equal: no measure is best. Some equal: all of them are.
run evaluate "$sample"
if grep -q '^  \* best:.*risk@80%' "$folder/out"; then fail "a best among equals"; else pass; fi
if awk '
    /^  measure/ { on = 1; next }
    /^  \*/ { on = 0 }
    on && /\*$/ { last++ }
    END { exit last < 2 }' "$folder/out"; then
    pass
else
    fail "of several best one is marked"
fi
cd "$root" || exit 1
