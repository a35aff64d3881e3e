# cli/*.c -> the program `vargate`; bench/bench_*.c -> one program each. They see only include/vargate, and link the static
# library, so that the installed program runs from any place.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/*.c)
if(VG_PROGRAM AND cli_sources)
  add_executable(vargate-cli ${cli_sources})
  set_target_properties(vargate-cli PROPERTIES OUTPUT_NAME vargate)
  target_include_directories(vargate-cli PRIVATE ${CMAKE_SOURCE_DIR}/cli)
  target_link_libraries(vargate-cli PRIVATE vargate PkgConfig::jansson Threads::Threads m)
endif()

file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/bench_*.c)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE vargate PkgConfig::jansson Threads::Threads m)
  list(APPEND bench_programs ${name})
endforeach()
add_custom_target(bench-programs DEPENDS ${bench_programs})
