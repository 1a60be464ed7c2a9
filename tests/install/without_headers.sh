#!/bin/sh
# Runs a command in a mount namespace of its own, where CAF, Asio and OpenSSL have no headers, and the folder $TROUPE_HIDDEN is empty.
set -eu
if [ "${TROUPE_HEADERS_HIDDEN:-}" != yes ]; then
  flags=--mount
  [ "$(id -u)" = 0 ] || flags="--mount --map-root-user"
  # shellcheck disable=SC2086
  exec env TROUPE_HEADERS_HIDDEN=yes unshare $flags "$0" "$@"
fi
for path in caf asio openssl x86_64-linux-gnu/openssl aarch64-linux-gnu/openssl; do
  [ ! -d "/usr/include/$path" ] || mount -t tmpfs none "/usr/include/$path"
done
[ -z "${TROUPE_HIDDEN:-}" ] || mount -t tmpfs none "$TROUPE_HIDDEN"
# An empty file would be found, so the folder that has asio.hpp cannot be left as it is: it is hidden by a file that fails.
failing=$(mktemp)
echo '#error "a hidden header is included"' >"$failing"
[ ! -f /usr/include/asio.hpp ] || mount --bind "$failing" /usr/include/asio.hpp
exec "$@"
