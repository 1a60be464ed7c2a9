#!/bin/sh
# Compiles with clang what CMake would have the compiler of the product compile: the launcher of the tests' own files in release
# builds (cmake/TroupeBuild.cmake).
#
#     [TROUPE_CCACHE=ccache] scripts/clang_in_place.sh COMPILER FLAG...
#
# g++ instantiates the templates of a precompiled header in each file again, clang once, with the header. COMPILER is the one that
# is not used; of its flags, clang ignores those that it does not know.
set -eu
shift
is_header=
case " $* " in *" -x c++-header "*) is_header=yes ;; esac
if [ "$is_header" ]; then
  # The header is included by name, and clang would take the one that was precompiled before.
  before=
  for argument; do
    [ "$before" != -o ] || rm -f "$argument"
    before=$argument
  done
  # Without the time in it, a header of a fresh clone at the same path is one that ccache knows. At another path it must not be:
  # it names the files of its clone.
  unset CCACHE_BASEDIR CCACHE_NOHASHDIR
  set -- -Xclang -fno-pch-timestamp -fpch-instantiate-templates "$@"
fi
exec ${TROUPE_CCACHE:+"$TROUPE_CCACHE"} clang++ -Wno-unknown-warning-option -Wno-unused-command-line-argument \
  -Wno-pragma-system-header-outside-header "$@"
