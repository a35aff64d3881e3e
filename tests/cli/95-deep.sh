# Deep ensembles by one recipe: from training to the report, stopped networks, the command line's jobs.
deep=$folder/deep
few="--set network=cnn-8-16 --set epochs=2 --set train_limit=320 --set batch=64 --set test_limit=50 --threads 1"
few="$few --set ensemble=deep --set heads=1 --set members=3 --device cpu"

# shellcheck disable=SC2086
run run quickstart $few --out "$deep"
exits 0
says "network 3 of 3: epoch 2/2"
says "3 members, 10 classes"
for name in recipe.yaml metrics.jsonl temps.json results.json report/report.html network-3/last.safetensors; do
    if [ -f "$deep/$name" ]; then pass; else fail "no $name"; fi
done
near "$(wc -l <"$deep/metrics.jsonl")" 6
if grep -q '"networks": 3' "$deep/results.json"; then pass; else fail "results.json does not count the networks"; fi
if grep -q "deep ensemble, cnn-8-16" "$deep/report/report.html"; then pass; else
    fail "the page names no deep ensemble"
fi
# shellcheck disable=SC2086
run train quickstart $few --out "$folder/deep-jobs" --jobs 3
exits 0
says "validation accuracy of a network"
if cmp -s "$deep/network-3/last.safetensors" "$folder/deep-jobs/network-3/last.safetensors"; then pass; else
    fail "--jobs changes a network"
fi
# shellcheck disable=SC2086
run train quickstart $few --out "$folder/deep-jobs" -q
fails_with 1 "network-1/last.safetensors exists already: resume it"
rm "$folder/deep-jobs/network-2/last.safetensors"
run predict "$folder/deep-jobs" -o "$folder/deep.npz" -q
fails_with 1 "network 2 of 3 is not trained yet"
