include(${CMAKE_CURRENT_LIST_DIR}/troupe_find_debian_library.cmake)
troupe_find_debian_library(IPSecMB IPSecMB::IPSecMB intel-ipsec-mb.h IPSec_MB)  # libipsec-mb-dev
if(IPSecMB_FOUND)
  # Else its header has macros that are named as functions of OpenSSL are.
  set_target_properties(IPSecMB::IPSecMB PROPERTIES INTERFACE_COMPILE_DEFINITIONS NO_COMPAT_IMB_API_053)
endif()
