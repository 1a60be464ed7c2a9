#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include "runtime/join/join_ticket.hpp"
#include "runtime/join/ticket_book.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A node that has joined a job.
struct joined_node {
  std::string node;
  /// What it shows from now on. The key was made here and has not left this process.
  tls_credentials credentials;
  /// Where the driver listens: numeric.
  std::string address;
  std::uint16_t port = 0;
  /// The numeric address of this node on the network that leads there.
  std::string own_address;
};

/// Joins the job of a ticket: tries its addresses in turn, again and again with growing pauses, as the driver may not
/// listen yet and its name may not resolve yet. The driver must show the authority of the ticket before the secret is
/// sent; what it answers is checked again. `version` (join_exchange.hpp, is_version()) must be the driver's.
///
/// A driver without room closes the connection, and is tried again; only what it says over TLS, having shown its
/// certificate, is a refusal.
///
/// Blocks the thread, at most for about `at_most`. Errors: E0708, if the driver was not reached until then; E0707, if
/// it refuses limits::join_refusals_max times, if only other programs answered, or at once, naming the difference, if
/// the job's certificates are not valid by the clock of this node; E0617, naming both versions; E0702 for an answer
/// that is none; E0601 if OpenSSL fails; E0614 without a descriptor.
[[nodiscard]] expected<joined_node> join_job(const join_ticket& ticket, const std::string& version,
                                             std::chrono::milliseconds at_most, const unix_clock& clock = unix_now);

}  // namespace troupe
