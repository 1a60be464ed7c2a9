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
install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/troupe)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# LibTorch comes along, so that the tree runs for every user and wherever it is moved (docs/decisions/0021).
option(TROUPE_INSTALL_TORCH "cmake --install copies LibTorch's libraries, headers and licences (510 MB); OFF: what is installed uses TROUPE_TORCH_ROOT where it is" ${PROJECT_IS_TOP_LEVEL})
if(TROUPE_INSTALL_TORCH)
  set(troupe_installed_torch ${CMAKE_INSTALL_LIBDIR}/troupe/libtorch)
  file(RELATIVE_PATH troupe_way_to_torch /${CMAKE_INSTALL_BINDIR} /${troupe_installed_torch}/lib)
  set_target_properties(troupe_main_program PROPERTIES INSTALL_RPATH $ORIGIN/${troupe_way_to_torch})
  install(CODE "set(troupe_torch_root \"${TROUPE_TORCH_ROOT}\")\nset(troupe_torch_libraries \"${troupe_installed_torch}/lib\")")
  install(SCRIPT cmake/TroupeInstallTorch.cmake)
  install(DIRECTORY ${TROUPE_TORCH_ROOT}/include DESTINATION ${troupe_installed_torch} MESSAGE_NEVER)
  # The second place is that of a Python package.
  file(GLOB troupe_torch_licences ${TROUPE_TORCH_ROOT}/licenses ${TROUPE_TORCH_ROOT}/../torch-*.dist-info/licenses)
  install(DIRECTORY ${troupe_torch_licences} DESTINATION ${troupe_installed_torch} MESSAGE_NEVER)
else()
  set(troupe_installed_torch ${TROUPE_TORCH_ROOT})
  set_target_properties(troupe_main_program PROPERTIES INSTALL_RPATH ${TROUPE_TORCH_ROOT}/lib)
  install(CODE "message(STATUS \"LibTorch is not installed: what is installed needs ${TROUPE_TORCH_ROOT}, and users who can read it\")")
endif()
install(TARGETS troupe_cli troupe_main_program troupe_agent_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/troupeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/troupeConfig.cmake INSTALL_DESTINATION ${troupe_package_dir}
  PATH_VARS troupe_installed_torch)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/troupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/troupeConfig.cmake ${PROJECT_BINARY_DIR}/cmake/troupeConfigVersion.cmake
  cmake/TroupeTorch.cmake
  DESTINATION ${troupe_package_dir})
