#!/bin/sh
# wheels.sh [ARCH...] - the Python wheels and the source distribution, in dist/. ARCH: x86_64, aarch64 (default: both).
# zig's C compiler (PyPI: ziglang) compiles for both on any machine, against glibc 2.17, so that the wheels are
# manylinux_2_17. Tools are installed into build/wheels-venv; nothing else of the system is used.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- x86_64 aarch64
tools=$(pwd)/build/wheels-venv glibc=2.17 tag=manylinux_2_17 most=12582912
python=${VARGATE_PYTHON:-python3}

[ -x "$tools/bin/python" ] || "$python" -m venv "$tools"
"$tools/bin/python" -c 'import ziglang, auditwheel, build, wheel, scikit_build_core' 2>/dev/null ||
    "$tools/bin/python" -m pip --disable-pip-version-check --quiet install 'ziglang>=0.13' auditwheel build wheel \
        'scikit-build-core>=0.11' 'cmake>=3.21' ninja
rm -rf dist
mkdir -p dist build/zig
cat >build/zig/ar <<END
#!/bin/sh
exec "$tools/bin/python" -m ziglang ar "\$@"
END
chmod +x build/zig/ar

for arch in "$@"; do
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
            -DCMAKE_C_COMPILER_RANLIB=/bin/true" \
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
