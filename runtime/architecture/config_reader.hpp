#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The config.json of a model of Hugging Face's transformers. Values are read with their defaults, which are those of
/// the configuration's class in Python. The first value that cannot be is kept, and comes back from finish(), so that
/// the code of an architecture reads without checks. "rope_scaling.factor" is a value of an object within the object.
class config_reader {
 public:
  explicit config_reader(json_part root) : root_(std::move(root)) {}

  /// A size: 1 or more, and no more than a billion.
  std::int64_t size(std::string_view key, std::optional<std::int64_t> otherwise = std::nullopt);
  /// As size(), or 0.
  std::int64_t count(std::string_view key, std::optional<std::int64_t> otherwise = std::nullopt);
  /// The side of a square, checked as size() is: 224, or [224, 224]. E0219 for a list of other numbers.
  std::int64_t side(std::string_view key, std::int64_t otherwise);
  /// As count(), and no more than a thousand, as each has its operators.
  std::int64_t layers(std::string_view key, std::int64_t otherwise);
  /// A size that follows from others, checked as size() is; `key` stands for it.
  std::int64_t product(std::string_view key, std::int64_t one, std::int64_t other);
  double number(std::string_view key, std::optional<double> otherwise = std::nullopt);
  bool flag(std::string_view key, std::optional<bool> otherwise = std::nullopt);
  /// One of `choices`; E0219 names them for another one.
  std::string choice(std::string_view key, const std::vector<std::string>& choices,
                     const std::optional<std::string>& otherwise = std::nullopt);
  /// A list of texts; empty where there is none.
  std::vector<std::string> texts(std::string_view key);
  /// Whether the key is there, and not null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// The key that a file may have in place of the configuration's own: its general name in transformers, if it is
  /// there.
  [[nodiscard]] std::string_view either(std::string_view own, std::string_view general) const {
    return has(general) ? general : own;
  }
  /// Whether the key is there with the value null, which is another default of some keys in Python.
  [[nodiscard]] bool is_null(std::string_view key) const { return root_.has_null(key); }
  /// For what `choice` is too narrow: an error that says why the value of the key is not supported.
  void refuse(std::string_view key, const std::string& why);
  /// Refuses the flag if it is not `only`, which is its default.
  void refuse_other(std::string_view key, bool only);
  /// Refuses every value but null and empty ones.
  void refuse_any(std::string_view key);
  /// Refuses the members of an object that are none of `known`.
  void refuse_members_but(std::string_view key, const std::vector<std::string>& known);

  /// E0210 for a value that is missing or of another type, E0219 for one that no architecture here has.
  [[nodiscard]] expected<void> finish() const;

 private:
  [[nodiscard]] expected<std::optional<json_part>> find(std::string_view key) const;
  std::int64_t bounded(std::string_view key, std::int64_t value);
  std::int64_t above_zero(std::string_view key, std::int64_t value);
  template <class Value, class Read>
  Value read(std::string_view key, const std::optional<Value>& otherwise, const Read& convert);

  json_part root_;
  std::optional<error> first_;
};

}  // namespace troupe
