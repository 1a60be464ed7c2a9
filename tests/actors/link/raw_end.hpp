#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {

/// A worker's end of a link that says what a test wants.
class raw_end {
 public:
  explicit raw_end(unique_fd socket) : socket_(std::move(socket)) {}

  void say(const std::string& bytes);
  /// True if something comes by then.
  bool is_answered_within(std::chrono::milliseconds at_most);
  /// True if the other end has closed by then.
  bool is_closed_within(std::chrono::milliseconds at_most);

 private:
  unique_fd socket_;
};

/// What a worker says first.
std::string greeting();

/// 32 bytes in CAF's form.
std::string basp_header(std::uint8_t operation, std::uint32_t payload_size, std::uint64_t data, std::uint64_t source,
                        std::uint64_t destination);
/// A handshake without a payload, which CAF dereferences.
std::string crashing_header();
/// Almost 4 GiB announced.
std::string greedy_header();

}  // namespace troupe::testing
