#!/bin/sh
# Makes the run of test_torch.py: a small last-layer ensemble on the digits that ship, and the logits the program gives
# for 40 of them.
#     sh python/tests/data/run/make.sh build/release/vargate
set -e
here=$(dirname "$0")
out=$(mktemp -d)
"$1" train "$here/recipe.yaml" --data data --device cpu --threads 1 --quiet --out "$out/run"
"$1" predict "$out/run" --checkpoint best --data data --device cpu --threads 1 --quiet --logits -o "$out/logits.npz"
cp "$out/run/best.safetensors" "$here/best.safetensors"
python3 -c "import numpy, sys; f = numpy.load(sys.argv[1]); numpy.savez(sys.argv[2], Z=f['Z'][:40], L=f['L'][:40])" \
    "$out/logits.npz" "$here/logits.npz"
rm -r "$out"
