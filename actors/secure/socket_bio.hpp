#pragma once

#include <openssl/bio.h>

namespace troupe {

/// OpenSSL's way to a socket, without the SIGPIPE that its own raises when the peer is gone. The descriptor stays the
/// caller's. Null if there is no memory.
[[nodiscard]] BIO* new_socket_bio(int fd);

}  // namespace troupe
