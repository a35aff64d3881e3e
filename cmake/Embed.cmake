# vg_embed(<target> <file> <name>): makes the bytes of a file part of the target, as `const unsigned char NAME[]` and
# `const size_t NAME_size`. As a script (-DINPUT= -DOUTPUT= -DNAME= -P Embed.cmake) it writes that C file.
# INPUT may be several files (vg_embed_texts): each then follows a line "%%% NAME", without its ending.
if(CMAKE_SCRIPT_MODE_FILE)
  if(TEXTS)
    string(REPLACE "|" ";" TEXTS "${TEXTS}")
    file(WRITE ${OUTPUT}.txt "")
    foreach(text ${TEXTS})
      get_filename_component(text_name ${text} NAME_WE)
      file(READ ${text} content)
      file(APPEND ${OUTPUT}.txt "%%% ${text_name}\n${content}")
    endforeach()
    set(INPUT ${OUTPUT}.txt)
  endif()
  file(READ ${INPUT} bytes HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  get_filename_component(input_name ${INPUT} NAME)
  file(WRITE ${OUTPUT} "/* Made from ${input_name} when the library is built. */\n#include <stddef.h>\n\n"
    "extern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_size;\n"
    "const unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
  return()
endif()

set(VG_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(vg_embed target file name)
  set(output ${PROJECT_BINARY_DIR}/${name}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DNAME=${name} -P ${VG_EMBED_SCRIPT}
    DEPENDS ${file} ${VG_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# The same for several text files together.
function(vg_embed_texts target name)
  set(output ${PROJECT_BINARY_DIR}/${name}.c)
  list(JOIN ARGN "|" texts)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DTEXTS=${texts} -DOUTPUT=${output} -DNAME=${name} -P ${VG_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${VG_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
