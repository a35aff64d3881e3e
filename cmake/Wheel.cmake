# A build for the Python package (scikit-build-core sets SKBUILD). The wheel must run where nothing is installed, so
# libraries come from third_party/, and those that are not there are left out.
set(VG_WHEEL ON)
set(VG_TESTS OFF)
set(VG_FUZZ OFF)
set(VG_SHARED ON)
set(VG_PROGRAM ON)
set(CMAKE_INSTALL_RPATH "")

# Called after the targets are there: where their parts go in the wheel.
macro(vg_wheel_install)
  # One plain file: a wheel cannot hold links.
  set_target_properties(vargate-shared PROPERTIES VERSION "" SOVERSION "" NO_SONAME ON)
  target_link_options(vargate-shared PRIVATE -s)
  target_link_options(vargate-cli PRIVATE -s)
  install(TARGETS vargate-shared LIBRARY DESTINATION vargate/lib)
  install(TARGETS vargate-cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  foreach(folder data recipes) # found relative to the program, in ../share/vargate
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${SKBUILD_DATA_DIR}/share/vargate)
  endforeach()
endmacro()
