# bin/vargate, lib/libvargate.{a,so}, include/vargate/, share/vargate/, manual pages and completions, pkg-config and
# CMake package files. All of it may be moved after installation: paths inside are relative to the files themselves.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/vargate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
if(TARGET vargate-cli)
  install(TARGETS vargate-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Manual pages and completions, made from the program's own help: with Python, and where the program can run here.
  find_program(VG_PYTHON python3)
  if(VG_PYTHON AND NOT CMAKE_CROSSCOMPILING)
    add_custom_target(vargate-manuals
      COMMAND ${VG_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/make_manuals.py $<TARGET_FILE:vargate-cli> manuals
      DEPENDS vargate-cli WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)
    add_dependencies(vargate-product vargate-manuals)
    set(made ${PROJECT_BINARY_DIR}/manuals)
    install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
    install(FILES ${made}/completions/vargate.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
      RENAME vargate OPTIONAL)
    install(FILES ${made}/completions/_vargate DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
    install(FILES ${made}/completions/vargate.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
      OPTIONAL)
  endif()
endif()

foreach(folder data recipes docs/schema) # data and recipes are found relative to the program, in ../share/vargate
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/vargate)
  endif()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vargate)
set_target_properties(vargate PROPERTIES EXPORT_NAME static)
install(TARGETS vargate EXPORT vargate-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT vargate-static NAMESPACE vargate:: DESTINATION ${package_dir})
if(VG_SHARED)
  set_target_properties(vargate-shared PROPERTIES EXPORT_NAME shared)
  install(TARGETS vargate-shared EXPORT vargate-shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(EXPORT vargate-shared NAMESPACE vargate:: DESTINATION ${package_dir})
endif()

# The config file finds again what the static library links.
set(VG_PKG_TARGETS ${VG_LIBS})
list(FILTER VG_PKG_TARGETS INCLUDE REGEX "^PkgConfig::")
list(TRANSFORM VG_PKG_TARGETS REPLACE "^PkgConfig::" "")
set(VG_NEEDS_OPENMP OFF)
if(OpenMP::OpenMP_C IN_LIST VG_LIBS)
  set(VG_NEEDS_OPENMP ON)
endif()
set(VG_NEEDS_CUDA OFF)
if(CUDA::cudart_static IN_LIST VG_LIBS)
  set(VG_NEEDS_CUDA ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/vargate-config.cmake.in vargate-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(vargate-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vargate-config.cmake ${PROJECT_BINARY_DIR}/vargate-config-version.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH VG_PC_PREFIX "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
string(REGEX REPLACE "/$" "" VG_PC_PREFIX "${VG_PC_PREFIX}")
list(REMOVE_DUPLICATES VG_PC_LIBS)
foreach(folder ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  list(REMOVE_ITEM VG_PC_LIBS -L${folder})
endforeach()
list(JOIN VG_PC_LIBS " " VG_PC_LIBS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/vargate.pc.in vargate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/vargate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
