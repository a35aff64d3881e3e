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
    # Not to the bit: an image among another number of images may take another kernel of oneDNN.
    npz "$mine/fewer.npz" "set(a['L']) == {1, 2} and abs(a['P'] - np.load('$mine/test.npz')['P'][20:]).max() < 1e-5"
    run score "$mine/fewer.npz" --json -q
    near "$(json accuracy)" "$whole" 0.1
    mv "$mine/pngs/test/bee" "$mine/pngs/test/yak"
    run predict "$mine/run1" --split test -o "$mine/no.npz" -q
    fails_with 1 "its class 'yak' is none of the known classes: ant, bee, cow"
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

    # the same images by another path are the same; images that changed between two trainings are not, in either order
    run predict "$mine/run1" --split val --logits -o "$mine/val1.npz" -q
    ln -s pngs "$mine/linked"
    # shellcheck disable=SC2086
    run train quickstart $tiny --set seed=2 --set epochs=1 --set "dataset=path:$mine/linked" --out "$mine/run-linked" -q
    exits 0
    run predict "$mine/run1" "$mine/run-linked" --split val --logits -o "$mine/linked.npz" -q
    exits 0
    npz "$mine/linked.npz" "(a['Z'][:, :2] == np.load('$mine/val1.npz')['Z']).all()"
    cp -r "$mine/pngs" "$mine/more"
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=1 --set "dataset=path:$mine/more" --out "$mine/run-before" -q
    exits 0
    cp "$mine/more/test/ant/0000.png" "$mine/more/train/ant/new.png"
    for limit in 0 100; do
        # shellcheck disable=SC2086
        run train quickstart $tiny --set epochs=1 --set train_limit=$limit --set "dataset=path:$mine/more" \
            --out "$mine/run-after-$limit" -q
        exits 0
        run predict "$mine/run-after-$limit" "$mine/run-before" --split val -o "$mine/no.npz" -q
        fails_with 1 "not the images that $mine/run-before was trained on"
    done
    run predict "$mine/run-after-0" "$mine/run-after-100" --split val -o "$mine/after.npz" -q
    exits 0
    run predict "$mine/run1" "$mine/run-after-0" --split val -o "$mine/no.npz" -q
    fails_with 1 "were trained on different images, of 'path:$mine/pngs' and of 'path:$mine/more'"
    # one ensemble reads images in one way
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=1 --set resize=28x28 --set "dataset=path:$mine/pngs" --out "$mine/run-28" -q
    exits 0
    run predict "$mine/run1" "$mine/run-28" --input "$mine/pngs" -o "$mine/no.npz" -q
    fails_with 1 "they read images differently: resize 0x0 and 28x28"

    # what folders hold beside the images, and a class without training images
    mkdir "$mine/more/train/ant/deeper" "$mine/more/train/empty" "$mine/more/val" "$mine/more/val/yak"
    cp "$mine/more/test/ant/0000.png" "$mine/more/train/ant/deeper"
    cp "$mine/more/test/ant/0000.png" "$mine/more/train"
    cp "$mine/more/test/ant/0000.png" "$mine/more/train/ant/old.BMP"
    mv "$mine/more/test/ant/0001.png" "$mine/more/val/yak"
    run data info "path:$mine/more"
    exits 0
    prints "1 file of another format than JPEG, PNG and WebP is left out: $mine/more/train/ant/old.BMP"
    prints "1 folder inside the folder of a class is left out: $mine/more/train/ant/deeper"
    prints "1 image beside the folders of the classes is left out: $mine/more/train/0000.png"
    prints "1 folder without images is not a class and is left out: $mine/more/train/empty"
    run data info "path:$mine/more" --json
    valid data "$folder/out"
    prints '"class_names"'
    # shellcheck disable=SC2086
    run train quickstart $tiny --set epochs=1 --set "dataset=path:$mine/more" --out "$mine/run-more"
    exits 0
    says "warning: $mine/more/train: 1 folder without images is not a class"
    says "warning: $mine/more/train: 1 of 4 classes has no image to train on, the first is 'yak'"
    run data info "path:$mine/from_one.npz"
    prints "labels run from 1 to 3 and none is 0"
    ln -s nowhere.png "$mine/more/train/ant/lost.png"
    run data info "path:$mine/more" --set skip_corrupt=yes
    prints "$mine/more/train/ant/lost.png: No such file"

    # no test part: said before the training, or a share of the images
    # shellcheck disable=SC2086
    run run quickstart $tiny --set "dataset=path:$mine/pngs/train" --out "$mine/none" -q
    fails_with 1 "'test: 0.2' in the recipe makes a fifth of the images the test set"
    if [ -e "$mine/none" ]; then fail "trained all the same"; else pass; fi
    # shellcheck disable=SC2086
    run run quickstart $tiny --set "dataset=path:$mine/pngs/train" --set test=0.2 --out "$mine/run-share"
    exits 0
    says "$mine/pngs/train: 173 images to train on, 19 held out"
    npz "$mine/run-share/test.npz" "len(a['L']) == 48 and np.bincount(a['L']).tolist() == [16, 16, 16]"
    npz "$mine/run-share/test.npz" "not set(a['id']) & set(np.load('$mine/run-share/val.npz')['id'])"
    if grep -q vg-imagerows "$mine/run-share/report/report.html"; then pass; else fail "a page without images"; fi
    run predict "$mine/run-share" "$mine/run1" --split test -o "$mine/no.npz" -q
    fails_with 1 "different shares were held out: test 0.2 and 0"
    mv "$mine/pngs/train/ant/0000.png" "$mine/0000.png"
    run predict "$mine/run-share" --split test -o "$mine/no.npz" -q
    fails_with 1 "not the images that $mine/run-share was trained on"
    mv "$mine/0000.png" "$mine/pngs/train/ant/0000.png"

    # the page of a test folder that lacks a class shows its images
    mv "$mine/pngs/test/ant" "$mine/ant"
    run predict "$mine/run1" --split test -o "$mine/run1/test.npz" -q
    exits 0
    run report "$mine/run1/test.npz" --images "path:$mine/pngs" -o "$mine/page2" -q
    exits 0
    if grep -q vg-imagerows "$mine/page2/report.html"; then pass; else fail "a page without images"; fi
    mv "$mine/ant" "$mine/pngs/test/ant"
fi
