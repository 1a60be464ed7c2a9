include(${CMAKE_CURRENT_LIST_DIR}/troupe_find_debian_library.cmake)
troupe_find_debian_library(Gloo Gloo::gloo gloo/config.h gloo)  # libgloo-dev, for benchmarks only
