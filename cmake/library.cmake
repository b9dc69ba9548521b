# The libraries that other programs link, from the program's own objects: libforetrain.so and libforetrain.a, which know
# to others the functions of include/foretrain/foretrain.h and nothing else. C++'s library is inside the shared one, so
# that one file serves whatever its user was built with.
# What they say to their users, in CMake (foretrain::foretrain, foretrain::static) and to pkg-config, is where the headers
# lie and what to link: none of the flags of ours.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(public_headers ${PROJECT_SOURCE_DIR}/include/foretrain/foretrain.h ${PROJECT_SOURCE_DIR}/include/foretrain/foretrain.hpp)
set(exports ${PROJECT_SOURCE_DIR}/cmake/library_exports.map)

add_library(foretrain_not_single OBJECT ${PROJECT_SOURCE_DIR}/cmake/not_single_threaded.cc)
target_link_libraries(foretrain_not_single PRIVATE foretrain_options)
set(library_objects $<TARGET_OBJECTS:foretrain_library> $<TARGET_OBJECTS:foretrain_not_single>)

add_library(foretrain_shared SHARED ${library_objects})
add_library(foretrain::foretrain ALIAS foretrain_shared)
target_link_libraries(foretrain_shared PRIVATE ${module_libraries} foretrain_fit)
target_include_directories(foretrain_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_options(foretrain_shared PRIVATE -static-libstdc++ -static-libgcc -Wl,--version-script=${exports}
  -Wl,--no-undefined)
# While the first number is 0, the second tells what goes together.
set_target_properties(foretrain_shared PROPERTIES OUTPUT_NAME foretrain LINK_DEPENDS ${exports} LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# The static one is a single object in which all else is made local, so that nothing of ours, nor of YAML's, zlib's and
# fmt's, meets what its user has of these. Groups of one copy (COMDAT) are dissolved: the linker could otherwise drop
# one of ours in favour of the user's, which our local names could not reach.
set(archives "")
foreach(library IN LISTS module_libraries ITEMS foretrain_fit foretrain_presets foretrain_fmt)
  get_target_property(type ${library} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND archives $<TARGET_FILE:${library}>)
    list(APPEND archive_targets ${library})
  endif()
endforeach()
list(APPEND archives ${libyaml-cpp-dev_LIBRARY} ${zlib1g-dev_LIBRARY})
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/libforetrain.a
  COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o foretrain_whole.o
    ${library_objects} -Wl,--start-group ${archives} -Wl,--end-group
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/hide_symbols.sh ${CMAKE_NM} ${CMAKE_OBJCOPY} foretrain_whole.o
  COMMAND ${CMAKE_COMMAND} -E rm -f libforetrain.a
  COMMAND ${CMAKE_AR} qcsD libforetrain.a foretrain_whole.o
  COMMAND ${CMAKE_COMMAND} -E rm -f foretrain_whole.o
  DEPENDS foretrain_library foretrain_not_single ${library_objects} ${archive_targets} ${archives}
    ${PROJECT_SOURCE_DIR}/cmake/hide_symbols.sh
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Linking libforetrain.a")
add_custom_target(foretrain_static ALL DEPENDS ${PROJECT_BINARY_DIR}/libforetrain.a)

install(TARGETS foretrain_shared EXPORT foretrain_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/libforetrain.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/foretrain COMPONENT library)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/foretrain)
set(description ${PROJECT_BINARY_DIR}/package)
set_target_properties(foretrain_shared PROPERTIES EXPORT_NAME foretrain)
install(EXPORT foretrain_targets NAMESPACE foretrain:: DESTINATION ${package_folder} COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/foretrainConfig.cmake.in ${description}/foretrainConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${description}/foretrainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${description}/foretrainConfig.cmake ${description}/foretrainConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT library)
# A .pc finds its prefix from where it lies, so that what was installed may be moved.
file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/foretrain.pc.in ${description}/foretrain.pc @ONLY)
install(FILES ${description}/foretrain.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
