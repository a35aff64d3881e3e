# Every command alike: wrong usage ends with exit code 2 and one line, and options have one spelling.
for name in score calibrate evaluate decide ood compare train predict run report data; do
    run help $name
    exits 0
    cp "$folder/out" "$folder/page"
    run $name --no-such-option
    fails_with 2 "unknown option --no-such-option"
    run $name -Z
    fails_with 2 "unknown option -Z"
    run $name --quiet=yes
    fails_with 2 "--quiet takes no value"
    # An output is -o and --output, threads are -t and --threads, wherever they are; values are needed and checked.
    if grep -q -- '--output' "$folder/page"; then
        if grep -q -- '-o, --output ' "$folder/page"; then pass; else fail "--output without -o"; fi
        run $name x -o
        fails_with 2 "-o needs a value"
        run $name x --output
        fails_with 2 "--output needs a value"
        run $name x --out
        fails_with 2 "--output needs a value"
    elif [ $name != data ]; then
        fail "$name has no --output"
    fi
    if grep -q -- '--threads' "$folder/page"; then
        if grep -q -- '-t, --threads ' "$folder/page"; then pass; else fail "--threads without -t"; fi
        run $name x -t many
        fails_with 2 "--threads: 'many' is not a whole number"
    elif [ $name != data ]; then
        fail "$name has no --threads"
    fi
    # Nothing to work on is wrong usage, but for `run`, which then trains the quickstart.
    if [ $name != run ]; then
        run $name
        exits 2
    fi
done
run data no-such-verb
exits 2
for name in train run report; do
    run $name x -o -
    fails_with 2 "-o -: several files are written; name a folder"
done
run predict x -o -
fails_with 2 "-o -: predictions are arrays"
run evaluate "$example" -o figures.txt
fails_with 2 "must end in .json or .csv"
run ood "$example" "$example" -o figures.npz
fails_with 2 "must end in .json or .csv"
run score "$example" -o - --json
fails_with 2 "both write to standard output"
run decide "$example" -o - --json
fails_with 2 "both write to standard output"
run score "$example" "$example" -o scores.csv
fails_with 2 "2 inputs need a folder"
run score "$example" "$example" -o "$folder/twice/"
fails_with 2 "would have the same output"
run score "$example" --format xml
fails_with 2 "not one of npy|npz|safetensors|csv|tsv|jsonl|json"
run evaluate "$example" -k 1,0
fails_with 2 "not a positive number"
# Which of two values counts would be a guess; flags, lists of texts and what all commands share may be repeated.
run decide "$example" -k 1 -k 2
fails_with 2 "--k is given twice"
run score "$example" --out "$folder/a.npz" -o "$folder/b.npz"
fails_with 2 "--output is given twice"
run score "$example" -q -q --color never --color never --measures gmu
exits 0
run decide "$example" -k 1,2
fails_with 2 "takes one k, found 2"
run decide "$example" --by gmu --threshold 0,5
fails_with 2 "--threshold: '0,5' is not a number"
for name in score decide evaluate; do
    run $name "$example" -k nan # not the same as no k
    fails_with 2 "-k: 'nan' is not a list of numbers"
done
