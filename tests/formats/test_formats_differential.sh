# test_formats_differential.sh - our readers against NumPy, pandas and safetensors on 6,000 mutated files.
# VARGATE_DIFFERENTIAL=1000000 asks for so many. Needs a Python that has all three (python3, or build/python-venv);
# skipped without one.
python=''
for candidate in build/python-venv/bin/python python3; do
    if "$candidate" -c 'import numpy, pandas, safetensors' 2>/dev/null; then
        python=$candidate
        break
    fi
done
program=$VARGATE_BUILD/tests/dump_arrays
[ -n "$python" ] && [ -x "$program" ] || exit 77
exec "$python" tests/formats/differential.py "$program" --cases "${VARGATE_DIFFERENTIAL:-6000}" \
    --seed "${VARGATE_SEED:-1}"
