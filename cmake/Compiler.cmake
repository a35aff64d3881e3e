# Language, warnings, sanitizers. No -ffast-math and no -march=native: one build runs on every machine, and kernels
# choose their vector tier at run time. Settings apply to this folder and those below it, so that a project that adds
# this one by add_subdirectory keeps its own.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Warnings are errors under the compilers the sources are checked with; newer ones may know warnings we have not seen.
if(PROJECT_IS_TOP_LEVEL
   AND ((CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
        OR (CMAKE_C_COMPILER_ID STREQUAL Clang AND CMAKE_C_COMPILER_VERSION VERSION_LESS 15)))
  set(known_compiler ON)
else()
  set(known_compiler OFF)
endif()
option(VG_WERROR "warnings are errors" ${known_compiler})
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wall> $<$<COMPILE_LANGUAGE:C>:-Wextra> $<$<COMPILE_LANGUAGE:C>:-Wpedantic>
                    $<$<AND:$<BOOL:${VG_WERROR}>,$<COMPILE_LANGUAGE:C>>:-Werror>)
add_compile_definitions(_POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64)

if(NOT APPLE)
  add_link_options(-Wl,--as-needed) # pkg-config names more libraries than we call
endif()

# Hardening of what ships: position-independent programs, all relocations done and read-only before main, stack
# canaries and probes, checked copies of libc, indirect branches that land on markers only (CET), no executable stack.
# tests/project/check_hardening.sh reads it back from the files.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT VG_SANITIZE AND NOT VG_FUZZ)
  option(VG_HARDEN "compile and link with hardening flags" ON)
endif()
if(VG_HARDEN)
  include(CheckCCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES C)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "VG_KNOWS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:${flag}>)
    endif()
  endforeach()
  if(NOT "${CMAKE_C_FLAGS} $ENV{CPPFLAGS}" MATCHES "_FORTIFY_SOURCE") # works only in code that is optimised
    foreach(definition -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) # some compilers define it, to another level
      add_compile_options(
        $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:${definition}>)
    endforeach()
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

if(VG_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "VG_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  if(NOT VG_SANITIZE)
    set(VG_SANITIZE address,undefined)
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  # The edit distance behind "did you mean": its comparisons tell nothing about the input.
  set_source_files_properties(src/base/names.c PROPERTIES COMPILE_OPTIONS -fno-sanitize-coverage=trace-cmp)
endif()
if(VG_SANITIZE)
  add_compile_options(-fsanitize=${VG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VG_SANITIZE})
endif()

# vg_optimise(<target> <level>): another level where the flags of the build ask for -O2. Any other level (-O0 and -Og of
# a debugging build, -O1 under sanitizers, -Os) is kept.
function(vg_optimise target level)
  foreach(config ${CMAKE_BUILD_TYPE} ${CMAKE_CONFIGURATION_TYPES})
    string(TOUPPER ${config} upper)
    string(REGEX MATCHALL "(^| )-O[^ ]*" levels "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${upper}}")
    list(POP_BACK levels asked) # the last one is the one that the compiler obeys
    if(asked MATCHES "-O2$")
      target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:${config}>>:${level}>)
    endif()
  endforeach()
endfunction()
