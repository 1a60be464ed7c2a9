#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/question_answering/squad_file.hpp"

namespace troupe {

/// Takes the events of a JSON text in the form of SQuAD. The names of the functions are nlohmann's: each returns
/// whether to go on, and where it says no, problem() says why.
class squad_reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit squad_reader(std::string path) : path_(std::move(path)) {}

  bool null() override { return begin_value() && take_other("null"); }
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& digits) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool key(string_t& value) override;
  bool start_object(std::size_t elements) override;
  bool start_array(std::size_t elements) override;
  bool end_object() override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& caught) override;

  [[nodiscard]] const std::optional<error>& problem() const { return problem_; }
  /// After the last event.
  expected<squad_file> take();

 private:
  enum class part { document, data, article, paragraphs, paragraph, questions, question, answers, answer, other };
  struct open_part {
    part what = part::other;
    /// An object: the member that comes. An array: how many elements came.
    std::string key = {};
    std::size_t count = 0;
    /// Members that are needed and came; each once.
    std::vector<std::string> seen = {};
  };
  struct open_answer {
    std::string text;
    std::optional<std::int64_t> start;
    std::size_t question = 0;
  };

  bool enter(bool is_object);
  bool leave();
  bool has_all(const open_part& ended);
  bool end_paragraph();
  bool check_start(const open_answer& answer);
  bool take_text(std::string& value);
  bool take_start(std::int64_t value);
  /// A value that no member of this form has: an error where another type is needed here.
  bool take_other(const char* found);
  bool begin_value();
  [[nodiscard]] bool is_at(part what, const char* key) const;
  [[nodiscard]] std::string place() const;
  bool wrong(const std::string& finding);

  std::string path_;
  std::vector<open_part> open_;
  squad_file made_;
  bool says_impossible_ = false;
  std::string version_;
  /// The answers of the paragraph that is open, whose context may come behind them.
  std::vector<open_answer> answers_;
  std::size_t context_ = 0;
  std::optional<error> problem_;
};

}  // namespace troupe
