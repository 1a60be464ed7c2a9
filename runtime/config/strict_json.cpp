#include "runtime/config/strict_json.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "runtime/config/text_place.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

/// Bytes of a key that are shown in an error.
constexpr std::size_t key_bytes_shown = 80;

/// Past the end of the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

/// Where the comment that begins at `at` ends; `at` itself where there is none.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("/*")) {
    const std::size_t end = rest.find("*/", 2);
    return end == std::string_view::npos ? at : at + end + 2;
  }
  if (!rest.starts_with('#') && !rest.starts_with("//")) return at;
  return std::min(text.find('\n', at), text.size());
}

/// Places stay as they are.
std::string without_comments(std::string_view text) {
  std::string kept(text);
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
      continue;
    }
    const std::size_t end = end_of_comment(text, at);
    for (std::size_t i = at; i < end; ++i) {
      if (kept[i] != '\n') kept[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return kept;
}

/// The names of the functions are nlohmann's.
class strict_builder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*digits*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& value) override {
    if (open_.back()->contains(value)) {
      twice_ = value;
      return false;
    }
    member_ = &(*open_.back())[value];
    return true;
  }
  bool start_object(std::size_t /*elements*/) override { return enter(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return enter(json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& caught) override {
    position_ = position;
    const std::string_view said = caught.what();  // "[json.exception.parse_error.101] parse error at ...: syntax ..."
    const std::size_t place = said.find(": ");
    objection_ = place == std::string_view::npos ? said : said.substr(place + 2);
    return false;
  }

  [[nodiscard]] json take() { return std::move(root_); }
  [[nodiscard]] bool is_too_deep() const { return open_.size() > limits::config_nesting_max; }
  [[nodiscard]] const std::string& twice() const { return twice_; }
  [[nodiscard]] const std::string& objection() const { return objection_; }
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  json& place() {
    if (open_.empty()) return root_;
    if (open_.back()->is_object()) return *member_;
    open_.back()->push_back(nullptr);
    return open_.back()->back();
  }
  bool add(json value) {
    place() = std::move(value);
    return true;
  }
  bool enter(json container) {
    json& entered = place();
    entered = std::move(container);
    open_.push_back(&entered);  // its container does not grow before it is left
    return !is_too_deep();
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;
  json* member_ = nullptr;
  std::string twice_;
  std::string objection_;
  std::size_t position_ = 0;
};

}  // namespace

expected<json> parse_strict_json(std::string_view text, const std::string& name) {
  constexpr auto fix = "write JSON, with nothing but comments beside it";
  const std::string plain = without_comments(text);
  strict_builder builder;
  if (json::sax_parse(plain, &builder)) return builder.take();
  if (builder.is_too_deep()) {
    return fail(error_code::config_syntax, name,
                fmt::format("more than {} objects and arrays inside each other", limits::config_nesting_max), fix);
  }
  if (builder.objection().empty()) {
    return fail(error_code::config_syntax, name,
                fmt::format("the key \"{}\" is there twice in one object", printable(builder.twice(), key_bytes_shown)),
                "leave one of them out");
  }
  const auto [line, column] = place_in(plain, std::min(plain.size(), builder.position() - 1));
  return fail(error_code::config_syntax, fmt::format("{}:{}:{}", name, line, column), builder.objection(), fix);
}

}  // namespace troupe
