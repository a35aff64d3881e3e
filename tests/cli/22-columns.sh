# Columns and keys with roles: an index, an id, the true class, a confidence are never classes; what is ambiguous
# is refused with the option to give, and that option works.
mkdir "$folder/columns"
cd "$folder/columns" || exit 1
cat >clean.csv <<'END'
z_cat,z_dog,z_bird,label
3,0,0,cat
0,2,1,dog
1,0,2,bird
4,1,0,dog
END
run evaluate clean.csv --json
exits 0
near "$(json accuracy)" 0.75
# The same as pandas writes it, with an index, an id and what was predicted.
awk -F, -v OFS=, 'NR == 1 { print "", "id", "cat", "dog", "bird", "y_true", "confidence"; next }
    { print 90 + NR, "s" NR, $1, $2, $3, $4, 0.9 }' clean.csv >pandas.csv
run evaluate pandas.csv --logits
fails_with 1 "pandas.csv: column 'confidence' is not clearly a class; name those that are: --classes cat,dog,bird"
run evaluate pandas.csv --logits --json --classes cat,dog,bird
exits 0
near "$(json accuracy)" 0.75
near "$(json c)" 3
run evaluate pandas.csv --logits --json --classes 'cat|dog|bird' --id id --label y_true
exits 0
near "$(json accuracy)" 0.75
run evaluate pandas.csv --renormalise
fails_with 1 "--classes cat,dog,bird"
cut -d, -f1-6 pandas.csv >free.csv
run score free.csv --logits
fails_with 1 "logits do not show whether all of these columns are classes; name them: --classes cat,dog,bird"
run evaluate free.csv --logits --json --classes cat,dog,bird
exits 0
near "$(json accuracy)" 0.75
run evaluate free.csv --renormalise
fails_with 1 "--classes cat,dog,bird"
run evaluate free.csv --logits --classes cat,dog,bird --label species
fails_with 1 "--label: no column is named 'species'"
run calibrate free.csv --classes cat,dog,bird -q -o temps.json
exits 0
# Probabilities under free names need no option where every row sums to 1.
printf ',cat,dog,y_true\n0,0.75,0.25,dog\n1,0.5,0.5,cat\n' >p.csv
run evaluate p.csv --json
exits 0
near "$(json c)" 2
near "$(json accuracy)" 0.5

# Labels: names, one-hot, counted from 1.
printf 'dog\ncat\n' >names.csv
run evaluate p.csv --labels names.csv --json
exits 0
near "$(json accuracy)" 0.5
printf '0,1\n1,0\n' >hot.csv
run evaluate p.csv --labels hot.csv --json
exits 0
near "$(json accuracy)" 0.5
printf '2\n1\n' >one.csv
run evaluate p.csv --labels one.csv
fails_with 1 "give --labels-from 1"
run evaluate p.csv --labels one.csv --labels-from 1 --json
exits 0
near "$(json accuracy)" 0.5
printf '{"p": [[0.75, 0.25]], "label": "dog", "id": "x"}\n{"p": [[0.5, 0.5]], "label": "cat", "id": "y"}\n' >p.jsonl
run evaluate p.jsonl
fails_with 1 "labels are names ('dog', ...) but the classes have none; give --classes"
run evaluate p.jsonl --classes cat,dog --json
exits 0
near "$(json accuracy)" 0.5

# Keys of arrays.
files=$root/tests/data/formats
run evaluate "$files/sklearn.npz" --json
exits 0
near "$(json accuracy)" 1
run evaluate "$files/sklearn.npz" --key y_prob --labels-key y_true --json
exits 0
near "$(json accuracy)" 1
run evaluate "$files/sklearn.npz" --labels-key truth
fails_with 1 "no array named 'truth'; it holds 'y_prob', 'y_true', 'classes'"
run evaluate "$files/names.npz" --json
exits 0
near "$(json accuracy)" 1
run evaluate "$files/names_missing.npz"
fails_with 1 "give --classes with the 3 names"
run evaluate "$files/objects.npz" --labels-key L
fails_with 1 "only pickle can read"

# (M, N, C), and the file that the choice was made on.
npy mnc.npy '<f4' '2, 9, 2'
floats32 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 >>mnc.npy
run score mnc.npy
exits 0
says "mnc.npy: read as 2 samples of 9 members; if the axes are (members, samples, classes), give --axes MNC"
run score mnc.npy --axes MNC
exits 0
quiet
run score mnc.npy --axes NMC
exits 0
quiet
printf '0\n0\n0\n0\n0\n0\n0\n0\n0\n' >nine.csv
run score mnc.npy --labels nine.csv
fails_with 1 "9 labels for 2 samples, but the second axis of (2, 9, 2) has as many"
cp "$root/$example" val.npz
run decide val.npz --calibration val.npz --target-coverage 0.9
exits 0
says "val.npz is also the --calibration file"
cp val.npz test.npz
run decide test.npz --calibration val.npz --target-coverage 0.9 -q
exits 0
quiet
# A copy of the validation file is noticed by what it holds, as far as a target risk looks at it.
run decide test.npz --calibration val.npz --target-risk 0.2
exits 0
says "test.npz holds the same predictions as the --calibration file"
# Probabilities that are called logits; a list of classes with a name that is no column.
printf 'p0,p1,label\n0.75,0.25,0\n0.4,0.6,1\n' >probabilities.csv
run evaluate probabilities.csv --logits
fails_with 1 "holds probabilities (rows within [0, 1] that sum to 1), not logits: leave out --logits"
printf 'cat,dog,age\n0.75,0.25,7\n' >pets.csv
run score pets.csv --classes cat,dgo
fails_with 1 "--classes: no column is named 'dgo'; its columns are cat, dog, age"
# Labels that only the validation file has under that name.
printf 'cat,dog\n0.75,0.25\n' >bare.csv
printf 'cat,dog,species\n0.75,0.25,cat\n0.4,0.6,dog\n' >labelled.csv
run decide bare.csv --calibration labelled.csv --label species --target-coverage 0.5 -q --json
exits 0
near "$(json n)" 1
run score bare.csv --label species
fails_with 1 "--label: no column is named 'species'; its columns are cat, dog"
run decide "$files/names_missing.npz" --calibration "$files/sklearn.npz" --labels-key y_true --target-coverage 0.5 -q
exits 0
cd "$root" || exit 1
