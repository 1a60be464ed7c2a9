#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "messages/codec/head.hpp"
#include "runtime/edge/tcp/frame.hpp"

/// The visitors of frame_fields.hpp, for frame.cpp alone.
namespace troupe {

/// Writes fields as msgpack, in the shortest form.
class field_writer {
 public:
  explicit field_writer(frame_head_bytes& out) : out_(out) {}

  void operator()(std::unsigned_integral auto value, std::uint64_t) noexcept { number(value); }
  template <class T>
  void operator()(const std::optional<T>& value, std::uint64_t) noexcept {
    if (value) {
      number(*value);
    } else {
      out_.put(0xc0);
    }
  }
  void array(std::uint64_t items) noexcept { out_.put(0x90 | items); }
  void number(std::uint64_t value) noexcept {
    if (value < 0x80) return out_.put(value);
    const unsigned width = value > 0xffffffffu ? 3 : value > 0xffffu ? 2 : value > 0xffu ? 1 : 0;
    out_.put(0xcc + width);
    for (unsigned shift = 8u << width; shift > 0; shift -= 8) out_.put(value >> (shift - 8));
  }

 private:
  frame_head_bytes& out_;
};

/// Reads fields; the first error stays.
class field_reader {
 public:
  explicit field_reader(std::span<const std::byte> input) : input_(input) {}

  template <std::unsigned_integral T>
  void operator()(T& value, std::uint64_t most) {
    const auto found = take(codec::item_type::unsigned_integer);
    if (!found) return;
    if (found->value > most) return too_great(found->value, most);
    value = static_cast<T>(found->value);
  }
  template <class T>
  void operator()(std::optional<T>& value, std::uint64_t most) {
    if (problem_ || take_nil()) return;
    (*this)(value.emplace(), most);
  }
  std::uint64_t array() {
    const auto found = take(codec::item_type::array);
    return found ? found->value : 0;
  }
  void refuse(error_code code, std::string cause) { refuse(code, last_, std::move(cause)); }
  void refuse(error_code code, std::size_t at, std::string cause) {
    if (!problem_) problem_ = codec::fail_at(code, at, std::move(cause)).value();
  }
  void end() {
    if (offset_ != input_.size()) refuse(error_code::wire_malformed, offset_, "bytes after the last field");
  }
  [[nodiscard]] const std::optional<error>& problem() const noexcept { return problem_; }

 private:
  std::optional<codec::head> take(codec::item_type type) {
    if (problem_) return std::nullopt;
    last_ = offset_;
    const auto found = codec::find_head(input_, offset_);
    if (!found) {
      problem_ = codec::read_head(input_, offset_).error();
    } else if (found->type != type) {
      refuse(error_code::wire_malformed,
             "expected " + std::string(name_of(type)) + ", found " + std::string(name_of(found->type)));
    } else {
      offset_ = found->end;
      return *found;
    }
    return std::nullopt;
  }
  bool take_nil() {
    const auto found = codec::find_head(input_, offset_);
    if (!found || found->type != codec::item_type::nil) return false;
    offset_ = found->end;
    return true;
  }
  void too_great(std::uint64_t value, std::uint64_t most) {
    refuse(error_code::wire_too_large,
           "number " + std::to_string(value) + ", the limit here is " + std::to_string(most));
  }

  std::span<const std::byte> input_;
  std::size_t offset_ = frame_prelude_bytes;
  std::size_t last_ = frame_prelude_bytes;
  std::optional<error> problem_;
};

}  // namespace troupe
