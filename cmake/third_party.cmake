# Debian's libraries, linked so that the program needs libc, libm and libstdc++ only.

# Find HEADER, and the static LIBRARY if one is named, from the Debian package PACKAGE.
function(foretrain_require package header library)
  find_path(${package}_INCLUDE ${header})
  if(NOT ${package}_INCLUDE)
    message(FATAL_ERROR "<${header}> not found: install ${package}")
  endif()
  if(library)
    find_library(${package}_LIBRARY NAMES ${library})
    if(NOT ${package}_LIBRARY)
      message(FATAL_ERROR "${library} not found: install ${package}")
    endif()
  endif()
endfunction()

foretrain_require(libexpected-dev tl/expected.hpp "")
foretrain_require(libcli11-dev CLI/CLI.hpp "")
foretrain_require(nlohmann-json3-dev nlohmann/json.hpp "")
foretrain_require(libtomlplusplus-dev toml++/toml.h "")
foretrain_require(zlib1g-dev zlib.h libz.a)
# Its prototypes only: the library is opened at run time, by src/fit.
foretrain_require(libxgboost-dev xgboost/c_api.h "")

foretrain_require(libyaml-cpp-dev yaml-cpp/yaml.h libyaml-cpp.a)
add_library(foretrain_yaml INTERFACE)
target_link_libraries(foretrain_yaml INTERFACE ${libyaml-cpp-dev_LIBRARY})

foretrain_require(libfmt-dev fmt/format-inl.h "")
add_library(foretrain_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cc)
target_compile_options(foretrain_fmt PRIVATE -fPIC -fvisibility=hidden)
target_link_libraries(foretrain_options INTERFACE foretrain_fmt)

if(FORETRAIN_TESTS)
  foretrain_require(doctest-dev doctest/doctest.h "")
  foretrain_require(librapidcheck-dev rapidcheck.h librapidcheck.a)
  foretrain_require(libbenchmark-dev benchmark/benchmark.h libbenchmark.so)
endif()
