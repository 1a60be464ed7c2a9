#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <msgpack.hpp>

#include "messages/codec/schema.hpp"

namespace troupe::codec {

/// Takes the packer's bytes up to the limit of a message and drops the rest.
class byte_sink {
 public:
  void write(const char* data, std::size_t size) {
    if (size > limits::wire_message_bytes_max - out_.size()) full_ = true;
    if (full_) return;
    const auto added = std::as_bytes(std::span(data, size));
    out_.insert(out_.end(), added.begin(), added.end());
  }
  [[nodiscard]] bool full() const noexcept { return full_; }
  [[nodiscard]] bytes take() && { return std::move(out_); }

 private:
  bytes out_;
  bool full_ = false;
};

/// Writes values in the shortest msgpack form. Only codec.cpp includes it, so that msgpack's headers stay out of
/// all others.
class writer {
 public:
  writer() : packer_(sink_) {}

  void write(bool value) { packer_.pack(static_cast<std::uint8_t>(value ? 1 : 0)); }
  /// As its bits: msgpack has doubles, but no promise about their NaN.
  void write(double value) { packer_.pack(std::bit_cast<std::uint64_t>(value)); }

  template <std::unsigned_integral T>
  void write(T value) {
    packer_.pack(value);
  }

  template <class T>
  requires std::is_enum_v<T>
  void write(T value) { packer_.pack(static_cast<std::underlying_type_t<T>>(value)); }

  void write(std::string_view text) {
    text = cut(text);
    packer_.pack_str(static_cast<std::uint32_t>(text.size()));
    packer_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }

  void write(const std::vector<std::byte>& content) {
    if (content.size() > limits::wire_message_bytes_max) {
      problem_ = "binary of " + std::to_string(content.size()) + " bytes";
      return;
    }
    packer_.pack_bin(static_cast<std::uint32_t>(content.size()));
    packer_.pack_bin_body(reinterpret_cast<const char*>(content.data()), static_cast<std::uint32_t>(content.size()));
  }

  template <class T>
  void write(const std::optional<T>& value) {
    if (value) {
      write(*value);
    } else {
      packer_.pack_nil();
    }
  }

  template <class T>
  void write(const std::vector<T>& items) {
    if (items.size() > items_max<T>) {
      problem_ = "list of " + std::to_string(items.size()) + " items, the limit is " + std::to_string(items_max<T>);
      return;
    }
    array(items.size());
    for (const T& item : items) write(item);
  }

  template <record T>
  void write(const T& value) {
    array(arity<T>);
    std::apply([&](auto... member) { (write(value.*member), ...); }, schema<T>::fields);
  }

  void array(std::size_t items) { packer_.pack_array(static_cast<std::uint32_t>(items)); }

  /// The bytes, or why there are none.
  expected<bytes> finish(std::string_view message_name) && {
    if (sink_.full()) problem_ = "more than " + std::to_string(limits::wire_message_bytes_max) + " bytes";
    if (problem_.empty()) return std::move(sink_).take();
    return fail(error_code::wire_too_large, "message " + std::string(message_name), problem_,
                "Send less in one message");
  }

 private:
  /// Not in the middle of a UTF-8 character: continuation bytes are 10xxxxxx.
  static std::string_view cut(std::string_view text) {
    if (text.size() <= limits::wire_string_bytes_max) return text;
    std::size_t end = limits::wire_string_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;
    return text.substr(0, end);
  }

  byte_sink sink_;
  msgpack::packer<byte_sink> packer_;
  std::string problem_;
};

}  // namespace troupe::codec
