# Run by `cmake --install`: copies LibTorch's libraries from ${troupe_torch_root} into ${troupe_torch_libraries} of the prefix. All of
# its own folder: those of `make cuda` too, which are loaded from beside libtorch_cpu.so. And what libtorch_cpu.so needs from other
# folders that are not the system's, as a Python package has them (torch/../nvidia).
file(GLOB libraries ${troupe_torch_root}/lib/*.so ${troupe_torch_root}/lib/*.so.*)
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${troupe_torch_root}/lib/libtorch_cpu.so
  RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing POST_EXCLUDE_REGEXES "^/lib" "^/usr/")
if(missing)
  message(WARNING "libtorch_cpu.so needs libraries that are not found: ${missing}")
endif()
list(APPEND libraries ${needed})
list(REMOVE_DUPLICATES libraries)
# Where the file system can, this shares their blocks.
file(INSTALL ${libraries} DESTINATION ${CMAKE_INSTALL_PREFIX}/${troupe_torch_libraries} TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
