# Image files: mixed sizes, lists, files that cannot be read, sets decoded as they are needed, resumption. The files are
# those of tests/data/photos; without libjpeg and libpng this part is left out.
photos=$root/tests/data/photos
if "$vargate" data info "path:$photos" --set resize=16 --set skip_corrupt=yes 2>/dev/null | grep -q '^holds'; then
    pics=$folder/pics
    # three classes, distinguished by the pictures: each class one picture, turned ones and copies
    for copy in 1 2 3 4 5 6 7 8; do
        for part in train test; do
            mkdir -p "$pics/$part/ant" "$pics/$part/bee" "$pics/$part/cow"
            cp "$photos/colour.jpg" "$pics/$part/ant/$copy.jpg"
            cp "$photos/turned$copy.jpg" "$pics/$part/bee/$copy.jpg"
            cp "$photos/plain.png" "$pics/$part/cow/$copy.png"
        done
    done
    quick="--set network=cnn-8-16 --set heads=2 --set epochs=2 --set rate=3e-3 --set batch=5 --set ood=[]
        --set collapse_fraction=0 --set resize=19"
    quick="$quick --device cpu"

    run data info "path:$pics"
    fails_with 1 "one size expected; give them one with resize"
    run data info "path:$pics" --set resize=19
    exits 0
    prints "24 images of 19x19, 3 channels, bytes, 3 classes"
    run data info "path:$pics" --set resize=40 --set center_crop=20x30 --set channels=1 --json
    exits 0
    prints '"height": 20'
    run data info "path:$pics" --set resize=40 --set center_crop=50
    fails_with 1 "center_crop 50x50 does not fit in images that resize makes 40x40"
    run data info "path:$pics" --set resize=big
    fails_with 2 "resize must be pixels such as 64, or HEIGHTxWIDTH such as 48x64"
    run data info "path:$pics" --set size=40
    fails_with 2 "it is called 'resize' here"
    run train quickstart --set channels=2 --out "$pics/none"
    fails_with 1 "channels must be one of auto|1|3, found '2'"

    # in memory and decoded as they are needed, stopped and resumed: the same weights
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --out "$pics/run" -q
    exits 0
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --set in_memory=no --set epochs=1 --out "$pics/run2"
    exits 0
    says "decoded as they are needed"
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --set in_memory=no --resume --out "$pics/run2" -q
    exits 0
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --resume --out "$pics/run2" -q
    exits 0
    # odd sides: the CPU's kernels follow the reference
    # shellcheck disable=SC2086
    run train quickstart ${quick%cpu}ref --set "dataset=path:$pics" --out "$pics/run-ref" -q
    exits 0
    val_loss() { sed -n '$s/.*"val_loss": *\([-+.0-9e]*\).*/\1/p' "$1/metrics.jsonl"; }
    near "$(val_loss "$pics/run")" "$(val_loss "$pics/run-ref")" 1e-4
    for which in 1 2; do
        run predict "$pics/run${which#1}" --split test --logits -o "$pics/test$which.npz" -q
        exits 0
    done
    if cmp -s "$pics/test1.npz" "$pics/test2.npz"; then pass; else fail "other logits when decoded as needed"; fi
    if command -v unzip >/dev/null 2>&1; then
        run predict "$pics/run" --input "$pics/test/bee" -o "$pics/flat.npz"
        exits 0
        says "probabilities of 8 images"
        if unzip -l "$pics/flat.npz" | grep -q id.npy; then pass; else fail "no names of files"; fi
        if unzip -l "$pics/flat.npz" | grep -q L.npy; then fail "labels of a flat folder"; else pass; fi
    fi

    # files that cannot be read
    head -c 700 "$photos/colour.jpg" >"$pics/train/ant/0.jpg"
    cp "$photos/cases.txt" "$pics/test/bee/0.png"
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --out "$pics/none" -q
    fails_with 1 "$pics/train/ant/0.jpg: damaged JPEG: Premature end of JPEG file"
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics" --set skip_corrupt=yes --out "$pics/run3"
    exits 0
    says "$pics/train: 1 of 25 files skipped"
    says "skipped $pics/train/ant/0.jpg: damaged JPEG"
    run predict "$pics/run3" --split test -o "$pics/skip.npz"
    exits 0
    says "skipped $pics/test/bee/0.png: starts with"
    run predict "$pics/run" --split test -o "$pics/no.npz" -q
    fails_with 1 "$pics/test/bee/0.png: starts with"
    run predict "$pics/run" --split test --skip-corrupt -o "$pics/skip.npz"
    exits 0
    says "1 of 25 files skipped"
    rm "$pics/train/ant/0.jpg" "$pics/test/bee/0.png"

    # the same images by a list: the same weights
    {
        echo file,label,split
        for part in train test; do
            (cd "$pics" && for file in "$part"/*/*; do
                class=${file#*/}
                echo "$file,${class%%/*},$part"
            done)
        done
    } >"$pics/list.csv"
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics/list.csv" --out "$pics/run4" -q
    exits 0
    run predict "$pics/run4" --split test --logits -o "$pics/test4.npz" -q
    exits 0
    run score "$pics/test4.npz" --json -q
    listed=$(json accuracy)
    run score "$pics/test1.npz" --json -q
    if [ "$(json accuracy)" = "$listed" ]; then pass; else fail "a list gives other predictions"; fi
    echo "train/ant/9.jpg,ant,train" >>"$pics/list.csv"
    # shellcheck disable=SC2086
    run train quickstart $quick --set "dataset=path:$pics/list.csv" --out "$pics/none" -q
    fails_with 1 "$pics/train/ant/9.jpg: No such file or directory (named in line 50)"
fi
