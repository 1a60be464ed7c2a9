#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "messages/codec/head.hpp"
#include "messages/codec/schema.hpp"

namespace troupe::codec {

/// Reads the values of a message one after another. The first error stays and ends all further reading, so that callers
/// look at it once, at the end.
class reader {
 public:
  reader(std::span<const std::byte> input, std::size_t offset) : input_(input), offset_(offset) {}

  [[nodiscard]] const std::optional<error>& problem() const noexcept { return problem_; }

  void read(std::string& value);
  void read(std::vector<std::byte>& value);
  void read(stop_mode& value);
  void read(score_content& value);
  void read(error_code& value);
  void read(bool& value) { value = number(1) != 0; }
  void read(double& value) { value = std::bit_cast<double>(number(std::numeric_limits<std::uint64_t>::max())); }

  template <std::unsigned_integral T>
  void read(T& value) {
    value = static_cast<T>(number(std::numeric_limits<T>::max()));
  }

  template <class T>
  void read(std::optional<T>& value) {
    value.reset();
    if (!skip_nil()) read(value.emplace());
  }

  /// Without reserve(): items are made as they are found, so an announced length alone costs nothing.
  template <class T>
  void read(std::vector<T>& value) {
    value.clear();
    for (std::uint64_t left = array(items_max<T>); left > 0 && !problem_; --left) read(value.emplace_back());
  }

  template <record T>
  void read(T& value) {
    const std::size_t at = offset_;
    array_of(arity<T>);
    std::apply([&](auto... member) { (read(value.*member), ...); }, schema<T>::fields);
    if (const auto wrong = objection(value); !wrong.empty()) refuse(error_code::wire_malformed, at, std::string(wrong));
  }

 private:
  /// All of them answer 0 or nothing once there is a problem.
  std::uint64_t number(std::uint64_t most);
  std::uint64_t array(std::size_t most);
  void array_of(std::size_t items);
  bool skip_nil();
  std::optional<head> take(item_type type);
  void refuse(error_code code, std::size_t offset, std::string cause);

  std::span<const std::byte> input_;
  std::size_t offset_;
  std::optional<error> problem_;
};

}  // namespace troupe::codec
