# vg_embed(<target> <name> <file>...): makes the bytes of files, one after another, part of the target, as
# `const unsigned char NAME[]` and `const size_t NAME_size`. vg_embed_named does it with a line "%%% NAME" before each
# file, without its ending. As a script (-DINPUTS=A|B -DNAMED= -DOUTPUT= -DNAME= -P Embed.cmake) it writes that C file.
if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" INPUTS "${INPUTS}")
  foreach(input ${INPUTS})
    get_filename_component(input_name ${input} NAME)
    get_filename_component(title ${input} NAME_WE)
    file(READ ${input} content HEX)
    if(NAMED)
      file(WRITE ${OUTPUT}.txt "%%% ${title}\n")
      file(READ ${OUTPUT}.txt line HEX)
      string(APPEND bytes "${line}")
    endif()
    string(APPEND bytes "${content}")
    string(APPEND input_names " ${input_name}")
  endforeach()
  string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(WRITE ${OUTPUT} "/* Made from${input_names} when the library is built. */\n#include <stddef.h>\n\n"
    "extern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_size;\n"
    "const unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
  return()
endif()

set(VG_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(vg_embed_files target name named)
  set(output ${PROJECT_BINARY_DIR}/${name}.c)
  list(JOIN ARGN "|" inputs)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUTS=${inputs} -DNAMED=${named} -DOUTPUT=${output} -DNAME=${name}
      -P ${VG_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${VG_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
function(vg_embed target name)
  vg_embed_files(${target} ${name} OFF ${ARGN})
endfunction()
function(vg_embed_named target name)
  vg_embed_files(${target} ${name} ON ${ARGN})
endfunction()
