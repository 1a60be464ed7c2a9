# How every target of Troupe is built: warnings, sanitizers, include root, precompiled headers.
# troupe_library(NAME ...) makes one static library per folder, so that the link graph mirrors the tree.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endif()

# Several sources of a target are compiled as one: parsing the headers of LibTorch and CAF takes most of a source's time, and is
# done once for all of them. Names in anonymous namespaces are therefore unique within a target.
option(TROUPE_UNITY "Compile several sources of a target as one" ${PROJECT_IS_TOP_LEVEL})
set(CMAKE_UNITY_BUILD ${TROUPE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
if(TROUPE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes an included source for a header, whose anonymous namespaces would differ from file to file.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# Compiled objects are shared by the clones of this machine: those of g++ by all, those of clang by all that had the same path
# (troupe_pch). A fresh clone has new file times, so they may not count; a precompiled header is taken by its content.
# CCACHE_DEPEND: what it does not have is compiled at once; the compiler's own list of headers says what it depends on.
find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(troupe_ccache_in_place ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  set(troupe_ccache_settings ${troupe_ccache_in_place} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${troupe_ccache_settings} ${TROUPE_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # __FILE__ is a path of the tree: where the clone lies would be content of each test and of each TROUPE_CHECK.
    add_compile_options(-fpch-preprocess -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
endif()
# g++ searches its memory for what is free again and again; with a start of 1 GiB, which it reaches anyway, a tenth faster.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PROJECT_IS_TOP_LEVEL)
  add_compile_options("--param=ggc-min-heapsize=1048576")
endif()
find_program(TROUPE_LLD ld.lld)
if(TROUPE_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(troupe_options INTERFACE)
target_compile_features(troupe_options INTERFACE cxx_std_20)
# Includes are paths of the tree: <troupe/...> is the public interface in include/, "runtime/..." is our own.
target_include_directories(troupe_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# What g++ 12 sees wrongly where headers are precompiled.
set(troupe_gcc_false_alarms "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")

add_library(troupe_warnings INTERFACE)
target_compile_options(troupe_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wconversion
  -Wno-sign-conversion -Werror -Winvalid-pch
  # g++ 12 sees uninitialized members in every moved std::optional<std::variant<...>> (GCC bug 105562 and its like), and overlaps in
  # "literal" + std::string (105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized\;-Wno-restrict>)
# Assertions stay on in release builds (messages/check.hpp); -g1 keeps stack traces readable at little cost in size.
if(TROUPE_SANITIZE STREQUAL "address-undefined")
  # CAF and LibTorch bind null references in their headers, hence no-sanitize=null. LibTorch hides the type information that vptr
  # needs of classes in its headers.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_definitions(__SANITIZE_ADDRESS__=1)  # as g++ tells it
  endif()
elseif(TROUPE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
elseif(TROUPE_SANITIZE)
  message(FATAL_ERROR "TROUPE_SANITIZE=${TROUPE_SANITIZE}: use address-undefined, thread or nothing")
endif()

# troupe_pch(NAME HEADER DEPENDS...): one precompiled header, shared by all targets that name it.
function(troupe_pch name header)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// carries the precompiled header\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE troupe_options troupe_warnings ${ARGN})
  target_precompile_headers(${name} PRIVATE ${header})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache would miss in a fresh clone
    # clang's header names the files of its clone, which may be gone when another one gets it: it is for clones at the same path
    if(TROUPE_CCACHE AND troupe_ccache_in_place)
      set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${troupe_ccache_in_place};${TROUPE_CCACHE}")
    endif()
  endif()
endfunction()

# troupe_use_pch(TARGET PCH): the header that the target PCH carries, for all files of TARGET.
function(troupe_use_pch target pch)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # g++ rejects a header precompiled with -fPIC under the -fPIE that programs get
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# troupe_library(NAME SOURCES a.cpp... [DEPENDS target...] [PRIVATE_DEPENDS target...] [PCH pch_target])
function(troupe_library name)
  cmake_parse_arguments(arg "" "PCH" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC troupe_options ${arg_DEPENDS} PRIVATE $<BUILD_INTERFACE:troupe_warnings> ${arg_PRIVATE_DEPENDS})
  if(NOT arg_PCH AND TARGET troupe_std_pch)
    set(arg_PCH troupe_std_pch)
  endif()
  if(arg_PCH)
    target_compile_options(${name} PRIVATE "${troupe_gcc_false_alarms}")
    troupe_use_pch(${name} ${arg_PCH})
  endif()
  if(TROUPE_SANITIZE STREQUAL "thread")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)  # built where a test with threads needs it
  endif()
  set_property(GLOBAL APPEND PROPERTY troupe_libraries ${name})
endfunction()

# troupe_objects(NAME PCH pch_target SOURCES a.cpp... [DEPENDS target...]): some files of a library, by name $<TARGET_OBJECTS:NAME>,
# with another precompiled header than its others. A header that a file does not need costs it up to three seconds.
function(troupe_objects name)
  cmake_parse_arguments(arg "" "PCH" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe_options troupe_warnings ${arg_DEPENDS})
  target_compile_options(${name} PRIVATE "${troupe_gcc_false_alarms}")
  troupe_use_pch(${name} ${arg_PCH})
endfunction()

# How the tests' own files differ from what they test. -O0: optimising them takes the compiler longer than it saves the tests. Without
# UndefinedBehaviorSanitizer, which nearly doubles the time of compiling: it stays on for all that users get (messages, runtime, actors, program,
# cli), and AddressSanitizer for everything. Without -g: lines of the product are what a report needs.
function(troupe_test_code name)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR TROUPE_SANITIZE STREQUAL "thread")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(TROUPE_SANITIZE STREQUAL "address-undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(TROUPE_SANITIZE)
    target_compile_options(${name} PRIVATE -g0)
  endif()
endfunction()

# troupe_test_pch(NAME HEADER DEPENDS...): as troupe_pch, for the files of tests.
function(troupe_test_pch name header)
  troupe_pch(${name} ${header} ${ARGN})
  troupe_test_code(${name})
endfunction()

# troupe_test(NAME SOURCES a.cpp... [DEPENDS target...] [RUNS program...] [PCH pch_target] [LABELS l...] [TIMEOUT seconds] [COST seconds]
#   [OPTIMIZED] [QUICK] [ONE_THREAD] [PROCESSES] [ASAN])
# One program and one ctest entry per NAME.
#   RUNS        programs that the test starts
#   COST        the seconds that it takes, where that is 5 or more (else a hundredth of TIMEOUT): ctest starts the longest first
#   OPTIMIZED   compiled as the product is
#   QUICK       `make quick` runs it although it has a TIMEOUT of ten minutes or a COST of ten seconds (label slow)
#   ONE_THREAD  neither the test nor what it tests has a second thread, so ThreadSanitizer has nothing to find
#   TIMEOUT     300 unless given; twice as much under a sanitizer
#   PROCESSES   starts workers or the program itself; under AddressSanitizer it is built and run by `make check` alone
#   ASAN        of those with PROCESSES: always built and run under AddressSanitizer
# Tests that need files find the tree in TROUPE_SOURCE_DIR (tests/support/paths.hpp).
function(troupe_test name)
  cmake_parse_arguments(arg "OPTIMIZED;QUICK;ONE_THREAD;PROCESSES;ASAN" "PCH;TIMEOUT;COST" "SOURCES;DEPENDS;RUNS;LABELS" ${ARGN})
  if(arg_ONE_THREAD AND TROUPE_SANITIZE STREQUAL "thread")
    return()
  endif()
  set(is_left_out)
  if(TROUPE_SANITIZE STREQUAL "address-undefined" AND arg_PROCESSES AND NOT arg_ASAN AND NOT TROUPE_ALL_TESTS)
    set(is_left_out EXCLUDE_FROM_ALL)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_COST)
    math(EXPR arg_COST "${arg_TIMEOUT} / 100")
  endif()
  if((arg_TIMEOUT GREATER_EQUAL 600 OR arg_COST GREATER_EQUAL 10) AND NOT arg_QUICK)
    list(APPEND arg_LABELS slow)
  endif()
  if(TROUPE_SANITIZE)
    math(EXPR arg_TIMEOUT "2 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${is_left_out} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe_warnings ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  if(arg_OPTIMIZED)
    set(arg_PCH troupe_std_pch)
  else()
    troupe_test_code(${name})
  endif()
  if(NOT arg_PCH AND TARGET troupe_test_pch)
    set(arg_PCH troupe_test_pch)
  endif()
  # g++ 12 forgets that what was precompiled is a system header, and sees 105651 there, too.
  target_compile_options(${name} PRIVATE "${troupe_gcc_false_alarms}")
  if(arg_PCH)
    troupe_use_pch(${name} ${arg_PCH})
  endif()
  if(is_left_out)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_COST} LABELS "${arg_LABELS}"
    ENVIRONMENT "TROUPE_SOURCE_DIR=${PROJECT_SOURCE_DIR};TROUPE_BINARY_DIR=${PROJECT_BINARY_DIR}")
  if(arg_RUNS)
    add_dependencies(${name} ${arg_RUNS})
    list(TRANSFORM arg_RUNS REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
    # ctest does not start the test without them.
    set_tests_properties(${name} PROPERTIES REQUIRED_FILES "${files}")
  endif()
endfunction()

# A test program of the full reference data, which may be missing: skipped as a whole, by its exit status.
function(troupe_full_data_test name)
  troupe_test(${name} ${ARGN} LABELS full-data)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/full_data_main.cpp)
  target_compile_definitions(${name} PRIVATE TROUPE_SKIPPED=77)
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
