# Libraries from third_party/, in place of the system's: their objects become part of the library, and the names that
# pkg-config's targets have elsewhere give their headers.
#   vg_vendored(<pkg-config's name> <folder> <version> <sources relative to it> <definitions>...)
function(vg_vendored name folder version patterns)
  set(path ${PROJECT_SOURCE_DIR}/third_party/${folder})
  list(TRANSFORM patterns PREPEND ${path}/)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  add_library(vendored-${folder} OBJECT ${sources})
  target_include_directories(vendored-${folder} PRIVATE ${path} ${PROJECT_SOURCE_DIR}/third_party/zlib)
  target_compile_definitions(vendored-${folder} PRIVATE _GNU_SOURCE ${ARGN})
  target_compile_options(vendored-${folder} PRIVATE -w)
  if(VG_FUZZ) # comparisons inside these libraries are half of an execution's time
    target_compile_options(vendored-${folder} PRIVATE -fno-sanitize-coverage=trace-cmp)
  endif()
  add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
  set(include ${path})
  if(EXISTS ${path}/src)
    set(include ${path}/src)
  endif()
  target_include_directories(PkgConfig::${name} SYSTEM INTERFACE ${include})
  set(${name}_VERSION ${version} PARENT_SCOPE)
  set(VG_VENDORED_OBJECTS ${VG_VENDORED_OBJECTS} $<TARGET_OBJECTS:vendored-${folder}> PARENT_SCOPE)
endfunction()

set(VG_VENDORED_OBJECTS "")
vg_vendored(zlib zlib 1.2.13 *.c HAVE_UNISTD_H)
vg_vendored(jansson jansson 2.14 *.c HAVE_UNISTD_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_FCNTL_H HAVE_SCHED_H
  HAVE_SYS_STAT_H HAVE_OPEN HAVE_CLOSE HAVE_READ HAVE_GETPID HAVE_GETTIMEOFDAY HAVE_SCHED_YIELD HAVE_STDINT_H
  USE_URANDOM HAVE_ATOMIC_BUILTINS)
vg_vendored(yaml-0.1 libyaml 0.2.5 *.c YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5
  YAML_VERSION_STRING="0.2.5")
# The readers of images, without the writers. libpng's plain C filters; libjpeg-turbo's plain C transforms, which give
# the same pixels as its assembly; its wrappers include the other sources once for 8, 12 and 16 bits per sample.
vg_vendored(libpng libpng 1.6.58 *.c PNG_ARM_NEON_OPT=0 PNG_INTEL_SSE_OPT=0)
vg_vendored(libjpeg libjpeg-turbo 3.1.3 "wrapper/*.c;jaricom.c;jcomapi.c;jdapimin.c;jdarith.c;jdatasrc.c;jdhuff.c;\
jdinput.c;jdlhuff.c;jdmarker.c;jdmaster.c;jdphuff.c;jerror.c;jmemmgr.c;jmemnobs.c")
vg_vendored(libwebp libwebp 1.6.0 "src/dec/*.c;src/dsp/*.c;src/utils/*.c" WEBP_EXTERN=extern)
