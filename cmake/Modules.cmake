# src/<module>/ -> one set of object files per module, compiled once -> libvargate.a and libvargate.so.
# Device code (src/<module>/cuda) is added where CUDA was found (cmake/Cuda.cmake).
#
# Optional accelerators: folders of kernels for one kind of processor or for the shapes of one network. A folder that is
# present is compiled and registered by its definition; without it the general code is used, which is slower
# (scripts/check_fences.sh).
foreach(accelerator
    measures/x86:VG_WITH_MEASURES_X86
    evaluate/x86:VG_WITH_EVALUATE_X86
    backend/cpu/avx512:VG_WITH_CPU_AVX512
    backend/cpu/winograd:VG_WITH_CPU_WINOGRAD
    backend/cuda/hopper:VG_WITH_CUDA_HOPPER
    backend/cuda/conv_pooling:VG_WITH_CUDA_CONV_POOLING)
  string(REPLACE ":" ";" accelerator ${accelerator})
  list(GET accelerator 0 folder)
  list(GET accelerator 1 definition)
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${folder})
    add_compile_definitions(${definition})
  endif()
endforeach()

set(VG_OBJECTS ${VG_VENDORED_OBJECTS})
set(VG_LIBS Threads::Threads m)
foreach(module ${VG_MODULES})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.c)
  list(FILTER sources EXCLUDE REGEX "/cuda/")
  if(VG_DNNL_LIBRARY AND VG_DNNL_INCLUDE) # one engine for matrix products per build (src/backend/cpu/cpu_engine.h)
    list(FILTER sources EXCLUDE REGEX "/cpu/cpu_gemm[^/]*[.]c$")
  else()
    list(FILTER sources EXCLUDE REGEX "/cpu/cpu_dnnl[^/]*[.]c$")
  endif()
  if(VG_DNNL_CATCH AND module STREQUAL "backend") # exceptions pass through the C files between
    list(APPEND sources ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_dnnl_catch.cpp)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_dnnl.c
      ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_dnnl_choice.c PROPERTIES COMPILE_OPTIONS -fexceptions)
  endif()
  add_library(vargate-${module} OBJECT ${sources})
  vg_module_include(module_include ${module})
  target_include_directories(vargate-${module} PRIVATE ${module_include} ${VG_INCLUDE_${module}})
  target_compile_definitions(vargate-${module} PRIVATE VG_VERSION="${PROJECT_VERSION}" ${VG_DEFS_${module}})
  target_compile_options(vargate-${module} PRIVATE ${VG_OPTIONS_${module}})
  if(VG_COVERAGE)
    target_compile_options(vargate-${module} PRIVATE --coverage -fprofile-update=atomic)
  endif()
  # Only what headers and flags need; the whole library is linked below.
  target_link_libraries(vargate-${module} PRIVATE Threads::Threads ${VG_LIBS_${module}})
  if(VG_HAVE_CUDA)
    target_compile_definitions(vargate-${module} PRIVATE VG_HAVE_CUDA)
    vg_cuda_module(${module})
  endif()
  list(APPEND VG_OBJECTS $<TARGET_OBJECTS:vargate-${module}>)
  list(APPEND VG_LIBS ${VG_LIBS_${module}})
endforeach()
if(VG_HAVE_CUDA)
  list(APPEND VG_LIBS CUDA::cudart_static ${CMAKE_DL_LIBS})
  list(APPEND VG_PC_LIBS -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl -lstdc++)
endif()
list(REMOVE_DUPLICATES VG_LIBS)
if(VG_COVERAGE)
  add_link_options(--coverage)
endif()

# Kernels: contraction to fused multiply-add; errno and floating-point traps are off, because they use neither. gcc 13
# fuses other products in one copy of a loop than in another, so that a result would depend on which others are asked
# for; there (and in later versions) nothing is fused but what the kernels write as such.
if(TARGET vargate-measures)
  set(contraction fast)
  # The variants of these kernels must give the same bits; they name what is fused (SCORE_FMA).
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/measures/cuda/score_groups.cu
    PROPERTIES COMPILE_OPTIONS -fmad=false)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    set(contraction off)
  endif()
  target_compile_options(vargate-measures PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-ffp-contract=${contraction}> $<$<COMPILE_LANGUAGE:C>:-fno-math-errno>
    $<$<COMPILE_LANGUAGE:C>:-fno-trapping-math>)
  vg_optimise(vargate-measures -O3)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # a tenth of the time to compile the kernels, and nothing they gain from
    target_compile_options(vargate-measures PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-gcse>)
  endif()
endif()

# The page that `vargate report` fills with data (built from web/, committed).
if(TARGET vargate-report)
  include(cmake/Embed.cmake)
  vg_embed(vargate-report vg_report__template ${PROJECT_SOURCE_DIR}/src/report/report_template.html)
  vg_optimise(vargate-report -O1) # text that is written once: a quarter less time to compile, none to run
endif()
# The pages that `vargate compare -o PAGE.html`, `--maps` and `vargate reproduce` fill, and the recipes that are known
# by name wherever a program runs.
if(TARGET vargate-workflow)
  include(cmake/Embed.cmake)
  vg_optimise(vargate-workflow -O1) # it calls the other modules: a quarter less time to compile, none to run
  set(pages ${PROJECT_SOURCE_DIR}/src/workflow)
  foreach(page compare maps reproduction)
    vg_embed(vargate-workflow vg_${page}__template ${pages}/page_head.html ${pages}/${page}_page.html)
  endforeach()
  file(GLOB recipes CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/recipes/*.yaml)
  vg_embed_named(vargate-workflow vg_recipes__shipped ${recipes})
endif()

add_library(vargate STATIC ${VG_OBJECTS})
set(VG_LIBRARY_TARGETS vargate)
if(VG_SHARED)
  add_library(vargate-shared SHARED ${VG_OBJECTS})
  set_target_properties(vargate-shared PROPERTIES
    OUTPUT_NAME vargate
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR})
  list(APPEND VG_LIBRARY_TARGETS vargate-shared)
endif()
foreach(library ${VG_LIBRARY_TARGETS})
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE ${VG_LIBS})
  if(VG_LIB_FOLDERS)
    target_link_directories(${library} PUBLIC "$<BUILD_INTERFACE:${VG_LIB_FOLDERS}>")
  endif()
endforeach()

# The names that find_package(vargate) gives, for a project that adds this one: vargate::vargate is the shared library
# where it is built, and the static one otherwise.
add_library(vargate::static ALIAS vargate)
if(VG_SHARED)
  add_library(vargate::shared ALIAS vargate-shared)
  add_library(vargate::vargate ALIAS vargate-shared)
else()
  add_library(vargate::vargate ALIAS vargate)
endif()
