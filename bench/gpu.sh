#!/bin/sh
# gpu.sh [BUILD] - on a machine with an NVIDIA GPU: configures and builds with CUDA, runs the tests that need the GPU,
# measures training, prediction and scoring there and by PyTorch in the same run, and ends with one table: vargate,
# PyTorch, ratio, target.
# JSON lines on stdout and in BUILD/gpu.jsonl (BUILD: build/gpu). Needs nvcc, cuDNN, cuBLAS; PyTorch for the peers.
#
#   GPU_ONLY=build,test     some sections alone: build, test, sanitize, train, mnist, predict, measures, peers; the
#                           table shows the newest line of each figure. Default: all but sanitize, from an empty
#                           gpu.jsonl
#   GPU_PEERS=wrn,mnist     which peers: wrn, mnist, predict, measures
#   GPU_WRN_VARIANTS=...    variants of a peer to measure (bench/gpu/peer_wrn.py --help); also GPU_MNIST_VARIANTS,
#                           GPU_PREDICT_VARIANTS, GPU_MEASURES_VARIANTS
#   GPU_PYTHON=python3      a Python with PyTorch
#   GPU_CMAKE_ARGS=...      more arguments for CMake, e.g. -DVG_CUDNN_ROOT=... -DCMAKE_CUDA_ARCHITECTURES=90
#   GPU_JOBS=N              compilers at once
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/gpu}
only=,${GPU_ONLY:-build,test,train,mnist,predict,measures,peers},
peers=,${GPU_PEERS:-wrn,mnist,predict,measures},
python=${GPU_PYTHON:-python3}
jobs=${GPU_JOBS:-$(nproc 2>/dev/null || echo 4)}
lines=$build/gpu.jsonl
status=0
mkdir -p "$build"
[ -n "${GPU_ONLY:-}" ] || : >"$lines"
touch "$lines"
TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$(pwd)/$build/inductor}
export TORCHINDUCTOR_CACHE_DIR PYTHONUNBUFFERED=1

wanted() { case $only in *,"$1",*) return 0 ;; esac; return 1; }
peer() { case $peers in *,"$1",*) return 0 ;; esac; return 1; }
note() { echo "gpu: $*" >&2; }
# within SECONDS COMMAND...: runs it, bounded; says how long it took; remembers failure.
within() {
    limit=$1 begin=$(date +%s)
    shift
    timeout -k 5 "$limit" "$@"
    code=$?
    note "$(($(date +%s) - begin)) s, status $code: $*"
    [ $code = 0 ] || status=1
    return $code
}
# keep SECONDS COMMAND...: the same, its stdout shown and kept.
keep() { { within "$@" || touch "$build/failed"; } | tee -a "$lines"; }

nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used,clocks.sm --format=csv,noheader >&2 ||
    { note "nvidia-smi finds no GPU"; exit 1; }
rm -f "$build/failed"

if wanted build; then
    generator=Ninja
    command -v ninja >/dev/null 2>&1 || generator='Unix Makefiles'
    architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    # shellcheck disable=SC2086
    within 60 cmake -S . -B "$build" -G "$generator" -DVG_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$architecture" \
        ${GPU_CMAKE_ARGS:-} >&2 ||
        exit 1
    within 280 cmake --build "$build" -j "$jobs" >&2 || exit 1
    within 60 cmake --build "$build" -j "$jobs" --target gpu-bench-programs >&2 || exit 1
fi

# The tests that touch the GPU; a folder of programs built elsewhere has no list for ctest.
run_tests() {
    if [ -f "$build/CTestTestfile.cmake" ]; then
        within 240 ctest --test-dir "$build" -R '^test_(backend|device)|cuda' -j 4 --output-on-failure --no-tests=error
        return
    fi
    for program in "$build"/tests/test_*; do
        [ -x "$program" ] || continue
        { timeout -k 5 200 "$program" >"$program.log" 2>&1; echo $? >"$program.status"; } &
    done
    wait
    VARGATE=$build/vargate within 60 sh tests/cuda/test_cuda_device.sh
    for program in "$build"/tests/test_*.status; do
        code=$(cat "$program")
        log=${program%.status}.log
        note "status $code: $(basename "${program%.status}"): $(grep -c '       OK ' "$log") cases passed"
        [ "$code" = 0 ] || { cat "$log" && status=1; }
    done
}
if wanted test; then
    export VARGATE_REQUIRE_GPU=1
    run_tests >&2
    unset VARGATE_REQUIRE_GPU
fi
if wanted sanitize; then
    sh scripts/gpu_sanitize.sh "$build" "${GPU_SANITIZE_SECONDS:-300}" >&2 || status=1
fi

# Ours.
if wanted train; then
    keep 100 "$build/bench_gpu" --what train --network wrn-28-10 --steps 60 --epochs 6
    keep 60 "$build/bench_gpu" --what train --network wrn-28-10 --steps 60 --epochs 4 --augment 1
fi
if wanted mnist; then
    keep 60 "$build/bench_gpu" --what train --network cnn --steps 422 --epochs 16
fi
if wanted predict; then
    keep 90 "$build/bench_gpu" --what predict --network wrn-28-10
fi
if wanted measures; then
    if [ -x "$build/bench_measures" ]; then
        keep 60 "$build/bench_measures"
    else
        note "bench_measures is not built"
        status=1
    fi
fi

# PyTorch's.
if wanted peers; then
    if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
        here=bench/gpu
        peer wrn && keep 420 "$python" $here/peer_wrn.py --timeout 170 \
            --variants "${GPU_WRN_VARIANTS:-default,graph,graph-max-autotune}"
        peer mnist && keep 150 "$python" $here/peer_mnist.py --timeout 70 \
            --variants "${GPU_MNIST_VARIANTS:-graph,graph-compiled,graph-compiled-20}"
        peer predict && keep 100 "$python" $here/peer_predict.py --timeout 60 \
            --variants "${GPU_PREDICT_VARIANTS:-eager,eager-half}"
        peer measures && keep 170 "$python" $here/peer_measures.py --timeout 120 \
            --variants "${GPU_MEASURES_VARIANTS:-diagonals,compiled}"
    else
        note "$python has no PyTorch that sees the GPU: peers are left out (GPU_PYTHON names another)"
        status=1
    fi
fi

[ ! -f "$build/failed" ] || { rm -f "$build/failed"; status=1; }
"$python" bench/gpu/gpu_table.py "$lines"
exit $status
