# What `cmake --install` lays down, and the package that find_package(troupe) reads (troupeConfig.cmake.in).
# Libraries keep their tree's folders as target names: troupe::actors, troupe::engine...; troupe::troupe links them all.
include(CMakePackageConfigHelpers)
set(troupe_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)

get_property(troupe_installed GLOBAL PROPERTY troupe_libraries)
# The command line is the program's own: it has no headers to build against.
list(REMOVE_ITEM troupe_installed troupe_cli_commands troupe_cli_launch)

add_library(troupe INTERFACE)
add_library(troupe::troupe ALIAS troupe)
target_link_libraries(troupe INTERFACE ${troupe_installed})

foreach(library ${troupe_installed} troupe_options)
  string(REGEX REPLACE "^troupe_" "" exported ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${exported})
endforeach()
install(TARGETS troupe troupe_options ${troupe_installed} EXPORT troupeTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT troupeTargets NAMESPACE troupe:: DESTINATION ${troupe_package_dir})

# Only the public interface: it includes no header of the tree's layers.
# What tests of a topology need, and programs do not, stands apart: target troupe::simulation.
install(DIRECTORY include/troupe testing/simulation/include/troupe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set_target_properties(troupe_main_program PROPERTIES INSTALL_RPATH ${TROUPE_TORCH_ROOT}/lib)
install(TARGETS troupe_cli troupe_main_program troupe_agent_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/troupeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/troupeConfig.cmake INSTALL_DESTINATION ${troupe_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/troupeConfig.cmake ${PROJECT_BINARY_DIR}/cmake/troupeConfigVersion.cmake
  cmake/TroupeTorch.cmake
  DESTINATION ${troupe_package_dir})
