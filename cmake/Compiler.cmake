# Language, optimisation, warnings, sanitizers. No -ffast-math and no -march=native: one build serves every machine, and kernels
# choose their vector tier at run time.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2")

# Warnings are errors under the compilers the sources are checked with; newer ones may know warnings we have not seen.
if((CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_C_COMPILER_ID STREQUAL Clang AND CMAKE_C_COMPILER_VERSION VERSION_LESS 15))
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

if(VG_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "VG_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  if(NOT VG_SANITIZE)
    set(VG_SANITIZE address,undefined)
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(VG_SANITIZE)
  set(CMAKE_C_FLAGS_RELEASE "-O1 -g")
  add_compile_options(-fsanitize=${VG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VG_SANITIZE})
endif()
