# Copies FILES from FROM to TO and applies PATCH there. A patch that does not apply fails the build.
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(folder ${TO}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(COPY ${FROM}/${file} DESTINATION ${folder})
endforeach()
execute_process(COMMAND patch -p1 --fuzz=0 --no-backup-if-mismatch -d ${TO} -i ${PATCH}
  RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
# moved lines are fine, changed ones are not
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PATCH} does not apply as it is; make it anew:\n${out}")
endif()
