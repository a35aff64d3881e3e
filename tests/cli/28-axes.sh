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

# What does not fit: one line that lists what does.
sites one.npy NMCHW f4
run score one.npy
fails_with 1 "has 5 axes, expected 3 (samples, members, classes) or 2 (samples, classes); of images and volumes name"
run score one.npy --axes NMXHW
fails_with 1 "axes 'NMXHW': 'X' is no axis; use N samples, M members, C classes and, of images and volumes, H W D"
run score one.npy --axes NMC
fails_with 1 "names 3, but the array has 5 (3, 3, 4, 5, 7); what fits: NMCHW, MNCHW or NCHWM"
run score one.npy --axes NMCHH
fails_with 1 "H is there twice"
cd "$root" || exit 1
