# zlib, jansson and libyaml from third_party/, in place of the system's: their objects become part of the library, and
# the names that pkg-config's targets have elsewhere give their headers.
#   vg_vendored(<name> <folder> <definitions>...)
function(vg_vendored name folder)
  set(path ${PROJECT_SOURCE_DIR}/third_party/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${path}/*.c)
  add_library(vendored-${folder} OBJECT ${sources})
  target_include_directories(vendored-${folder} PRIVATE ${path})
  target_compile_definitions(vendored-${folder} PRIVATE _GNU_SOURCE ${ARGN})
  target_compile_options(vendored-${folder} PRIVATE -w)
  add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(PkgConfig::${name} SYSTEM INTERFACE ${path})
  set(VG_VENDORED_OBJECTS ${VG_VENDORED_OBJECTS} $<TARGET_OBJECTS:vendored-${folder}> PARENT_SCOPE)
endfunction()

set(VG_VENDORED_OBJECTS "")
vg_vendored(zlib zlib HAVE_UNISTD_H)
vg_vendored(jansson jansson HAVE_UNISTD_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_FCNTL_H HAVE_SCHED_H HAVE_SYS_STAT_H
  HAVE_OPEN HAVE_CLOSE HAVE_READ
  HAVE_GETPID HAVE_GETTIMEOFDAY HAVE_SCHED_YIELD HAVE_STDINT_H USE_URANDOM HAVE_ATOMIC_BUILTINS)
vg_vendored(yaml-0.1 libyaml YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5
  YAML_VERSION_STRING="0.2.5")
