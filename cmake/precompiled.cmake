# foretrain_precompiled(TARGET [TESTS]): compile TARGET with the headers below read once for all targets. It saves a
# quarter of a build. A file still includes what it uses: the asan tree has no precompiled headers and would not build
# otherwise. With TESTS those of tests too, and with -O1: a test's own code is compiled more often than it takes long,
# and -O2 takes a third longer.
set(headers <algorithm> <array> <cmath> <cstdint> <limits> <map> <memory> <optional> <set> <span> <string>
  <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)

add_library(foretrain_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
target_link_libraries(foretrain_headers PRIVATE foretrain_options)
target_precompile_headers(foretrain_headers PRIVATE ${headers})

if(FORETRAIN_TESTS)
  add_library(foretrain_test_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(foretrain_test_headers PRIVATE foretrain_options)
  target_precompile_headers(foretrain_test_headers PRIVATE ${headers} <doctest/doctest.h>)
  set(optimised_tests $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_compile_options(foretrain_test_headers PRIVATE ${optimised_tests})
endif()

# libstdc++ silences these three inside std::string, where they are wrong; g++ forgets pragmas of a precompiled
# header (PR64117).
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  target_compile_options(foretrain_options INTERFACE
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

function(foretrain_precompiled target)
  if("TESTS" IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM foretrain_test_headers)
    target_compile_options(${target} PRIVATE ${optimised_tests})
  else()
    target_precompile_headers(${target} REUSE_FROM foretrain_headers)
  endif()
endfunction()
