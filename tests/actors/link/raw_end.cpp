#include "tests/actors/link/raw_end.hpp"

#include <algorithm>

#include <poll.h>
#include <sys/socket.h>

#include "actors/link/waiting_link.hpp"

namespace troupe::testing {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

bool can_read(int fd, clock::time_point deadline) {
  pollfd polled{fd, POLLIN, 0};
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
  return ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
}

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

}  // namespace

void raw_end::say(const std::string& bytes) {
  // The other end may have closed already.
  static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

bool raw_end::is_answered_within(milliseconds at_most) {
  char byte = 0;
  return can_read(socket_.get(), clock::now() + at_most) && ::recv(socket_.get(), &byte, 1, MSG_PEEK) == 1;
}

bool raw_end::is_closed_within(milliseconds at_most) {
  const auto deadline = clock::now() + at_most;
  char bytes[4096];
  while (can_read(socket_.get(), deadline)) {
    if (::recv(socket_.get(), bytes, sizeof(bytes), 0) <= 0) return true;
  }
  return false;
}

std::string greeting() {
  return {link_greeting};
}

std::string basp_header(std::uint8_t operation, std::uint32_t payload_size, std::uint64_t data, std::uint64_t source,
                        std::uint64_t destination) {
  std::string bytes{static_cast<char>(operation), 0, 0, 0};
  append(bytes, payload_size, 4);
  for (const std::uint64_t value : {data, source, destination}) append(bytes, value, 8);
  return bytes;
}

std::string crashing_header() {
  return basp_header(1, 0, 0, 0, 0);
}

std::string greedy_header() {
  return basp_header(2, 0xF000'0000, 0, 1, 1);
}

}  // namespace troupe::testing
