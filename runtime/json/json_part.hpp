#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <troupe/error.hpp>

namespace troupe {

struct tagged_part;

/// A value of a JSON document that came from outside, with its place in it. Each access checks the value: E0210,
/// which names the file and the place, where it is missing or of another type. The document must outlive it.
class json_part {
 public:
  /// `where` is the file, `place` the name of the document.
  json_part(const nlohmann::json& value, std::string where, std::string place)
      : value_(&value), where_(std::move(where)), place_(std::move(place)) {}

  /// A member of an object.
  [[nodiscard]] expected<json_part> at(std::string_view key) const;
  /// Nothing where there is no such member, or where it is null.
  [[nodiscard]] expected<std::optional<json_part>> find(std::string_view key) const;
  /// Whether this is an object that has such a member, with the value null.
  [[nodiscard]] bool has_null(std::string_view key) const;
  /// The elements of an array.
  [[nodiscard]] expected<std::vector<json_part>> items() const;
  /// The members of an object.
  [[nodiscard]] expected<std::vector<std::pair<std::string, json_part>>> members() const;
  /// The one member of an object that has one alone, as the schema writes a choice between several kinds:
  /// {"as_int": 3}.
  [[nodiscard]] expected<tagged_part> tagged() const;

  [[nodiscard]] expected<std::string> text() const;
  /// A whole number of 64 bits.
  [[nodiscard]] expected<std::int64_t> integer() const;
  /// A number, or "Infinity", "-Infinity" or "NaN".
  [[nodiscard]] expected<double> real() const;
  [[nodiscard]] expected<bool> truth() const;
  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  /// Null, or an array or object without members.
  [[nodiscard]] bool is_empty() const { return value_->empty(); }

  /// E0210: "models/model.json is damaged: graph.nodes[3].target is no text".
  [[nodiscard]] tl::unexpected<error> wrong(const std::string& finding) const;
  /// The file.
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  [[nodiscard]] json_part inside(const nlohmann::json& value, const std::string& step) const {
    return {value, where_, place_ + step};
  }

  const nlohmann::json* value_;
  std::string where_;
  std::string place_;
};

struct tagged_part {
  std::string kind;
  json_part value;
};

/// The texts of an array.
expected<std::vector<std::string>> texts_of(const json_part& list);

/// Members that may be missing or null.
expected<bool> truth_or(const json_part& part, std::string_view key, bool otherwise);
expected<std::string> text_or(const json_part& part, std::string_view key, const std::string& otherwise);

}  // namespace troupe
