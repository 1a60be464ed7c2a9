#pragma once

#include <sys/types.h>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A unix socket that this process has inherited: of this `type` (SOCK_STREAM, SOCK_SEQPACKET), and made by `maker`
/// under this user, as the kernel says. Non-blocking and close-on-exec from then on. E0707 for any other, naming
/// `where`; E0614 if the system refuses.
[[nodiscard]] expected<unique_fd> adopt_socket(unique_fd socket, int type, pid_t maker, const char* where);

}  // namespace troupe
