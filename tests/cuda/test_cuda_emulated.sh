#!/bin/sh
# The CUDA kernels of the layers, compiled for the host and run there against the plain backend (tests/cuda). Needs a
# C++ compiler and cmocka, not CUDA.
set -u
: "${CC:=cc}" "${CXX:=c++}"
command -v "$CXX" >/dev/null 2>&1 || { echo "skipped: no C++ compiler" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
common="-O1 -Wall -Wextra -Wno-unknown-pragmas -Itests/backend -Itests/cuda/fake -Isrc -Iinclude"
common="$common -D_POSIX_C_SOURCE=200809L -DVG_HAVE_CUDA -DVG_VERSION=vg_error_message()"
for kernel in norm pooling average repeat gate; do
    unit=$kernel
    [ $kernel = gate ] && unit=head_gate
    $CXX -std=c++17 $common -x c++ -c "src/backend/cuda/$unit.cu" -o "$folder/$kernel.o" || exit 1
    $CC -std=c17 $common -c "src/backend/cuda/cuda_$kernel.c" -o "$folder/cuda_$kernel.o" || exit 1
done
$CXX -std=c++17 $common -c tests/cuda/emulate.cpp -o "$folder/emulate.o" || exit 1
for source in src/backend/cuda/cuda_layers.c src/backend/registry.c src/backend/host_memory.c src/backend/ref/*.c \
    src/base/c_locale.c src/base/memory.c src/base/printable.c src/base/random.c src/base/status.c \
    tests/cuda/emulated_ops.c; do
    $CC -std=c17 $common -Wno-unused-function -c "$source" -o "$folder/$(basename "$source" .c).c.o" || exit 1
done
$CXX "$folder"/*.o -o "$folder/emulated" -lcmocka -lm || exit 1
"$folder/emulated" || exit 1
own=src/backend/cuda/conv_pooling # an optional folder
[ -d $own ] || exit 0
for kernel in conv_pooling conv_pooling_wide conv_wide_data; do
    $CXX -std=c++17 $common -x c++ -c "$own/$kernel.cu" -o "$folder/$kernel.obj" || exit 1
done
$CC -std=c17 $common -Wno-unused-function -c tests/cuda/emulated_conv_pooling.c \
    -o "$folder/emulated_conv_pooling.obj" || exit 1
$CXX "$folder"/*.obj "$folder/emulate.o" "$folder/memory.c.o" "$folder/random.c.o" \
    "$folder/c_locale.c.o" "$folder/printable.c.o" "$folder/status.c.o" -o "$folder/conv_pooling" -lcmocka -lm || exit 1
"$folder/conv_pooling"
