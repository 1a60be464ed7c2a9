#pragma once

#include <chrono>
#include <cstdint>

#include <troupe/actors/secure/tls_session.hpp>
#include <troupe/messages/error.hpp>

namespace troupe {

/// An error, and whether the same attempt may succeed a moment later.
struct failed_attempt {
  error cause;
  bool may_pass = false;
};

template <class T>
using attempted = tl::expected<T, failed_attempt>;

/// A failed attempt at 127.0.0.1:port. E0708 if nobody is there or the peer went away, E0707 if one refused the other.
[[nodiscard]] tl::unexpected<failed_attempt> failed_link(error_code code, std::uint16_t port, std::string cause,
                                                         std::string fix, bool may_pass);

/// Connects, shakes hands and waits for the door's welcome, until `deadline` at the latest.
[[nodiscard]] attempted<tls_session> shake_hands_on_loopback(const tls_context& context, std::uint16_t port,
                                                             std::chrono::steady_clock::time_point deadline);

}  // namespace troupe
