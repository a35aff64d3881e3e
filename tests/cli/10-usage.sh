# Usage: help, version, unknown names, wrong values. Exit code 2 and one line.
run --help
exits 0
prints "Usage: vargate COMMAND"
quiet
run --version
exits 0
prints "vargate 0."
run help
exits 0
for name in score calibrate evaluate decide ood; do
    run help $name
    exits 0
    prints "Usage: vargate $name"
    prints "Example:"
    prints "(default "
    cp "$folder/out" "$folder/help"
    run $name --help
    exits 0
    if cmp -s "$folder/out" "$folder/help"; then pass; else fail "--help and help differ"; fi
    run $name
    exits 2
    silent
    run $name --no-such-option x
    fails_with 2 "unknown option --no-such-option"
done
run
exits 2
run scor x
fails_with 2 "did you mean 'score'?"
run xyzzy
fails_with 2 "'vargate --help' lists them"
run --nonsense
fails_with 2 "unknown option '--nonsense'"
run score --lables y "$example"
fails_with 2 "did you mean --labels?"
run score -z "$example"
fails_with 2 "unknown option -z"
run score "$example" --threads
fails_with 2 "--threads needs a value"
run score "$example" --threads=two
fails_with 2 "'two' is not a whole number in 0..1024"
run score "$example" --threads -1
fails_with 2 "is not a whole number"
run score "$example" --preset papers
fails_with 2 "not one of paper|vge|mljku"
run score "$example" --logits=yes
fails_with 2 "--logits takes no value"
run score "$example" -k 1,,2
fails_with 2 "list of numbers"
run score "$example" -k two
fails_with 2 "list of numbers"
run score "$example" --measures tu,gmy
fails_with 2 "did you mean 'gmu'?"
run score "$example" -o scores.txt
fails_with 2 "must end in .npz, .safetensors, .csv or .jsonl"
run score --labels
fails_with 2 "--labels needs a value: FILE"
run ood "$example"
fails_with 2 "at least one OOD file"
run calibrate "$example" --shared --per-member
fails_with 2 "exclude each other"
run calibrate "$example" --evaluations 5
fails_with 2 "--initial 10 is more than --evaluations 5"
run decide "$example" --target-risk 0.01
fails_with 2 "needs --calibration"
run decide "$example" --target-risk 0.01 --target-coverage 0.9 --calibration "$example"
fails_with 2 "exclude each other"
run decide "$example" -k 1 --target-risk 0.01 --calibration "$example"
fails_with 2 "a target chooses k"
run decide "$example" --by gmu
fails_with 2 "--by gmu needs --threshold"
run decide "$example" --by gtu --threshold 1
fails_with 2 "gtu@1"
run decide "$example" --by gnu --threshold 1
fails_with 2 "did you mean 'gmu'?"
run decide "$example" --strict
fails_with 2 "--strict goes with --stdin-jsonl"
run decide "$example" --stdin-jsonl
fails_with 2 "no file"
run evaluate "$example" --coverages 0.5,1.5
fails_with 2 "1.5 is not in (0, 1]"

# Forms of options that mean the same.
run score "$example" -k 2 --json
exits 0
cp "$folder/out" "$folder/same"
for form in "--k 2" "--k=2" "-k2" "-k=2"; do
    run score --json $form -- "$example"
    exits 0
    if cmp -s "$folder/out" "$folder/same"; then pass; else fail "differs from -k 2"; fi
done
