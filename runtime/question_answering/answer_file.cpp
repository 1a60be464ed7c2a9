#include "runtime/question_answering/answer_file.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "messages/file_fixes.hpp"
#include "messages/printable.hpp"

namespace troupe {

namespace {

using nlohmann::json;

/// One object with members of one type; nothing else is kept.
template <class Value>
class flat_reader final : public nlohmann::json_sax<json> {
 public:
  explicit flat_reader(std::string path) : path_(std::move(path)) {}

  bool null() override { return other(); }
  bool boolean(bool /*value*/) override { return other(); }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return take(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*digits*/) override { return take(value); }
  bool string(string_t& value) override { return take(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return other(); }
  bool start_array(std::size_t /*elements*/) override { return other(); }
  bool end_array() override { return true; }
  bool end_object() override { return true; }
  bool start_object(std::size_t /*elements*/) override {
    if (is_open_) return other();
    return is_open_ = true;
  }
  bool key(string_t& value) override {
    key_ = value;
    if (!made_.contains(key_)) return true;
    return wrong(shown() + " is there twice");
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*caught*/) override {
    return wrong("it is no JSON text of UTF-8 at byte " + std::to_string(position));
  }

  std::optional<error> problem;
  std::map<std::string, Value> take_all() { return std::move(made_); }

 private:
  static constexpr bool is_text = std::is_same_v<Value, std::string>;

  template <class Found>
  bool take(Found value) {
    if constexpr (std::is_same_v<Found, Value>) {
      if (!is_open_) return other();
      if constexpr (!is_text) {
        if (!std::isfinite(value)) return other();
      }
      made_.emplace(key_, std::move(value));
      return true;
    }
    return other();
  }
  bool other() {
    return wrong(!is_open_ ? std::string("it is no object")
                           : "the value of " + shown() + " is no " + (is_text ? "text" : "number"));
  }
  bool wrong(const std::string& finding) {
    problem = error{error_code::data_bad_format, path_, finding,
                    is_text ? "give an object with a text for each question: {\"ID\": \"ANSWER\"}"
                            : "give an object with a number for each question: {\"ID\": 0.25}"};
    return false;
  }
  [[nodiscard]] std::string shown() const { return "\"" + printable(key_.substr(0, 60)) + "\""; }

  std::string path_;
  bool is_open_ = false;
  std::string key_;
  std::map<std::string, Value> made_;
};

template <class Value>
expected<std::map<std::string, Value>> read_flat(const std::string& path) {
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    return fail(error_code::data_missing, path, "there is no such file", "correct the path");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return fail(error_code::data_unreadable, path, "it cannot be read, or is empty", "give a file with predictions");
  }
  flat_reader<Value> reader(path);
  const bool is_whole = json::sax_parse(file, &reader);
  if (reader.problem) return tl::make_unexpected(*reader.problem);
  if (!is_whole) return fail(error_code::data_bad_format, path, "it is no JSON text", copy_again_fix);
  return reader.take_all();
}

}  // namespace

expected<std::map<std::string, std::string>> read_answer_file(const std::string& path) {
  return read_flat<std::string>(path);
}

expected<std::map<std::string, double>> read_number_file(const std::string& path) {
  return read_flat<double>(path);
}

}  // namespace troupe
