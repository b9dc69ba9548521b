# foretrain_module(NAME m DEPS above... [TEST_LABELS l...]): library foretrain_m from src/m/*.cc and, with
# tests on, the program m_test from src/m/*_test.cc, which links that library alone (and what it stands on).
# A folder of headers only, or not there yet, is an INTERFACE library. foretrain_m_scope is set to the scope
# (PUBLIC or INTERFACE) that further target_link_libraries() calls must name.
function(foretrain_module)
  cmake_parse_arguments(arg "" "NAME" "DEPS;TEST_LABELS" ${ARGN})
  set(library foretrain_${arg_NAME})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${arg_NAME}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    set(scope PUBLIC)
    add_library(${library} STATIC ${sources})
    foretrain_precompiled(${library})
  else()
    set(scope INTERFACE)
    add_library(${library} INTERFACE)
  endif()
  set(${library}_scope ${scope} PARENT_SCOPE)
  list(TRANSFORM arg_DEPS PREPEND foretrain_)
  target_link_libraries(${library} ${scope} foretrain_options ${arg_DEPS})

  if(FORETRAIN_TESTS AND tests)
    set(program ${arg_NAME}_test)
    add_executable(${program} ${tests} $<TARGET_OBJECTS:doctest_main>)
    target_link_libraries(${program} PRIVATE ${library} ${librapidcheck-dev_LIBRARY})
    foretrain_precompiled(${program} TESTS)
    add_test(NAME ${program} COMMAND ${program})
    set_tests_properties(${program} PROPERTIES LABELS "unit;${arg_TEST_LABELS}")
  endif()
endfunction()
