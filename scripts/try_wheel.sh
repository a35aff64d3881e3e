#!/bin/sh
# try_wheel.sh PYTHON [NUMPY] - installs the wheel of dist/ for this machine into a fresh environment of that
# interpreter, with NumPy or the given version of it, and uses it: import, score, the program, a short training.
set -eu
cd "$(dirname "$0")/.."
python=$1 numpy=${2:-numpy} root=$(pwd)
wheel=$(ls "$root"/dist/vargate_uq-*manylinux*_"$(uname -m)".whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/env"
"$folder/env/bin/python" -m pip --disable-pip-version-check --quiet install "$numpy" "$wheel" 2>/dev/null
cd "$folder"
env -i HOME="$folder" PATH=/usr/bin:/bin "$folder/env/bin/python" - <<'END'
import sys

import numpy as np
import vargate

p = np.random.default_rng(0).dirichlet(np.ones(10), size=(100, 20))
s = vargate.score(p)
mean = p.mean(axis=1)
assert np.allclose(s.tu, -(mean * np.log(mean)).sum(axis=1), atol=1e-12)
assert (s.decide(k=1) >= -1).all()
print(f"CPython {sys.version.split()[0]}, NumPy {np.__version__}, vargate {vargate.__version__} ({vargate.cpu_tier()})")
END
env -i HOME="$folder" PATH=/usr/bin:/bin "$folder/env/bin/vargate" doctor >doctor.txt
grep '^training' doctor.txt
env -i HOME="$folder" PATH=/usr/bin:/bin "$folder/env/bin/vargate" run -q --set epochs=1 --set train_limit=512 -o run \
    >/dev/null
[ -s run/results.json ]
echo "the wheel works"
