#!/bin/sh
# wheels.sh [ARCH...] - the Python wheels and the source distribution, in dist/. ARCH: x86_64, aarch64 (default: both).
# zig's C compiler (PyPI: ziglang) compiles for both on any machine, against glibc 2.17, so that the wheels are
# manylinux_2_17. Tools are installed into build/wheels-venv; of the system, only g++ is used, by nvcc.
# The x86_64 wheel holds device code. nvcc and the headers of cuDNN and cuBLASLt are those of NVIDIA's packages on PyPI
# (a download of 900 MB, once) unless CUDA_TOOLS names a folder with bin/nvcc, and CUDA_HEADERS one with include/cudnn.h
# and include/cublasLt.h. CUDA=no leaves device code out.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- x86_64 aarch64
tools=$(pwd)/build/wheels-venv glibc=2.17 tag=manylinux_2_17 most=12582912
python=${VARGATE_PYTHON:-python3}

[ -x "$tools/bin/python" ] || "$python" -m venv "$tools"
"$tools/bin/python" -c 'import ziglang, auditwheel, build, wheel, scikit_build_core' 2>/dev/null ||
    "$tools/bin/python" -m pip --disable-pip-version-check --quiet install 'ziglang>=0.13' auditwheel build wheel \
        'scikit-build-core>=0.11' 'cmake>=3.21' ninja
rm -f dist/*.whl dist/*.tar.gz
mkdir -p dist build/zig
cat >build/zig/ar <<END
#!/bin/sh
exec "$tools/bin/python" -m ziglang ar "\$@"
END
chmod +x build/zig/ar

# The CUDA tool chain: prints the options of CMake for it.
cuda_options() {
    bin=${CUDA_TOOLS:-$(pwd)/build/cuda-tools/nvidia/cu13} headers=${CUDA_HEADERS:-$(pwd)/build/cuda-headers}
    if [ ! -x "$bin/bin/nvcc" ]; then
        "$tools/bin/python" -m pip --disable-pip-version-check --quiet install --no-deps --target build/cuda-tools \
            'nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-runtime==13.0.*' \
            'nvidia-cuda-cccl==13.0.*' >&2
        chmod +x "$bin"/bin/* "$bin"/nvvm/bin/*
        ln -sfn lib "$bin/lib64" # links that the packages lack and nvcc and CMake look for
        ln -sfn libcudart.so.13 "$bin/lib/libcudart.so"
    fi
    if [ ! -e "$headers/include/cudnn.h" ]; then
        "$tools/bin/python" -m pip --disable-pip-version-check --quiet download --no-deps --dest build/cuda-wheels \
            nvidia-cudnn-cu13==9.14.0.64 nvidia-cublas==13.0.2.14 >&2
        for file in build/cuda-wheels/*.whl; do
            "$tools/bin/python" - "$file" "$headers" >&2 <<'END'
import os, shutil, sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if "/include/" in name and not name.endswith("/"):
            target = os.path.join(sys.argv[2], "include", name.split("/include/")[1])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with wheel.open(name) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
END
        done
        rm -r build/cuda-wheels
    fi
    echo "-DVG_CUDA=ON -DCMAKE_CUDA_COMPILER=$bin/bin/nvcc -DCMAKE_CUDA_HOST_COMPILER=$(command -v g++)
        -DCUDAToolkit_ROOT=$bin -DVG_CUDNN_INCLUDE=$headers/include -DVG_CUBLAS_INCLUDE=$headers/include"
}

for arch in "$@"; do
    cuda=
    if [ "$arch" = x86_64 ] && [ "${CUDA:-yes}" != no ]; then
        cuda=$(cuda_options)
    fi
    compiler=$(pwd)/build/zig/cc-$arch
    cat >"$compiler" <<END
#!/bin/sh
exec "$tools/bin/python" -m ziglang cc -target $arch-linux-gnu.$glibc "\$@"
END
    chmod +x "$compiler"
    echo "== $arch"
    rm -rf "build/wheels/$arch"
    PATH="$tools/bin:$PATH" CC=$compiler _PYTHON_HOST_PLATFORM=linux-$arch \
        CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$arch -DCMAKE_C_COMPILER=$compiler
            -DCMAKE_AR=$(pwd)/build/zig/ar -DCMAKE_RANLIB=/bin/true -DCMAKE_C_COMPILER_AR=$(pwd)/build/zig/ar
            -DCMAKE_C_COMPILER_RANLIB=/bin/true $cuda" \
        "$tools/bin/python" -m build --wheel --no-isolation --outdir "build/wheels/$arch" \
        "-Cbuild-dir=build/wheel-$arch" . >"build/wheels-$arch.log" 2>&1 || {
        tail -n 40 "build/wheels-$arch.log"
        echo "the wheel for $arch does not build: build/wheels-$arch.log"
        exit 1
    }
    "$tools/bin/python" -m wheel tags --remove --platform-tag "${tag}_$arch" "build/wheels/$arch"/*.whl >/dev/null
    wheel=$(ls "build/wheels/$arch"/*.whl)
    "$tools/bin/python" -m auditwheel show "$wheel" >"build/wheels-$arch.audit" 2>&1 || true
    tr '\n' ' ' <"build/wheels-$arch.audit" | grep -q "\"manylinux_2_\(5\|12\|17\)_$arch\"" || {
        cat "build/wheels-$arch.audit"
        echo "the wheel for $arch needs more than $tag"
        exit 1
    }
    size=$(wc -c <"$wheel")
    [ "$size" -le "$most" ] || { echo "$wheel: $size bytes, at most $most are wanted" && exit 1; }
    mv "$wheel" dist/
done
"$tools/bin/python" -m build --sdist --no-isolation --outdir dist . >build/sdist.log 2>&1 || {
    tail -n 20 build/sdist.log
    exit 1
}
ls -l dist | awk 'NR > 1 { print $5, $9 }'
