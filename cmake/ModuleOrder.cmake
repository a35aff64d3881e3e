# The order of the modules, enforced by the include path. Instead of src/ and include/, a module is compiled with two
# folders of its own, PROJECT_BINARY_DIR/include-order/MODULE/
#     src/base, src/measures, ...   links to the folders of src/ that the module may include, its own among them
#     include/vargate/NAME.h        links to the public headers of the same modules
# so an include that points upwards does not compile, in C and in CUDA alike. Includes are written as if src/ were on
# the path ("measures/kernel.h"). Tests and fuzz targets see all of src/; programs see only include/.
#
# base <- measures <- calibrate, evaluate <- report;  base <- formats <- data;  base <- backend <- nn, which also
# reads and writes checkpoints with formats and computes the figures of an epoch with measures, calibrate and evaluate;
# workflow uses all of them.
set(VG_BELOW_base "")
set(VG_BELOW_measures base)
set(VG_BELOW_formats base)
set(VG_BELOW_calibrate base measures)
set(VG_BELOW_evaluate base measures)
set(VG_BELOW_data base formats)
set(VG_BELOW_backend base)
set(VG_BELOW_nn base measures formats calibrate evaluate backend)
set(VG_BELOW_report base measures calibrate evaluate)
set(VG_BELOW_workflow base measures formats calibrate evaluate data backend nn report)

# A public header belongs to the module of its name, except these.
set(VG_OWNER_status base)
set(VG_OWNER_types base)
set(VG_OWNER_version base)
set(VG_OWNER_temperatures calibrate)
set(VG_OWNER_sets evaluate)
set(VG_OWNER_page workflow)
set(VG_OWNER_policy workflow)
set(VG_OWNER_sets_file workflow)
set(VG_OWNER_compare workflow)
set(VG_OWNER_doctor workflow)
set(VG_OWNER_listener workflow)
set(VG_OWNER_fields workflow)
set(VG_OWNER_fit_k workflow)
# Public headers that a module may include although they belong to a module beside it: predictions that were read from a
# file are handed over as the view that scoring takes.
set(VG_HEADERS_formats measures)
set(VG_HEADERS_data measures)

# vg_link_only(<folder> <name>=<target>...): makes the folder hold these symbolic links and nothing else. Links that are
# right already are left alone.
function(vg_link_only folder)
  set(wanted "")
  foreach(link ${ARGN})
    string(REGEX MATCH "^([^=]*)=(.*)$" link "${link}")
    set(name ${CMAKE_MATCH_1})
    set(target ${CMAKE_MATCH_2})
    list(APPEND wanted ${name})
    set(now "")
    if(IS_SYMLINK ${folder}/${name})
      file(READ_SYMLINK ${folder}/${name} now)
    endif()
    if(NOT now STREQUAL target)
      file(REMOVE_RECURSE ${folder}/${name})
      file(MAKE_DIRECTORY ${folder})
      file(CREATE_LINK ${target} ${folder}/${name} SYMBOLIC)
    endif()
  endforeach()
  file(GLOB present RELATIVE ${folder} ${folder}/*)
  foreach(name ${present})
    if(NOT name IN_LIST wanted)
      file(REMOVE_RECURSE ${folder}/${name})
    endif()
  endforeach()
endfunction()

# vg_module_include(<variable> <module>): makes the two folders of one module and returns their paths.
function(vg_module_include out module)
  if(NOT DEFINED VG_BELOW_${module})
    message(FATAL_ERROR "cmake/ModuleOrder.cmake does not say what src/${module} may include")
  endif()
  set(visible ${module} ${VG_BELOW_${module}})
  set(folders "")
  foreach(below ${visible})
    list(APPEND folders ${below}=${PROJECT_SOURCE_DIR}/src/${below})
  endforeach()
  set(headers "")
  file(GLOB public CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/vargate/*.h)
  foreach(path ${public})
    cmake_path(GET path STEM name)
    if(name STREQUAL vargate) # includes every other one: for users of the library, not for its parts
      continue()
    endif()
    set(owner ${name})
    if(DEFINED VG_OWNER_${name})
      set(owner ${VG_OWNER_${name}})
    endif()
    if(NOT DEFINED VG_BELOW_${owner})
      message(FATAL_ERROR "include/vargate/${name}.h belongs to no module: name its owner in cmake/ModuleOrder.cmake")
    endif()
    if(owner IN_LIST visible OR name IN_LIST VG_HEADERS_${module})
      list(APPEND headers ${name}.h=${path})
    endif()
  endforeach()
  set(order ${PROJECT_BINARY_DIR}/include-order/${module})
  vg_link_only(${order}/src ${folders})
  vg_link_only(${order}/include/vargate ${headers})
  set(${out} ${order}/include ${order}/src PARENT_SCOPE)
endfunction()
