# A grid of runs: folders, the table, finished runs are skipped, jobs, refusals before any training.
little="--set network=cnn-8-16 --set epochs=2 --set train_limit=320 --set batch=64 --set test_limit=50 --set heads=2"
little="$little --threads 1 --device cpu"

# shellcheck disable=SC2086
run sweep quickstart $little --set rate=1e-3,1e-2 --set head_features=0,0.5 --out "$folder/sweep"
exits 0
says "rate=1e-2,head_features=0.5: epoch 2/2"
for name in "rate=1e-3,head_features=0" "rate=1e-2,head_features=0.5"; do
    if [ -f "$folder/sweep/$name/results.json" ]; then pass; else fail "no run $name"; fi
    if grep -q "$name" "$folder/out"; then pass; else fail "the table has no row $name"; fi
done
prints "rate=1e-2,head_features=0.5 calibrated"
if grep -q "rate=1e-2" "$folder/sweep/comparison.md"; then pass; else fail "comparison.md has no such row"; fi
# shellcheck disable=SC2086
run sweep quickstart $little --set rate=1e-3,1e-2 --set head_features=0,0.5 --out "$folder/sweep"
exits 0
if grep -q "epoch 1/2" "$folder/err"; then fail "trains again what is finished"; else pass; fi
# shellcheck disable=SC2086
run sweep quickstart $little --set rate=1e-3,1e-2 --set head_features=0,0.5 --out "$folder/jobs" --jobs 3 -q --json
exits 0
for name in "rate=1e-3,head_features=0" "rate=1e-2,head_features=0.5"; do
    if cmp -s "$folder/sweep/$name/last.safetensors" "$folder/jobs/$name/last.safetensors"; then pass; else
        fail "--jobs changes $name"
    fi
done
run sweep quickstart --set rate=1e-3,-1 --out "$folder/none" -q
fails_with 1 "rate must lie in"
run sweep quickstart --set rates=1,2 --out "$folder/none" -q
fails_with 1 "the nearest known one is 'rate'"
run sweep quickstart --set seed=1,2,3,4,5,6,7,8,9 --set split_seed=1,2,3,4,5,6,7,8 --out "$folder/none" -q
fails_with 1 "more than 64 runs"
if [ -e "$folder/none" ]; then fail "begins before all recipes are checked"; else pass; fi
