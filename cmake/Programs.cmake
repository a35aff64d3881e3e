# cli/*.c -> the program `vargate`; bench/bench_*.c -> one program each; bench/score/*.c -> bench_score; with CUDA,
# bench/gpu/bench_*.c and bench/kernels/bench_*.c -> one program each. They see only include/vargate, except
# bench/kernels, which times parts of the backend. They link the static library, so that the installed program runs from
# any folder.
file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
if(VG_PROGRAM AND cli_sources)
  add_executable(vargate-cli ${cli_sources})
  set_target_properties(vargate-cli PROPERTIES OUTPUT_NAME vargate LINKER_LANGUAGE C)
  target_include_directories(vargate-cli PRIVATE ${PROJECT_SOURCE_DIR}/cli)
  target_link_libraries(vargate-cli PRIVATE vargate PkgConfig::jansson Threads::Threads m)
  vg_optimise(vargate-cli -O1) # options and text: a quarter less time to compile, none to run
endif()

# What is installed, without tests and benchmarks.
add_custom_target(vargate-product DEPENDS ${VG_LIBRARY_TARGETS})
if(TARGET vargate-cli)
  add_dependencies(vargate-product vargate-cli)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench_*.c)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE vargate PkgConfig::jansson Threads::Threads m)
  list(APPEND bench_programs ${name})
endforeach()
file(GLOB score_bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/score/*.c)
if(score_bench_sources)
  add_executable(bench_score EXCLUDE_FROM_ALL ${score_bench_sources})
  target_include_directories(bench_score PRIVATE ${PROJECT_SOURCE_DIR}/bench/score)
  target_link_libraries(bench_score PRIVATE vargate Threads::Threads m)
  list(APPEND bench_programs bench_score)
endif()
# What bench/gpu.sh measures with.
if(VG_HAVE_CUDA)
  file(GLOB gpu_bench_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/bench/gpu/bench_*.c ${PROJECT_SOURCE_DIR}/bench/kernels/bench_*.c)
  foreach(source ${gpu_bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
    if(source MATCHES "/bench/kernels/") # single kernels of the backend, which the public headers do not show
      target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CUDAToolkit_INCLUDE_DIRS})
    endif()
    target_link_libraries(${name} PRIVATE vargate CUDA::cudart_static Threads::Threads m)
    list(APPEND gpu_bench_programs ${name})
  endforeach()
  add_custom_target(gpu-bench-programs DEPENDS ${gpu_bench_programs})
endif()
add_custom_target(bench-programs DEPENDS ${bench_programs})
