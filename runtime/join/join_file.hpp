#pragma once

#include <chrono>
#include <string>

#include "messages/limits.hpp"
#include "runtime/join/join_ticket.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The ticket in a file (--join-file). Links are followed, because Kubernetes mounts a Secret as links; the opened file
/// itself is checked. E0401 if it cannot be opened. E0404 for anything but a regular file of this process's user or of
/// root that neither its group nor others have rights to (mode 0600 or 0400), for a file of more than
/// limits::join_ticket_bytes_max bytes, and for one that is no ticket.
[[nodiscard]] expected<join_ticket> read_join_file(const std::string& path);

/// Writes a new file of mode 0600, on the disk when this returns. E0611 if there is something of that name, links
/// included, or if it cannot be written; then no part stays. E0404 as to_text().
[[nodiscard]] expected<void> write_join_file(const std::string& path, const join_ticket& ticket);

/// The ticket in the first line of a pipe, a terminal or another descriptor, such as the standard input that ssh gives.
/// Nothing behind the line is read. A last line may lack its end. E0404 for a line of more than
/// limits::join_ticket_bytes_max bytes for one that is no ticket, and if there is no whole line after `wait`; E0614 if
/// the system refuses. Blocks the thread; `fd` stays the caller's.
[[nodiscard]] expected<join_ticket> read_join_ticket(int fd,
                                                     std::chrono::milliseconds wait = limits::join_ticket_timeout);

}  // namespace troupe
