# Axes in any order, of images too: every order gives the bytes of the packed one; what does not fit is refused.
mkdir "$folder/axes"
cd "$folder/axes" || exit 1
sites() { python3 "$here/make_sites.py" "$@"; }
sites packed.npy NHWMC f4
run score packed.npy --axes NHWMC --renormalise -q -o packed.csv
exits 0
near "$(grep -c . packed.csv)" 106
for axes in NMCHW MNCHW NCHWM CMWHN HNMWC WMHCN; do
    sites one.npy $axes f4
    run score one.npy --axes $axes --renormalise -q -o one.csv
    exits 0
    if cmp -s one.csv packed.csv; then pass; else fail "axes $axes differ"; fi
done
for axes in NMCHW HNMWC WMHCN; do # read and converted: the other byte order, float64
    sites one.npy $axes '>f4'
    run score one.npy --axes $axes --renormalise -q -o one.csv
    if cmp -s one.csv packed.csv; then pass; else fail "axes $axes of the other byte order differ"; fi
    sites one.npy $axes f2
    run score one.npy --axes $axes --renormalise --json
    near "$(json measures tu mean)" 0.97 0.2
done
sites members.npz members
run score members.npz --axes NCHW --renormalise -q -o one.csv
exits 0
if cmp -s one.csv packed.csv; then pass; else fail "arrays of one member each differ"; fi

# A volume is described by its three sides.
run score packed.npy --axes HWDMC --renormalise
exits 0
prints "1 image of 3 x 5 x 7 sites"
run decide packed.npy --axes HWDMC --renormalise
exits 0
prints "images    1 of 3 x 5 x 7 sites"

# What does not fit: one line that lists what does.
sites one.npy NMCHW f4
run score one.npy
fails_with 1 "one.npy: the array has 5 axes, expected 3 (samples, members, classes) or 2 (samples, classes); of images"
run score one.npy --axes NMXHW
fails_with 1 "axes 'NMXHW': 'X' is not an axis; use N samples, M members, C classes and, of images and volumes, H W D"
run score one.npy --axes NMC
fails_with 1 "names 3, but the array has 5 (3, 3, 4, 5, 7); what fits: NMCHW, MNCHW or NCHWM"
run score one.npy --axes NMCHH
fails_with 1 "H is there twice; what fits 5 axes: NMCHW, MNCHW or NCHWM"

# Images against label maps: the figures of the sites that are not left out, as samples.
sites maps.npy labels
sites flat.npz flat
run evaluate flat.npz --renormalise --json
exits 0
for what in accuracy ece nll brier f1_macro ece_adaptive; do eval "wanted_$what=$(json $what)"; done
wanted_aurc=$(json measures gmu aurc) wanted_auroc=$(json measures tu error_auroc)
for axes in NMCHW MNCHW; do
    sites one.npy $axes f4
    run evaluate one.npy --axes $axes --labels maps.npy --ignore 255 --renormalise --json
    exits 0
    for what in accuracy ece nll brier f1_macro ece_adaptive; do
        eval "near \"\$(json $what)\" \"\$wanted_$what\" 1e-9"
    done
    near "$(json measures gmu aurc)" "$wanted_aurc" 1e-9
    near "$(json measures tu error_auroc)" "$wanted_auroc" 1e-9
    near "$(json ignored)" 11
done
run evaluate one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise
exits 0
prints "3 images of 5 x 7 sites"
prints "mIoU"
prints "IoU"
prints "Images, those with the largest share of abstained sites first (3 of 3)"
run evaluate members.npz --axes NCHW --labels-key maps --ignore 255 --renormalise --json
exits 0
near "$(json accuracy)" "$wanted_accuracy" 1e-9

# Each is refused in one clear line.
run evaluate one.npy --axes MNCHW --labels maps.npy --renormalise
fails_with 1 "is outside 0..3; if it marks sites to leave out, give --ignore 255"
sites none.npy labels-none
run evaluate one.npy --axes MNCHW --labels none.npy --ignore 255 --renormalise
fails_with 1 "every site is left out by --ignore 255: none is left to score"
sites small.npy labels-small
run evaluate one.npy --axes MNCHW --labels small.npy --renormalise
fails_with 1 "labels are (3, 5, 6), but the predictions have sites (3, 5, 7): images, height, width"
run evaluate one.npy --axes MNCHW --renormalise
fails_with 1 "no labels in it"
run evaluate flat.npz --labels maps.npy
fails_with 1 "maps.npy: labels have 3 axes, expected 1 (samples) or 2 (samples, labels); maps of images need the axes"
run evaluate flat.npz --ignore 255
fails_with 1 "--ignore leaves out sites of images: name the axes, --axes NMCHW"
run evaluate one.npy --axes MNCHW --labels maps.npy --ignore x
fails_with 2 "--ignore: 'x' is not a whole number"
# Intervals: images are drawn. Images of equal sites have the intervals of one sample each.
sites copies.npz copies
run evaluate flat.npz --renormalise --bootstrap 200 --json
low=$(json intervals accuracy | tr -d '[]' | cut -d, -f1) high=$(json intervals accuracy | tr -d '[]' | cut -d, -f2)
run evaluate copies.npz --axes NMCHW --renormalise --bootstrap 200 --json
exits 0
near "$(json intervals accuracy | tr -d '[]' | cut -d, -f1)" "$low" 0.01
near "$(json intervals accuracy | tr -d '[]' | cut -d, -f2)" "$high" 0.01
near "$(json n)" 564
sites chw.npy one-image
sites maps-0.npy labels-one
run evaluate chw.npy --axes CHW --labels maps-0.npy --renormalise --ignore 255 --bootstrap 10
fails_with 1 "--bootstrap draws images, whose sites are not independent: 1 image, at least 3 are needed"
run evaluate flat.npz --renormalise --curve 4 --json
wanted_curve=$(json measures eu curve)
run evaluate one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise --curve 4 --json
exits 0
[ "$(json measures eu curve)" = "$wanted_curve" ] && pass || fail "the curve of images: $(json measures eu curve)"
# A page of images: bounded, of one image and of volumes too; what it cannot have is refused.
run report one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -q --no-figures -o page
exits 0
prints "page/report.html"
grep -q 'id="vg-sitesteps"' page/report.html && pass || fail "no images in the page"
run report one.npy --axes MNCHW --renormalise -q --no-figures -o page
exits 0
run report chw.npy --axes CHW --renormalise -q --no-figures -o page
exits 0
run report members.npz --axes NCHW --labels-key maps --ignore 255 --renormalise --calibration members.npz --no-figures \
    -o page
exits 0
grep -q 'unit.u0022: .u0022image' page/report.html && pass || fail "no sets of images in the page"
run report one.npy --axes MNCHW --labels none.npy --ignore 255 --renormalise --no-figures -o page
fails_with 1 "every site is left out by --ignore 255"
run report one.npy --axes MNCHW --renormalise --images maps-0.npy --no-figures -o page
fails_with 1 "--images maps-0.npy: images are (N, H, W), or (N, H, W, C) or (N, C, H, W) of 1 or 3 channels"
run report one.npy --axes MNCHW --renormalise --ood a=one.npy --no-figures -o page
fails_with 1 "an OOD set of a page has samples, not the sites of images"

# The risk promise of images: the image is its unit; three of them are too few to show anything.
sites val.npy MNCHW f4
run decide val.npy --axes MNCHW --renormalise -q -k 1 -o decided.csv
exits 0
near "$(grep -c . decided.csv)" 106

# --ignore in score and decide: the figures of the sites that stay, as samples; NaN and -2 at the others.
run score flat.npz --renormalise --json
wanted_gmu=$(json measures gmu p95) wanted_rule=$(json rule 1 coverage) wanted_sensitivity=$(json k_sensitivity)
wanted_disagreement=$(json verdict_figures disagreement) wanted_diversity=$(json diversity)
run score one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise --json -o ignored.npz
exits 0
near "$(json measures gmu p95)" "$wanted_gmu" 1e-12
near "$(json rule 1 coverage)" "$wanted_rule" 1e-12
near "$(json k_sensitivity)" "$wanted_sensitivity" 1e-12
near "$(json diversity)" "$wanted_diversity" 1e-12
near "$(json verdict_figures disagreement)" "$wanted_disagreement" 1e-12
near "$(json ignored)" 11
prints '"sites": 32,'
prints '"abstained": 0.59999999999999998,'
run score one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -q -o ignored.csv
exits 0
near "$(cut -d, -f2 ignored.csv | grep -c nan)" 11
run score one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -q --maps folder/maps --pictures 1
exits 0
if python3 "$here/check_maps.py" folder/maps ignored.csv >log 2>&1; then pass; else fail "maps: $(cat log)"; fi
[ ! -e folder/maps/tu-0001.png ] && pass || fail "more pictures than wanted"
[ -s folder/maps/maps.html ] && pass || fail "no page of maps"
prints "3 images of 5 x 7 sites"
near "$(grep -c . folder/maps/images.csv)" 4
sites strip.npy strip
run score strip.npy --axes HWMC --maps folder/strip --measures pred -q
exits 0
if python3 "$here/check_maps.py" folder/strip colours >log 2>&1; then pass; else fail "colours: $(tail -n 1 log)"; fi
mkdir foreign && echo mine >foreign/file
run score one.npy --axes MNCHW --renormalise --maps foreign
fails_with 1 "foreign: holds files and is not a folder of maps that vargate wrote"
[ "$(ls foreign)" = file ] && pass || fail "a refused folder was written to"
run score flat.npz --renormalise --maps other
fails_with 1 "--maps writes maps of images: name the axes, --axes NMCHW"
[ ! -e other ] && pass || fail "a folder was made for nothing"
run score one.npy one.npy --axes MNCHW --renormalise --maps other
fails_with 2 "--maps takes one prediction file, found 2"
run decide one.npy --axes MNCHW --renormalise -q -k 1 --maps folder/maps --pictures 0
exits 0
[ -e folder/maps/decision.npy ] && pass || fail "no map of decisions"
run decide one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -q -k 1 -o left.csv
exits 0
near "$(cut -d, -f3 left.csv | grep -c -- -2)" 11
run decide one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -k 1 --refer-above 0.55 --json
exits 0
near "$(json referred)" 1
prints '"abstained": 0.59999999999999998,'
prints '"referred": true'
prints '"referred": false'
run decide one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise -k 1 --refer-above 0.55
prints "1 referred: more than 55 % of their sites abstain"
run decide flat.npz --renormalise -k 1 --refer-above 0.5
fails_with 1 "--refer-above refers images: name the axes"
run score flat.npz --renormalise --ignore 255
fails_with 1 "--ignore leaves out sites of images: name the axes, --axes NMCHW"
run score one.npy --axes MNCHW --renormalise --ignore 255
fails_with 1 "no labels in it"
run score one.npy --axes MNCHW --labels none.npy --ignore 255 --renormalise
fails_with 1 "every site is left out by --ignore 255"
run ood one.npy one.npy --axes MNCHW --renormalise --ignore 255
fails_with 1 "--ignore does not go with ood"
run ood one.npy one.npy --axes MNCHW --renormalise --bootstrap 20
fails_with 1 "--bootstrap of ood draws samples, and the sites of an image are not independent"
run ood one.npy one.npy --axes MNCHW --renormalise
exits 0

# compare: the figures of evaluate, intervals and tests from resamples of images, whose sites are not independent.
run evaluate one.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise --bootstrap 100 --json
low=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["intervals"]["nll"][0])' <"$folder/out")
nll=$(json nll)
run compare one.npy packed.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise
exits 1 # the axes of the second are others
sites worse.npy MNCHW f2
run compare one.npy one.npy worse.npy --axes MNCHW --labels maps.npy --ignore 255 --renormalise --bootstrap 100 \
    -o images.csv
exits 0
near "$(csv images.csv nll 0)" "$nll" 1e-12
near "$(csv images.csv nll_low 0)" "$low" 1e-12
near "$(csv images.csv nll_p 1)" 1
near "$(csv images.csv accuracy_p 1)" 1
near "$(csv images.csv nll_difference 2)" 0 1e-3
near "$(csv images.csv aurc 1)" "$(csv images.csv aurc 0)"
sites one-image.npy one-image
sites one-map.npy labels-one
run compare one-image.npy --axes CHW --labels one-map.npy --ignore 255 --renormalise
exits 0
says "one-image.npy: no intervals and no tests, which draw images: 1 image, at least 3 are needed"
sites small.npy labels-one
run compare one.npy one.npy --axes MNCHW --labels small.npy --renormalise
fails_with 1 "labels are (5, 7), but the predictions have sites (3, 5, 7)"
# calibrate and fit-k: the fit is that of the sites that stay, as samples; held out are whole images.
figure() { python3 -c 'import functools, json, sys
print(functools.reduce(lambda d, key: d[key], sys.argv[1:], json.load(sys.stdin)))' "$@" <"$folder/out"; }
# nan.npy: the same with the second half of the elements not a number
python3 -c 'b = open("one.npy", "rb").read(); n = (len(b) - 128) // 8 * 4
open("nan.npy", "wb").write(b[:-n] + b"\xff" * n)'
for fit in "calibrate --method vector --shared" "fit-k"; do
    run $fit flat.npz --folds 0 --json
    exits 0
    cp "$folder/out" wanted.json
    run $fit one.npy --axes MNCHW --labels maps.npy --ignore 255 --folds 0 --json
    exits 0
    near "$(figure images)" 3
    grep -v '"images"' "$folder/out" >found.json
    cmp -s wanted.json found.json && pass || fail "$fit of images: $(diff wanted.json found.json | head -5)"
    # Of images of equal sites the held-out figures are those of the samples, because no copy is in another fold.
    held="held_out nll"
    [ "$fit" = fit-k ] && held="by_class held_out nll"
    run $fit flat.npz --folds 2 --json
    wanted=$(figure $held)
    run $fit copies.npz --axes NMCHW --folds 2 --json
    exits 0
    near "$(figure $held)" "$wanted" 1e-7
    run $fit one.npy --axes MNCHW --labels maps.npy --ignore 255 --folds 5
    exits 0 # three images: each is held out by itself
    grep -q "sites of one image" "$folder/err" && fail "$fit of images: $(cat "$folder/err")" || pass
    run $fit one.npy --axes MHCWD --labels maps.npy --ignore 255
    exits 0
    says "no held-out figures: the sites of one image are not independent, and there is no other image"
    run $fit one.npy --axes MNCHW --labels none.npy --ignore 255
    fails_with 1 "every site is left out by --ignore 255"
    run $fit nan.npy --axes MNCHW --labels maps.npy --ignore 255
    fails_with 1 "(counted among the sites that --ignore keeps)"
    run $fit flat.npz --ignore 255
    fails_with 1 "--ignore leaves out sites of images: name the axes, --axes NMCHW"
    run $fit one.npy --axes MNCHW --labels maps.npy
    fails_with 1 "if it marks sites to leave out, give --ignore 255"
done
# Prediction sets: images of equal sites have the thresholds of samples; sites that are left out have no set.
run sets --calibration flat.npz --renormalise --alpha 0.2 --save samples.json
exits 0
run sets --calibration copies.npz --axes NMCHW --renormalise --alpha 0.2 --save images.json
exits 0
grep -q '"unit": "image"' images.json && pass || fail "no unit in images.json"
[ "$(grep '"threshold":' samples.json)" = "$(grep '"threshold":' images.json)" ] && pass || fail "threshold of images"
run sets one.npy --calibration members.npz --axes MNCHW --labels-key maps --renormalise --ignore 255 --alpha 0.5
exits 0
quiet
run sets members.npz --calibration members.npz --axes NCHW --labels-key maps --renormalise --ignore 255 --alpha 0.5 \
    -o sets.csv
exits 0
prints "calibrated on 3 images."
prints "Of 3 images, 11 sites left out: the image is the unit of exchange."
near "$(grep -c ',-2,-1,$' sets.csv)" 11
near "$(grep -c . sets.csv)" 106
run sets members.npz --thresholds images.json --axes NCHW --labels-key maps --renormalise
fails_with 1 "if it marks sites to leave out, give --ignore 255"
run sets members.npz --thresholds samples.json --axes NCHW --labels-key maps --renormalise --ignore 255
exits 0
says "the thresholds were calibrated on samples, these are images: nothing is promised for them"
run sets --calibration one.npy --axes MNCHW --labels none.npy --renormalise --ignore 255 --save none.json
fails_with 1 "every site is left out by --ignore 255"
run sets --calibration one.npy --axes MNCHW --labels maps.npy --renormalise --ignore 255 --alpha 0.2 --save few.json
exits 0
says "alpha 0.2: 3 calibration images: too few for a threshold; sets hold every class"
run decide members.npz --calibration members.npz --axes NCHW --labels-key maps --renormalise --ignore 255 --sets 0.5
exits 0
prints "94 samples, prediction sets at alpha = 0.5, calibrated on 3 images"
run decide members.npz --axes NCHW --renormalise --calibration members.npz --labels-key maps --target-risk 0.1
fails_with 1 "is outside 0..3"
cd "$root" || exit 1
