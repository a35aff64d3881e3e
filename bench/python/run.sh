#!/bin/sh
# run.sh - the Python package's benchmark: JSON lines on stdout (figures.py says which). BENCH_PYTHON is a Python with
# torch and numpy; what is missing there is installed into build/bench-python beside it, the wheel built from this tree
# among it.
#   BENCH_THREADS=2  BENCH_DIVIDE=1
set -eu
here=$(dirname "$0")
python=${BENCH_PYTHON:-python3}
folder=build/bench-python
if [ ! -f "$folder/ready" ]; then
    rm -rf "$folder"
    "$python" -m venv --system-site-packages "$folder" >&2
    # A virtual environment on top of another one sees that one's packages only through a path file.
    purelib='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$python" -c "$purelib" >"$("$folder/bin/python" -c "$purelib")/below.pth"
    "$folder/bin/pip" install --quiet scikit-build-core scikit-learn scipy matplotlib torchmetrics tqdm >&2
    "$folder/bin/pip" install --quiet --no-deps torch-uncertainty probly netcal >&2 ||
        echo "bench: some peers could not be installed" >&2
    touch "$folder/ready"
fi
PATH="$(pwd)/$folder/bin:$PATH" "$folder/bin/pip" install --quiet --no-deps --no-build-isolation --force-reinstall . >&2
export OMP_NUM_THREADS="${BENCH_THREADS:-2}"
exec "$folder/bin/python" "$here/figures.py" --threads "${BENCH_THREADS:-2}" --divide "${BENCH_DIVIDE:-1}"
