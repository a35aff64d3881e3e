#!/bin/sh
# vargate as part of another project: by FetchContent from a folder (the static library) and by add_subdirectory (the
# shared one, which BUILD_SHARED_LIBS asks for). examples/score.c links vargate::vargate and must print the known
# values, and the enclosing project must keep its own flags, folder properties, targets, tests and cache.
set -u
: "${VARGATE_BUILD:?is set by ctest}"
grep -q '^VG_SANITIZE:STRING=.' "$VARGATE_BUILD/CMakeCache.txt" && { echo "not under sanitizers" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*"
    exit 1
}
quietly() { "$@" >"$folder/log" 2>&1 || { tail -n 40 "$folder/log" && fail "failed: $*"; }; }

mkdir "$folder/parent"
cat >"$folder/parent/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(parent LANGUAGES C)
enable_testing()
set(watched CMAKE_BUILD_TYPE CMAKE_C_FLAGS CMAKE_C_FLAGS_RELEASE CMAKE_C_FLAGS_DEBUG CMAKE_C_STANDARD CMAKE_C_EXTENSIONS
  CMAKE_C_VISIBILITY_PRESET CMAKE_POSITION_INDEPENDENT_CODE CMAKE_MODULE_PATH
  CMAKE_EXPORT_COMPILE_COMMANDS BUILD_SHARED_LIBS)
set(properties COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS LINK_DIRECTORIES
  BUILDSYSTEM_TARGETS TESTS)
foreach(name ${watched})
  set(before_${name} "${${name}}")
endforeach()
foreach(name ${properties})
  get_directory_property(before_${name} ${name})
endforeach()
get_cmake_property(cache_before CACHE_VARIABLES)

if(WAY STREQUAL "FetchContent")
  include(FetchContent)
  get_cmake_property(cache_before CACHE_VARIABLES)
  FetchContent_Declare(vargate SOURCE_DIR ${VARGATE_SOURCE})
  FetchContent_MakeAvailable(vargate)
  set(vargate_folder ${vargate_SOURCE_DIR})
else()
  add_subdirectory(${VARGATE_SOURCE} _deps/vargate-build)
  set(vargate_folder ${VARGATE_SOURCE})
endif()

foreach(name ${watched})
  if(NOT "${${name}}" STREQUAL "${before_${name}}")
    message(SEND_ERROR "${name} was '${before_${name}}' and is '${${name}}'")
  endif()
endforeach()
foreach(name ${properties})
  get_directory_property(now ${name})
  if(NOT "${now}" STREQUAL "${before_${name}}")
    message(SEND_ERROR "the folder's ${name} was '${before_${name}}' and is '${now}'")
  endif()
endforeach()
get_property(targets DIRECTORY ${vargate_folder} PROPERTY BUILDSYSTEM_TARGETS)
foreach(target ${targets})
  if(NOT target MATCHES "^vargate(-|$)")
    message(SEND_ERROR "the target ${target} does not carry the library's name")
  endif()
endforeach()
get_property(tests DIRECTORY ${vargate_folder} PROPERTY TESTS)
if(tests)
  message(SEND_ERROR "tests that were not requested: ${tests}")
endif()
# What a user sees of the cache: the library's own names, and those that CMake's modules make for what they find.
get_cmake_property(cache CACHE_VARIABLES)
list(REMOVE_ITEM cache ${cache_before})
foreach(name ${cache})
  get_property(type CACHE ${name} PROPERTY TYPE)
  get_property(advanced CACHE ${name} PROPERTY ADVANCED)
  if(NOT type STREQUAL "INTERNAL" AND NOT advanced
     AND NOT name MATCHES "^(VG_|vargate_|FETCHCONTENT_|CMAKE_INSTALL_|PKG_CONFIG_|pkgcfg_lib_|OpenMP_|CMAKE_PROJECT_)")
    message(SEND_ERROR "the cache has a new ${name} (${type})")
  endif()
endforeach()

add_executable(score ${VARGATE_SOURCE}/examples/score.c)
target_link_libraries(score PRIVATE vargate::vargate)
END
cat >"$folder/expected" <<'END'
sample 0: TU 0.4186  GTU 0.4116  GMU 0.1100  class 0
sample 1: TU 1.0409  GTU 1.0251  GMU 0.9583  class -1
END

configure() { # configure BUILD WAY EXTRA_CMAKE_ARGUMENTS...
    build=$1 way=$2
    shift 2
    rm -f "$build/CMakeCache.txt"
    quietly cmake -S "$folder/parent" -B "$build" -DWAY="$way" -DVARGATE_SOURCE="$(pwd)" -DVG_CUDA=OFF \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_C_FLAGS=-DPARENT_FLAG "$@"
    grep '"command"' "$build/compile_commands.json" | grep '/src/measures/' >"$folder/commands"
    [ -s "$folder/commands" ] || fail "$way: nothing of src/measures is compiled"
    grep -v -e ' -DPARENT_FLAG ' "$folder/commands" && fail "$way: CMAKE_C_FLAGS is not respected"
    grep -e ' -Werror' "$folder/commands" && fail "$way: warnings are errors in another project"
    grep -e ' -O[1-9sf]' "$folder/commands" && fail "$way: compiled with an optimisation that was not requested"
    return 0
}
check() {
    quietly cmake --build "$build" -j 2 --target score
    "$build/score" >"$folder/output" 2>&1 || { cat "$folder/output" && fail "$way: the example failed"; }
    diff "$folder/expected" "$folder/output" || fail "$way: the example printed something else"
    quietly cmake --install "$build" --prefix "$folder/prefix" # nothing of ours, unless VG_INSTALL is ON
    [ ! -e "$folder/prefix/include" ] || fail "$way: installed with a project that did not ask for it"
    echo "$way: works"
}
# An unoptimised build compiles fast, and shows that no level of ours takes its place. Both ways use one folder, so that
# the second finds the objects of the first.
configure "$folder/build" FetchContent -DCMAKE_BUILD_TYPE=Debug
check
ldd "$build/score" | grep -q libvargate && fail "FetchContent: linked with a shared library"
configure "$folder/build" add_subdirectory -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug
check
ldd "$build/score" | grep -q libvargate || fail "add_subdirectory: not linked with the shared library"
configure "$folder/plain" add_subdirectory -DCMAKE_BUILD_TYPE=
exit 0
