# test_python.sh - builds the Python wheel from this tree, installs it into build/python-venv and runs python/tests
# there. Skipped (77) where there is no python3-venv, or no PyPI to install the tools from. VARGATE_PYTHON names another
# interpreter; packages that are already in the environment are not asked for again, so a second run needs no network.
set -u
python=${VARGATE_PYTHON:-python3} folder=$(pwd)/build/python-venv
skip() {
    echo "skipped: $*"
    exit 77
}

if [ -n "${VARGATE_BUILD:-}" ] && grep -q '^VG_SANITIZE:[A-Z]*=.' "$VARGATE_BUILD/CMakeCache.txt" 2>/dev/null; then
    skip "a build with sanitizers"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    skip "$python is not CPython 3.10 or later"
if [ ! -x "$folder/bin/python" ]; then
    "$python" -m venv "$folder" 2>/dev/null || {
        rm -rf "$folder"
        skip "$python -m venv does not work (apt-get install python3-venv)"
    }
fi
pip() {
    "$folder/bin/python" -m pip --disable-pip-version-check --quiet "$@"
}
wanted=$(cat python/tests/requirements*.txt | cksum)
if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
    pip install --timeout 15 --retries 1 -r python/tests/requirements.txt >"$folder/pip.log" 2>&1 ||
        skip "pip cannot install the tools of the tests: $(tail -n 1 "$folder/pip.log")"
    while read -r package; do # one by one: a package that cannot be installed is left out
        timeout 300 "$folder/bin/python" -m pip --disable-pip-version-check --quiet install \
            --timeout 15 --retries 1 $package \
            >>"$folder/pip.log" 2>&1 || echo "without $package"
    done <python/tests/requirements-optional.txt
    echo "$wanted" >"$folder/wanted"
fi

rm -rf build/python-dist
PATH="$folder/bin:$PATH" pip wheel --no-deps --no-build-isolation --wheel-dir build/python-dist . \
    >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log"
    echo "the wheel does not build"
    exit 1
}
VARGATE_WHEEL=$(ls "$(pwd)"/build/python-dist/vargate_uq-*.whl)
export VARGATE_WHEEL
pip uninstall -y vargate 2>/dev/null # an environment made before the package was called vargate-uq
pip install --no-deps --force-reinstall "$VARGATE_WHEEL" || exit 1

# From the tests' folder: the package that is tested is the installed one, not the sources.
unset PYTHONPATH VARGATE_LIBRARY VARGATE_PROGRAM
# Where lines are counted, the library and the program of that build are called in place of the wheel's.
if grep -q '^VG_COVERAGE:BOOL=ON' "${VARGATE_BUILD:-build/release}/CMakeCache.txt" 2>/dev/null; then
    export VARGATE_LIBRARY="$VARGATE_BUILD/libvargate.so" VARGATE_PROGRAM="$VARGATE"
fi
report=build/python-tests.txt
nice -n 10 "$folder/bin/python" -m pytest -p no:cacheprovider -q -rs --color=no "${VARGATE_PYTESTS:-python/tests}" \
    "$@" >"$report" 2>&1
status=$?
cat "$report"
# The counts as scripts/test.sh reads them.
tail -n 1 "$report" | awk '{
    for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed/) p = $(i - 1)
        if ($i ~ /^failed/) f = $(i - 1)
        if ($i ~ /^error/) f += $(i - 1)
    }
    printf "%d passed, %d failed\n", p, f
}'
[ "$status" = 0 ]
