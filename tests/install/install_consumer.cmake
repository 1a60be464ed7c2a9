# Run by install_consumer_test (CMakeLists.txt beside this file).
cmake_minimum_required(VERSION 3.25)
set(prefix ${SCRATCH_DIR}/moved)
set(build ${SCRATCH_DIR}/build)

# step(NAME COMMAND...): runs it, its output into ${NAME}_output; a status other than 0 ends the test.
function(step name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${name} ended with ${status}\n${output}\n${errors}")
  endif()
  set(${name}_output "${output}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected \"${pattern}\" in:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH_DIR})
step(install ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${SCRATCH_DIR}/prefix)
file(RENAME ${SCRATCH_DIR}/prefix ${prefix})
if(NOT EXISTS ${prefix}/bin/troupe-main)
  message(FATAL_ERROR "no program in ${prefix}/bin")
endif()

# The package must not lean on the trees it came from, nor on the builder's LibTorch.
file(GLOB_RECURSE package_files ${prefix}/*.cmake)
if(NOT package_files)
  message(FATAL_ERROR "no package under ${prefix}")
endif()
foreach(file ${package_files})
  file(READ ${file} text)
  foreach(tree ${SOURCE_DIR}/ ${BUILD_DIR}/ ${TORCH_ROOT})
    string(FIND "${text}" "${tree}" at)
    if(at GREATER -1)
      message(FATAL_ERROR "${file} names ${tree}")
    endif()
  endforeach()
endforeach()

foreach(program troupe troupe-main troupe-agent)
  step(libraries ldd ${prefix}/bin/${program})
  string(FIND "${libraries_output}" "${TORCH_ROOT}" at)
  if(at GREATER -1 OR libraries_output MATCHES "not found")
    message(FATAL_ERROR "${program} needs what other users do not have:\n${libraries_output}")
  endif()
endforeach()
file(GLOB_RECURSE licences ${prefix}/lib*/troupe/libtorch/licenses/*)
if(NOT licences)
  message(FATAL_ERROR "LibTorch's licences are not installed")
endif()
step(closed_to_others find ${prefix} -not -type l -not -perm -o+r)
if(closed_to_others_output)
  message(FATAL_ERROR "other users cannot read:\n${closed_to_others_output}")
endif()

# The C++ blocks of README.md and docs/, which the consumer compiles with the includes that they show.
file(MAKE_DIRECTORY ${SCRATCH_DIR}/blocks)
step(blocks ${PAGE_BLOCKS} ${SOURCE_DIR} ${SCRATCH_DIR}/blocks)

# The consumer is configured and built where no header of CAF, Asio or OpenSSL can be found, nor the builder's LibTorch.
unset(ENV{TROUPE_TORCH_ROOT})
unset(ENV{TROUPE_CACHE_DIR})
set(ENV{TROUPE_HIDDEN} ${TORCH_ROOT})
execute_process(COMMAND ${SOURCE_DIR}/tests/install/without_headers.sh true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(refused)
  message(WARNING "no mount namespaces here: headers and LibTorch are not hidden")
  set(without_headers "")
else()
  set(without_headers ${SOURCE_DIR}/tests/install/without_headers.sh)
  foreach(header caf/all.hpp asio.hpp openssl/ssl.h)
    execute_process(COMMAND ${without_headers} ${CXX_COMPILER} -fsyntax-only -include ${header} -x c++ /dev/null
      RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      message(FATAL_ERROR "${header} is still found")
    endif()
  endforeach()
endif()
# What was compiled before from the same installed files need not be compiled again.
set(ENV{CCACHE_BASEDIR} ${SOURCE_DIR})
set(ENV{CCACHE_NOHASHDIR} 1)
set(ENV{CCACHE_SLOPPINESS} time_macros,include_file_mtime,include_file_ctime)
if(NOT CCACHE)
  set(CCACHE "")
endif()
step(configure ${without_headers} ${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/install/consumer -B ${build} -G ${GENERATOR}
  -D BLOCKS_DIR=${SCRATCH_DIR}/blocks -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
  -D CMAKE_CXX_COMPILER_LAUNCHER=${CCACHE} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_FLAGS_RELEASE=-O0)
step(build ${without_headers} ${CMAKE_COMMAND} --build ${build})
step(run ${without_headers} ${build}/consumer ${SOURCE_DIR}/data)
expect("${run_output}" "correct 9904 of 10000 in 2 stages")
step(simulated ${without_headers} ${build}/simulated)
expect("${simulated_output}" "it ends with the same bits")

# Each C++ block of the pages, where a reader would run it.
set(place ${SCRATCH_DIR}/place)
file(MAKE_DIRECTORY ${place})
file(CREATE_LINK ${SOURCE_DIR}/data ${place}/data SYMBOLIC)
file(CREATE_LINK ${SOURCE_DIR}/data/mnist/lenet.pt ${place}/lenet.pt SYMBOLIC)
step(names ${without_headers} ${build}/page_blocks)
string(REGEX REPLACE "\n$" "" names "${names_output}")
string(REPLACE "\n" ";" names "${names}")
foreach(name ${names})
  execute_process(COMMAND ${without_headers} ${build}/page_blocks ${name} WORKING_DIRECTORY ${place} TIMEOUT 120
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the block ${name} ended with ${status}\n${output}\n${errors}")
  endif()
endforeach()
expect("${names_output}" "docs_pipeline_engine_md_")

# evaluated_by(WORDS...): the installed program evaluates and has workers, and its agent starts, in an environment without a home. `env`
# would drop TROUPE_HIDDEN, so it stands behind the script that hides.
file(COPY ${SOURCE_DIR}/data/mnist DESTINATION ${SCRATCH_DIR}/copied)
file(MAKE_DIRECTORY ${SCRATCH_DIR}/no_home)
function(evaluated_by)
  set(alone ${without_headers} ${ARGN} env -i PATH=/usr/bin:/bin HOME=${SCRATCH_DIR}/no_home)
  foreach(layout "--stages;1" "--stages;2;--processes")
    step(program ${alone} ${prefix}/bin/troupe eval --limit 100 --metrics accuracy --json ${layout}
      --model ${SCRATCH_DIR}/copied/mnist/lenet.pt --data mnist:${SCRATCH_DIR}/copied/mnist)
    expect("${program_output}" "\"total\": *100")
  endforeach()
  step(agent ${alone} ${prefix}/bin/troupe-agent --version)
  expect("${agent_output}" "^troupe-agent ")
endfunction()

evaluated_by()
# A user who may not even enter the folders above has nothing to show.
set(as_nobody setpriv --reuid=65534 --regid=65534 --clear-groups)
execute_process(COMMAND ${as_nobody} test -r ${prefix}/bin/troupe RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(NOT refused)
  evaluated_by(${as_nobody})
endif()

# Half a gigabyte.
file(REMOVE_RECURSE ${prefix})
