#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// A field of a message: a number, or bytes, which point into the message.
struct protobuf_field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes = {};
};

/// Reads the fields of a message of protocol buffers (their wire format), which an untrusted peer may have written:
/// next() gives nothing at its end, and where what comes is no field, which is_wrong() tells apart.
class protobuf_fields {
 public:
  explicit protobuf_fields(std::string_view bytes) : rest_(bytes) {}

  std::optional<protobuf_field> next() {
    if (rest_.empty()) return std::nullopt;
    protobuf_field found;
    const std::uint64_t key = varint();
    found.number = key >> 3;
    switch (key & 7) {
      case 0:
        found.value = varint();
        break;
      case 1:
        found.bytes = take(8);
        break;
      case 2:
        found.bytes = take(varint());
        break;
      case 5:
        found.bytes = take(4);
        break;
      default:
        is_wrong_ = true;
    }
    if (is_wrong_ || found.number == 0) {
      is_wrong_ = true;
      return std::nullopt;
    }
    return found;
  }
  [[nodiscard]] bool is_wrong() const noexcept { return is_wrong_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty()) return 0;
      const auto bits = static_cast<unsigned char>(byte.front());
      value |= static_cast<std::uint64_t>(bits & 0x7F) << shift;
      if (bits < 0x80) return value;
    }
    is_wrong_ = true;
    return 0;
  }
  std::string_view take(std::uint64_t count) {
    if (is_wrong_ || count > rest_.size()) {
      is_wrong_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool is_wrong_ = false;
};

}  // namespace troupe
