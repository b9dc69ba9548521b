# foretrain_embed(TARGET t FUNCTION f HEADER h ROOT folder PATTERNS globs... [BESIDE globs...]): the files of `folder` that
# match, as bytes inside the static library t, listed by f() (of the header h: a span of EmbeddedFile, spec/embedded.h)
# under their path below `folder`; and those of the project that match BESIDE, under their path in the project.
# The assembler copies the bytes (.incbin), so size costs no compile time; OBJECT_DEPENDS re-assembles when a
# file changes, the glob when one comes or goes.
function(foretrain_embed)
  cmake_parse_arguments(arg "" "TARGET;FUNCTION;HEADER;ROOT" "PATTERNS;BESIDE" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/${arg_ROOT})
  list(TRANSFORM arg_PATTERNS PREPEND ${root}/)
  file(GLOB paths RELATIVE ${root} CONFIGURE_DEPENDS ${arg_PATTERNS})
  list(TRANSFORM arg_BESIDE PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB beside RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${arg_BESIDE})
  list(APPEND paths ${beside})
  list(SORT paths COMPARE STRING)
  list(LENGTH paths count)

  set(blobs "")
  set(symbols "")
  set(rows "")
  set(files "")
  set(index 0)
  foreach(path IN LISTS paths)
    set(symbol embedded_${arg_TARGET}_${index})
    set(file ${root}/${path})
    if(path IN_LIST beside)
      set(file ${PROJECT_SOURCE_DIR}/${path})
    endif()
    string(APPEND blobs "  .balign 64\n  .globl ${symbol}, ${symbol}_end\n"
      "${symbol}:\n  .incbin \"${file}\"\n${symbol}_end:\n  .byte 0\n")
    string(APPEND symbols "extern const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND rows "      row(\"${path}\", ${symbol}, ${symbol}_end),\n")
    list(APPEND files ${file})
    math(EXPR index "${index} + 1")
  endforeach()

  set(assembler ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.S)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.cc)
  file(CONFIGURE OUTPUT ${assembler} @ONLY CONTENT [[
  .section .rodata
@blobs@  .section .note.GNU-stack,"",%progbits
]])
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT [=[
#include "@arg_HEADER@"

#include <array>

extern "C" {
@symbols@}

namespace foretrain {

[[maybe_unused]] static EmbeddedFile row(std::string_view path, const char* begin, const char* end) {
  return {path, {begin, static_cast<std::size_t>(end - begin)}};
}

std::span<const EmbeddedFile> @arg_FUNCTION@() {
  static const std::array<EmbeddedFile, @count@> files{
@rows@  };
  return files;
}

}  // namespace foretrain
]=])
  set_source_files_properties(${assembler} PROPERTIES OBJECT_DEPENDS "${files}")
  add_library(${arg_TARGET} STATIC ${assembler} ${table})
  target_link_libraries(${arg_TARGET} PRIVATE foretrain_options)
endfunction()
