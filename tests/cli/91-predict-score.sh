# vargate predict --score: the scores that 'predict --logits' and 'score' make of the same network, byte for byte.
digits=$folder/runs/a # trained by 90-train.sh
run predict "$digits" --logits --device cpu -o "$folder/z.npz" -q
exits 0
run score "$folder/z.npz" -k 0.5,2 -o "$folder/z-scores.npz" -q
exits 0
run predict "$digits" --score -k 0.5,2 --device cpu -o "$folder/scores.npz"
exits 0
silent
says "scores of 200 images, 6 members, 10 classes"
if cmp -s "$folder/z-scores.npz" "$folder/scores.npz"; then pass; else fail "differs from predict and score"; fi
run score "$folder/z.npz" --temperature 1.5 --measures tu,gtu --json -q
accuracy=$(json accuracy) sensitivity=$(json k_sensitivity)
run predict "$digits" --score --temperature 1.5 --measures tu,gtu --device cpu --json -q
exits 0
near "$(json n)" 200
near "$(json m)" 6
near "$(json accuracy)" "$accuracy"
near "$(json k_sensitivity)" "$sensitivity"
run predict "$digits" --score --device cpu -q
exits 0
prints "decision rule"
prints "Accuracy"
run predict "$digits" --score --temperature 1,2 -q
fails_with 2 "2 values for 6 members"
run predict "$digits" --score --logits -o "$folder/no.npz"
fails_with 2 "--score and --logits exclude each other"
run predict "$digits" --json -o "$folder/no.npz"
fails_with 2 "--json goes with --score"
run predict "$digits" --score -o "$folder/no.txt" -q
fails_with 2 "must end in .npz, .safetensors, .csv or .jsonl"

# A device that may not be there.
run score "$folder/z.npz" --device auto -o "$folder/auto.npz"
exits 0
run score "$folder/z.npz" --device cuda -o "$folder/cuda.npz"
if [ -s "$folder/cuda.npz" ]; then pass; else fails_with 1 "no CUDA device: "; fi

# Predictions replace predictions that 'predict' wrote, and neither scores nor somebody's own arrays nor a checkpoint.
run predict "$digits" --logits --device cpu -o "$folder/z.npz" -q
exits 0
run predict "$digits" --device cpu -o "$folder/scores.npz" -q
fails_with 1 "scores.npz: exists and is not a file of predictions that vargate wrote"
cp "$root/$example" "$folder/own.npz"
run predict "$digits" --device cpu -o "$folder/own.npz" -q
fails_with 1 "own.npz: exists and is not a file of predictions"
run predict "$digits" --device cpu -o "$digits/last.safetensors" --force -q
fails_with 1 "the output is the input"
