#!/bin/sh
# The commands of docs/your-images.md, as they are there, on a small folder of JPEG files: fewer and smaller images,
# fewer epochs, and a target that they can meet.
set -u
: "${VARGATE_BUILD:?is set by ctest}"
[ -n "${VARGATE:-}" ] || { echo "the program is not built" && exit 77; }
grep -q '^VG_SANITIZE:STRING=.' "$VARGATE_BUILD/CMakeCache.txt" && { echo "not under sanitizers" && exit 77; }
root=$(pwd)
page=$root/docs/your-images.md
build=$(cd "$VARGATE_BUILD" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
ln -s "$(pwd)/examples" "$folder/examples"
PATH=$(dirname "$VARGATE"):$PATH
export PATH
block() { awk -v kind="$1" '$0 == "```" kind { on = 1; next } /^```$/ { on = 0 } on' "$page"; }
block yaml | sed -e 's/^epochs: .*/epochs: 8/' -e 's/^heads: .*/heads: 3/' >"$folder/photos.yaml"
block sh | sed -e 's/^\.\/shapes photos$/& 40 40/' -e 's/--target-risk 0\.08/--target-risk 0.9/' >"$folder/commands"
[ "$(wc -l <"$folder/commands")" -ge 8 ] || { echo "docs/your-images.md: fewer commands than expected" && exit 1; }
cd "$folder" || exit 1
if ! printf '#include <stdio.h>\n#include <jpeglib.h>\nint main(void) { return 0; }\n' >probe.c ||
    ! cc probe.c -o probe -ljpeg 2>/dev/null || vargate data info path:examples 2>&1 | grep -q "no libjpeg"; then
    echo "no libjpeg, or no compiler" && exit 77
fi
failed=0
while read -r command; do
    sh -c "$command" >out 2>err </dev/null || { echo "FAILED: $command" && head -n 3 err && failed=1 && break; }
    case $command in
    "vargate data info"*) grep -q "^train  *120 images of 32x32, 3 channels" out || { cat out && failed=1; } ;;
    "head "*) grep -q "^0000.jpg,[012],-*[012]," out || { cat out && failed=1; } ;;
    esac
done <commands
[ -s runs/photos/report/report.html ] || { echo "no report page" && failed=1; }
[ "$(wc -l <decisions.csv)" -eq 41 ] || { echo "decisions.csv: other than one line for each new image" && failed=1; }
# the block of Python, where the environment of test_python.sh is there: the run is done, so it only predicts
python=$root/build/python-venv/bin/python
if [ -x "$python" ] && [ -e "$build/libvargate.so" ]; then
    block python >photos.py
    PYTHONPATH=$root/python VARGATE_LIBRARY=$build/libvargate.so "$python" photos.py >out 2>err ||
        { echo "FAILED: the block of Python" && tail -n 3 err && failed=1; }
    grep -q "0000.jpg" out || { cat out && failed=1; }
fi
# what the page promises about damaged files
head -c 300 photos/train/circle/0001.jpg >photos/train/circle/0000.jpg
vargate data info path:photos --set resize=32 >out 2>err
grep -q "photos/train/circle/0000.jpg: damaged JPEG" err || { cat err && failed=1; }
vargate data info path:photos --set resize=32 --set skip_corrupt=yes >out 2>err
grep -q "skipped 1 file" out || { cat out err && failed=1; }
exit $failed
