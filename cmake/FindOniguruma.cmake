include(${CMAKE_CURRENT_LIST_DIR}/troupe_find_debian_library.cmake)
troupe_find_debian_library(Oniguruma Oniguruma::Oniguruma oniguruma.h onig)  # libonig-dev
