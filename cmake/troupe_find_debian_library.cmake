include(FindPackageHandleStandardArgs)

# A library that Debian ships without a CMake config, as the imported target of this name, from the file of a Find module.
macro(troupe_find_debian_library package target header library)
  find_path(${package}_INCLUDE_DIR ${header})
  find_library(${package}_LIBRARY ${library})
  mark_as_advanced(${package}_INCLUDE_DIR ${package}_LIBRARY)
  find_package_handle_standard_args(${package} REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR)
  if(${package}_FOUND AND NOT TARGET ${target})
    add_library(${target} SHARED IMPORTED)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${package}_LIBRARY})
    target_include_directories(${target} SYSTEM INTERFACE ${${package}_INCLUDE_DIR})
  endif()
endmacro()
