# How every file of ours is compiled: foretrain_options, plus the flags of each preset.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Line numbers in a backtrace are worth having; full debug information doubles the build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_ASM_FLAGS_RELWITHDEBINFO "")
set(CMAKE_ASM_FLAGS_DEBUG "")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/compile)
endif()

add_library(foretrain_options INTERFACE)
target_include_directories(foretrain_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(foretrain_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast
  -Wfloat-conversion  # a double cut to an int or float; -Wconversion also flags every count * seconds
  -Wno-restrict       # g++ 12 sees overlaps inside std::string that are not there (PR105329)
  -Wno-missing-field-initializers  # a designated initializer that leaves out defaults is the point
  -ffp-contract=off   # the same digits on a machine with fused multiply-add as on one without
  # One set of objects for the program and the libraries; what is hidden is called as directly as in a program.
  -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-semantic-interposition)
# The library's own assertions are for the tree that looks for faults of memory, not for that of threads.
if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT FORETRAIN_SANITIZE STREQUAL "thread")
  target_compile_definitions(foretrain_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(FORETRAIN_SANITIZE)
  # Line numbers are enough to find a fault: with full debug information a file takes 1.6 times as long. The branches
  # that sanitizers add look to g++ like paths to a value that was never set.
  add_compile_options(-fsanitize=${FORETRAIN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1
    -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${FORETRAIN_SANITIZE})
endif()
if(FORETRAIN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -Wno-unknown-warning-option)
endif()
if(FORETRAIN_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
