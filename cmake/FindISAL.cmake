include(${CMAKE_CURRENT_LIST_DIR}/troupe_find_debian_library.cmake)
troupe_find_debian_library(ISAL ISAL::ISAL isa-l/crc.h isal)  # libisal-dev
