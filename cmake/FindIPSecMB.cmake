# Intel's ipsec-mb as Debian ships it (libipsec-mb-dev, without a CMake config): IPSecMB::IPSecMB.
find_path(IPSecMB_INCLUDE_DIR intel-ipsec-mb.h)
find_library(IPSecMB_LIBRARY IPSec_MB)
mark_as_advanced(IPSecMB_INCLUDE_DIR IPSecMB_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(IPSecMB REQUIRED_VARS IPSecMB_LIBRARY IPSecMB_INCLUDE_DIR)
if(IPSecMB_FOUND AND NOT TARGET IPSecMB::IPSecMB)
  add_library(IPSecMB::IPSecMB SHARED IMPORTED)
  set_target_properties(IPSecMB::IPSecMB PROPERTIES IMPORTED_LOCATION ${IPSecMB_LIBRARY})
  target_include_directories(IPSecMB::IPSecMB SYSTEM INTERFACE ${IPSecMB_INCLUDE_DIR})
  # Else its header has macros that are named as functions of OpenSSL are.
  target_compile_definitions(IPSecMB::IPSecMB INTERFACE NO_COMPAT_IMB_API_053)
endif()
