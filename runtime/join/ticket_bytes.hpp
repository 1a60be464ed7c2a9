#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/join/join_secret.hpp"

/// Numbers and names in the binary form of a ticket (join_ticket.hpp), which has a secret in it, and of what a node and
/// the driver say when it joins (join_exchange.hpp); for the sources of these two alone.
namespace troupe {

inline constexpr std::size_t ticket_checksum_bytes = 4;
inline constexpr std::size_t ticket_bytes_max = 32 + join_secret::size + 2 * 8 + 2 + 1 + limits::join_name_bytes_max +
                                                1 + limits::join_addresses_max * (1 + limits::join_name_bytes_max) +
                                                ticket_checksum_bytes;

/// Numbers in network order, and names with a byte of size. The caller has made sure that all fits.
class ticket_writer {
 public:
  explicit ticket_writer(std::size_t capacity = ticket_bytes_max) : content_(capacity) {}
  void number(std::uint64_t value, std::size_t size) {
    while (size-- > 0) put_byte(static_cast<char>(value >> (8 * size) & 0xff));
  }
  void bytes(std::span<const std::uint8_t> added) {
    for (const std::uint8_t byte : added) put_byte(static_cast<char>(byte));
  }
  void name(const std::string& text) {
    number(text.size(), 1);
    for (const char c : text) put_byte(c);
  }
  [[nodiscard]] const secret_text& content() const { return content_; }
  [[nodiscard]] secret_text take() { return std::move(content_); }

 private:
  void put_byte(char c) { TROUPE_CHECK(content_.append(c), "what is written is within its limits"); }

  secret_text content_;
};

/// The same, read. After the end of the input all is zero and is_short() says so.
class ticket_reader {
 public:
  explicit ticket_reader(std::span<const std::uint8_t> input) : left_(input) {}

  std::span<const std::uint8_t> bytes(std::size_t size) {
    if (size > left_.size()) {
      is_short_ = true;
      left_ = {};
      return {};
    }
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes(size)) value = value << 8 | byte;
    return value;
  }
  std::string name() {
    const auto text = bytes(number(1));
    return {text.begin(), text.end()};
  }
  template <std::size_t Size>
  std::array<std::uint8_t, Size> array() {
    std::array<std::uint8_t, Size> read{};
    std::ranges::copy(bytes(Size), read.begin());
    return read;
  }
  [[nodiscard]] bool is_short() const { return is_short_; }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

 private:
  std::span<const std::uint8_t> left_;
  bool is_short_ = false;
};

}  // namespace troupe
