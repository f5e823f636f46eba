# find_package (gompy): targets by which regions get device code.  The compilers must be gompy's, which
# gompy-toolchain.cmake beside this file sees to.
get_property (_gompy_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
foreach (_gompy_pair "C;gompcc" "CXX;gompc++" "Fortran;gompfortran")
  list (GET _gompy_pair 0 _gompy_language)
  list (GET _gompy_pair 1 _gompy_program)
  if (_gompy_language IN_LIST _gompy_languages)
    get_filename_component (_gompy_compiler "${CMAKE_${_gompy_language}_COMPILER}" NAME)
    if (NOT _gompy_compiler STREQUAL _gompy_program)
      set (gompy_FOUND FALSE)
      set (gompy_NOT_FOUND_MESSAGE
        "the ${_gompy_language} compiler is ${_gompy_compiler}, not ${_gompy_program}: configure with \
-DCMAKE_TOOLCHAIN_FILE=${CMAKE_CURRENT_LIST_DIR}/gompy-toolchain.cmake")
      return ()
    endif ()
  endif ()
endforeach ()

foreach (_gompy_model openmp openacc)
  if (NOT TARGET gompy::${_gompy_model})
    add_library (gompy::${_gompy_model} INTERFACE IMPORTED)
    set_target_properties (gompy::${_gompy_model} PROPERTIES
      INTERFACE_COMPILE_OPTIONS "-f${_gompy_model}" INTERFACE_LINK_OPTIONS "-f${_gompy_model}")
  endif ()
endforeach ()
# Besides one of these: device code for GPUs in place of that for the emulated MIC.
if (NOT TARGET gompy::nvptx)
  add_library (gompy::nvptx INTERFACE IMPORTED)
  set_target_properties (gompy::nvptx PROPERTIES
    INTERFACE_COMPILE_OPTIONS "-foffload=nvptx-none" INTERFACE_LINK_OPTIONS "-foffload=nvptx-none")
endif ()
