#include "runtime/question_answering/answer_file.hpp"

#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "runtime/question_answering/json_file.hpp"

namespace troupe {

namespace {

using nlohmann::json;

/// A member takes 112 bytes, however short it is in the file.
constexpr std::size_t predictions_max = 500'000;

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
    if (made_.contains(key_)) return wrong(shown() + " is there twice");
    return made_.size() < predictions_max || wrong("it has more than " + std::to_string(predictions_max) + " members");
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*caught*/) override {
    return wrong("it is no JSON text of UTF-8 at byte " + std::to_string(position));
  }

  [[nodiscard]] const std::optional<error>& problem() const { return problem_; }
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
    problem_ = error{error_code::data_bad_format, path_, finding,
                     is_text ? "give an object with a text for each question: {\"ID\": \"ANSWER\"}"
                             : "give an object with a number for each question: {\"ID\": 0.25}"};
    return false;
  }
  [[nodiscard]] std::string shown() const { return "\"" + printable(key_.substr(0, 60)) + "\""; }

  std::string path_;
  std::optional<error> problem_;
  bool is_open_ = false;
  std::string key_;
  std::map<std::string, Value> made_;
};

template <class Value>
expected<std::map<std::string, Value>> read_flat(const std::string& path) {
  flat_reader<Value> reader(path);
  TROUPE_TRY(read_json_file(path, reader, "correct the path", "give a file with predictions"));
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
