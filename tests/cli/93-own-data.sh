# One's own images: classes by name through folders, checkpoints and predictions; splits of deep ensembles. The images
# are made with NumPy; without it this part is left out.
if python3 -c 'import numpy' 2>/dev/null; then
    mine=$folder/mine
    mkdir "$mine"
    python3 "$here/make_images.py" "$mine"
    tiny="--set network=cnn-16-48 --set heads=2 --set epochs=2 --set rate=3e-3 --set batch=32 --set ood=[]
        --set collapse_fraction=0 --device cpu"
    # npz FILE EXPRESSION: a Python expression over the arrays `a` of an .npz holds
    npz() {
        if python3 -c 'import sys, numpy as np
a = np.load(sys.argv[1])
sys.exit(0 if eval(sys.argv[2]) else 1)' "$1" "$2"; then pass; else fail "$1: not so: $2"; fi
    }

    # a folder of one class, labels that are texts: a message that can be read, or none
    # shellcheck disable=SC2086
    run train quickstart $tiny --set "dataset=path:$mine/one" --out "$mine/none" -q
    fails_with 1 "$mine/one/train: training needs labels of at least 2 classes, found 1"
    # shellcheck disable=SC2086
    run train quickstart $tiny --set "dataset=path:$mine/texts.npz" --out "$mine/run-texts" -q
    exits 0
    quiet
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=1 --set "dataset=path:$mine/from_one.npz" --out "$mine/run-one"
    exits 0
    says "labels run from 1 to 3 and none is 0"

    # two seeds, one split; and another split
    for seed in 1 2; do
        # shellcheck disable=SC2086
        run train quickstart $tiny --set seed=$seed --set "dataset=path:$mine/pngs" --out "$mine/run$seed" -q
        exits 0
    done
    # shellcheck disable=SC2086
    run train quickstart $tiny --set split_seed=2 --set "dataset=path:$mine/pngs" --out "$mine/run3" -q
    exits 0
    for member in 1 2; do
        run predict "$mine/run$member" --split val --logits -o "$mine/val$member.npz" -q
        exits 0
    done
    run predict "$mine/run1" "$mine/run2" --split val --logits -o "$mine/val.npz" -q
    exits 0
    npz "$mine/val.npz" "(a['L'] == np.load('$mine/val1.npz')['L']).all()"
    npz "$mine/val.npz" "(a['Z'][:, :2] == np.load('$mine/val1.npz')['Z']).all()"
    npz "$mine/val.npz" "(a['Z'][:, 2:] == np.load('$mine/val2.npz')['Z']).all()"
    run predict "$mine/run1" "$mine/run3" --split val -o "$mine/no.npz" -q
    fails_with 1 "different images were held out: split_seed 1 and 2"
    run predict "$mine/run1" "$mine/run3" --split train -o "$mine/no.npz" -q
    fails_with 1 "split_seed 1 and 2"
    run predict "$mine/run1" "$mine/run3" --split test -o "$mine/test13.npz" -q
    exits 0

    # class names in predictions, and a test folder that lacks a class
    run predict "$mine/run1" --split test -o "$mine/test.npz" -q
    exits 0
    npz "$mine/test.npz" "a['classes'].tolist() == ['ant', 'bee', 'cow']"
    npz "$mine/test.npz" "(a['P'].mean(1).argmax(1) == a['L']).mean() > .9"
    run score "$mine/test.npz" --json -q
    exits 0
    whole=$(json accuracy)
    run report "$mine/test.npz" -o "$mine/page" -q
    exits 0
    if grep -q '"class_names": *\["ant", *"bee", *"cow"\]' "$mine/page/report.html"; then pass; else
        fail "no class names"
    fi
    cp -r "$mine/pngs" "$mine/kept"
    rm -r "$mine/pngs/test/ant"
    run predict "$mine/run1" --split test -o "$mine/fewer.npz" -q
    exits 0
    npz "$mine/fewer.npz" "set(a['L']) == {1, 2} and (a['P'] == np.load('$mine/test.npz')['P'][20:]).all()"
    run score "$mine/fewer.npz" --json -q
    near "$(json accuracy)" "$whole" 0.1
    mv "$mine/pngs/test/bee" "$mine/pngs/test/yak"
    run predict "$mine/run1" --split test -o "$mine/no.npz" -q
    fails_with 1 "its class 'yak' is not known there; known are ant, bee, cow"
    run predict "$mine/run1" --input "$mine/pngs" -o "$mine/yak.npz"
    exits 0
    says "labels are left out"
    npz "$mine/yak.npz" "'L' not in a"
    mv "$mine/pngs/train/bee" "$mine/pngs/train/yak"
    run predict "$mine/run1" --split val -o "$mine/no.npz" -q
    fails_with 1 "is 'cow', but 'bee' in"
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=3 --set "dataset=path:$mine/pngs" --out "$mine/run1" --resume -q
    fails_with 1 "is 'bee' there, 'cow' in the data"
    rm -r "$mine/pngs"
    mv "$mine/kept" "$mine/pngs"
    mv "$mine/pngs/train/ant/0000.png" "$mine/0000.png"
    run predict "$mine/run1" --split val -o "$mine/no.npz" -q
    fails_with 1 "not the images that $mine/run1 was trained on"
    mv "$mine/0000.png" "$mine/pngs/train/ant/0000.png"
    run predict "$mine/run1" --split val -o "$mine/again.npz" --logits -q
    exits 0
    if cmp -s "$mine/again.npz" "$mine/val1.npz"; then pass; else fail "another validation part"; fi

    # networks that number the classes differently make one ensemble by name, or none
    # shellcheck disable=SC2086
    run train quickstart $tiny --set "dataset=path:$mine/backwards.npz" --out "$mine/run-back" -q
    exits 0
    run predict "$mine/run-back" --input "$mine/pngs" -o "$mine/back.npz" -q
    exits 0
    npz "$mine/back.npz" "a['classes'].tolist() == ['cow', 'bee', 'ant']"
    npz "$mine/back.npz" "(a['P'].mean(1).argmax(1) == a['L']).mean() > .9"
    run predict "$mine/run1" "$mine/run-back" --input "$mine/pngs" -o "$mine/both.npz" -q
    exits 0
    npz "$mine/both.npz" "a['classes'].tolist() == ['ant', 'bee', 'cow']"
    npz "$mine/both.npz" "(a['P'][:, 2:].mean(1).argmax(1) == a['L']).mean() > .9"
    npz "$mine/both.npz" "(a['P'][:, 2:] == np.load('$mine/back.npz')['P'][:, :, ::-1]).all()"
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=1 --set "dataset=path:$mine/others.npz" --out "$mine/run-yak" -q
    exits 0
    run predict "$mine/run1" "$mine/run-yak" --input "$mine/pngs" -o "$mine/no.npz" -q
    fails_with 1 "do not make one ensemble: class 'cow' is none of this network's classes: ant, bee, yak"
fi
