# The CUDA backend: built when nvcc and the headers of cuDNN and cuBLASLt are found. The CUDA runtime is linked
# statically; cuDNN and cuBLASLt are loaded at run time, so that one binary runs on machines with and without them.
#   VG_CUDA           AUTO (default), ON (fail when something is missing), OFF
#   VG_CUDNN_ROOT     a folder with include/cudnn.h (system folders and Python's nvidia packages are searched as well)
#   VG_CUBLAS_ROOT    a folder with include/cublasLt.h
set(VG_CUDA AUTO CACHE STRING "build the CUDA backend: AUTO, ON or OFF")
set(VG_CUDNN_ROOT "" CACHE PATH "folder that holds include/cudnn.h")
set(VG_CUBLAS_ROOT "" CACHE PATH "folder that holds include/cublasLt.h")
set(VG_HAVE_CUDA OFF)
if((VG_WHEEL AND NOT VG_CUDA STREQUAL "ON") OR VG_SANITIZE OR VG_CUDA STREQUAL "OFF")
  return()
endif()

find_program(VG_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
execute_process(
  COMMAND python3 -c
    "import nvidia; print(';'.join(p + '/' + d for p in nvidia.__path__ for d in ('cudnn', 'cu13', 'cublas')))"
  OUTPUT_VARIABLE nvidia_folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(VG_CUDNN_INCLUDE cudnn.h HINTS ${VG_CUDNN_ROOT} PATHS ${nvidia_folders} /usr/local/cuda PATH_SUFFIXES include)
find_path(VG_CUBLAS_INCLUDE cublasLt.h
  HINTS ${VG_CUBLAS_ROOT} PATHS /usr/local/cuda ${nvidia_folders} PATH_SUFFIXES include)
if(VG_NVCC AND VG_CUDNN_INCLUDE AND VG_CUBLAS_INCLUDE)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${VG_NVCC})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  enable_language(CUDA)
  vg_find_package("CUDA::cudart_static;CUDA::cudart_static_deps" CUDAToolkit REQUIRED)
  set(VG_HAVE_CUDA ON)
  file(STRINGS ${VG_CUDNN_INCLUDE}/cudnn_version.h version REGEX "define CUDNN_(MAJOR|MINOR|PATCHLEVEL) ")
  list(TRANSFORM version REPLACE "[^0-9]" "")
  list(JOIN version "." version)
  vg_found(CUDA ${CUDAToolkit_VERSION})
  vg_found("headers of cuDNN" ${version})
elseif(VG_CUDA STREQUAL "ON")
  message(FATAL_ERROR "VG_CUDA is ON, but one was not found: nvcc '${VG_NVCC}', cudnn.h '${VG_CUDNN_INCLUDE}', "
    "cublasLt.h '${VG_CUBLAS_INCLUDE}'")
else()
  list(APPEND VG_MISSING_OPTIONAL "CUDA with cuDNN")
endif()

# Device code of one module: src/<module>/cuda/**.{c,cu}.
function(vg_cuda_module module)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/${module}/cuda/*.c ${PROJECT_SOURCE_DIR}/src/${module}/cuda/*.cu)
  if(NOT sources OR NOT TARGET vargate-${module})
    return()
  endif()
  # Kernels in cuda/hopper use instructions that exist only for compute capability 9.0 itself ("90a").
  # A wheel has compressed device code without line numbers.
  set(options
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-fno-exceptions>"
    "$<$<COMPILE_LANGUAGE:CUDA>:$<IF:$<BOOL:${VG_WHEEL}>,--compress-mode=size,-lineinfo>>")
  set(hopper ${sources})
  list(FILTER hopper INCLUDE REGEX "/hopper/[^/]*[.]cu$")
  list(FILTER sources EXCLUDE REGEX "/hopper/[^/]*[.]cu$")
  if(hopper)
    add_library(vargate-${module}-hopper OBJECT ${hopper})
    target_include_directories(vargate-${module}-hopper PRIVATE
      ${module_include} ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_options(vargate-${module}-hopper PRIVATE "${options}")
    set_target_properties(vargate-${module}-hopper PROPERTIES
      CUDA_ARCHITECTURES 90a-real CUDA_STANDARD 17 CUDA_SEPARABLE_COMPILATION OFF)
    set(VG_OBJECTS ${VG_OBJECTS} $<TARGET_OBJECTS:vargate-${module}-hopper> PARENT_SCOPE)
  endif()
  target_sources(vargate-${module} PRIVATE ${sources})
  target_include_directories(vargate-${module} PRIVATE
    ${CUDAToolkit_INCLUDE_DIRS} ${VG_CUDNN_INCLUDE} ${VG_CUBLAS_INCLUDE})
  # The libraries' folders at build time: the last folders that are searched when they are loaded.
  target_compile_definitions(vargate-${module} PRIVATE
    VG_CUDNN_FOLDERS="${VG_CUDNN_INCLUDE}/../lib:${VG_CUDNN_INCLUDE}/../lib64"
    VG_CUBLAS_FOLDERS="${VG_CUBLAS_INCLUDE}/../lib:${VG_CUBLAS_INCLUDE}/../lib64")
  target_compile_options(vargate-${module} PRIVATE "${options}")
  set_target_properties(vargate-${module} PROPERTIES CUDA_STANDARD 17 CUDA_SEPARABLE_COMPILATION OFF)
endfunction()
