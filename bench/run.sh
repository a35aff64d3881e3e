#!/bin/sh
# run.sh BUILD - every benchmark of a build folder, with its peers, in one run: JSON lines on stdout, a table on stderr
# at the end. The lines are kept in BUILD/bench.jsonl. README.md beside this file says what is measured.
#
#   BENCH_DIVIDE=20     a twentieth of the samples: to see that everything works; the figures are not meaningful
#   BENCH_DATA=trained  predictions as classifiers give them instead of Dirichlet(1)
#   BENCH_THREADS=2
#   BENCH_KINDS=f32     the grid of float32 probabilities alone; all, the default: logits and every type too
#   BENCH_ONLY=score    scoring alone (score, evaluate, grid, peers, sets, others, python: comma list)
#   BENCH_PYTHON=...    a Python with numpy and torch to use; otherwise build/bench-venv is made, once
#   BENCH_PIP_ARGS=...  more arguments for pip, e.g. --extra-index-url of PyTorch's CPU-only packages
set -u
build=${1:?usage: run.sh BUILD}
divide=${BENCH_DIVIDE:-1}
data=${BENCH_DATA:-dirichlet}
threads=${BENCH_THREADS:-2}
only=,${BENCH_ONLY:-score,evaluate,grid,peers,sets,others,python},
here=$(dirname "$0")
lines=$build/bench.jsonl
work=$build/bench-work
status=0
mkdir -p "$work"
: >"$lines"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

wanted() { case $only in *,"$1",*) return 0 ;; esac; return 1; }
note() { echo "bench: $*" >&2; }
# keep COMMAND...: runs it, its stdout shown and kept; remembers failure.
keep() {
    note "$*"
    { "$@" || echo failed >"$work/failed"; } | tee -a "$lines"
    if [ -f "$work/failed" ]; then
        note "failed: $*"
        rm -f "$work/failed"
        status=1
    fi
}

# The peers' Python: current releases from PyPI, in a virtual environment of the benchmark's own.
find_python() {
    if [ -n "${BENCH_PYTHON:-}" ]; then
        python=$BENCH_PYTHON
        return 0
    fi
    python=build/bench-venv/bin/python
    if [ ! -f build/bench-venv/ready ]; then
        note "making build/bench-venv (PyTorch is a large download)"
        rm -rf build/bench-venv
        python3 -m venv build/bench-venv >&2 &&
            # shellcheck disable=SC2086
            build/bench-venv/bin/pip install --quiet ${BENCH_PIP_ARGS:-} torch==2.13.0 numpy setuptools \
                scikit-learn tqdm >&2 &&
            build/bench-venv/bin/pip install --quiet ${BENCH_PIP_ARGS:-} --no-deps mapie torchcp >&2 &&
            touch build/bench-venv/ready
    fi
    [ -f build/bench-venv/ready ]
}

# peers_at C SAMPLES MEASURED_TORCH MEASURED_NUMPY TUNED: both peers on the same predictions as ours, values checked
# against ours.
peers_at() {
    samples=$(($2 / divide)); torch=$(($3 / divide)); numpy=$(($4 / divide))
    [ $torch -ge 20 ] || torch=20
    [ $numpy -ge 20 ] || numpy=20
    most=$torch
    [ $numpy -le $most ] || most=$numpy
    [ $samples -ge $most ] || samples=$most
    "$build/bench_score" --dump "$work/p.npy" $most 100 "$1" --data "$data" --threads "$threads" &&
        "$build/vargate" score "$work/p.npy" --threads "$threads" --quiet -o "$work/scores.npz" || { status=1; return; }
    tuned=$5
    [ $tuned -le $most ] || tuned=$most
    OMP_NUM_THREADS=$threads keep "$python" "$here/peers/score_torch.py" "$work/p.npy" "$work/scores.npz" \
        --samples $samples \
        --measured $torch --tuned $tuned --threads "$threads"
    keep "$python" "$here/peers/score_numpy.py" "$work/p.npy" "$work/scores.npz" --samples $samples --measured $numpy \
        --tuned $tuned --threads "$threads"
    rm -f "$work/p.npy" "$work/scores.npz"
}

if wanted score; then
    keep "$build/bench_score" --threads "$threads" --divide "$divide" --data "$data" \
        --vargate "$build/vargate" --folder "$work"
fi

if wanted evaluate; then
    keep python3 "$here/bench_evaluate.py" "$build" "$work" --divide "$divide"
fi

python=
if wanted grid || wanted peers || wanted sets || wanted others || wanted python; then
    find_python || { note "no Python with torch and numpy: peers are left out"; python=; status=1; }
fi
# Every number of members and classes beside PyTorch's TU, AU and EU; its own table on stderr.
if wanted grid && [ -n "$python" ]; then
    keep env PYTHONPATH=python VARGATE_LIBRARY="$build/libvargate.so" "$python" "$here/peers/score_grid.py" \
        --threads "$threads" --kinds "${BENCH_KINDS:-all}" --megabytes $((200 / divide > 0 ? 200 / divide : 1))
fi
if wanted peers && [ -n "$python" ]; then
    peers_at 10 10000 2000 2000 400
    peers_at 100 10000 400 400 100
fi

# Prediction sets beside MAPIE and TorchCP, where the Python has them.
if wanted sets && [ -n "$python" ]; then
    keep env PYTHONPATH=python VARGATE_LIBRARY="$build/libvargate.so" BENCH_THREADS="$threads" \
        "$python" "$here/peers/sets_peers.py" $((100000 / divide)) 100 $((20000 / divide))
fi

# The other parts. bench_train runs its peer itself, with the Python named here.
if wanted others; then
    [ -z "$python" ] || export VARGATE_PEER_PYTHON="$python"
    for source in "$here"/bench_*.c; do
        [ -e "$source" ] || continue
        name=$(basename "$source" .c)
        [ -x "$build/$name" ] || { note "$name is not built"; continue; }
        small=
        if [ "$divide" -gt 1 ]; then
            case $name in
            bench_train) small=--quick ;;
            bench_calibrate) small="1000 20 100" ;;
            esac
        fi
        # shellcheck disable=SC2086
        keep "$build/$name" $small
        peer=$here/peer_${name#bench_}.py
        [ ! -e "$peer" ] || [ -z "$python" ] || keep "$python" "$peer"
    done
fi

# The Python package, beside other packages of PyPI.
if wanted python && [ -n "$python" ]; then
    BENCH_PYTHON=$python BENCH_DIVIDE=$divide BENCH_THREADS=$threads keep sh "$here/python/run.sh"
fi

keep "${python:-python3}" "$here/score/table.py" "$lines"
exit $status
