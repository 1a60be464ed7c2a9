#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t function_lines_max = 60;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// A text without comments, literals' contents and preprocessor lines; lines stay where they are.
class plain_code {
 public:
  explicit plain_code(std::string_view text) : text_(text), code_(text) {
    while (at_ < text_.size()) step();
  }
  [[nodiscard]] const std::string& code() const { return code_; }

 private:
  [[nodiscard]] bool is_next(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  [[nodiscard]] bool is_after_word() const { return at_ > 0 && is_word(text_[at_ - 1]); }

  void step() {
    if (text_[at_] == '\n') return begin_line();
    if (text_[at_] == '#' && is_line_start_) return blank_to(end_of_directive());
    if (!std::isspace(static_cast<unsigned char>(text_[at_]))) is_line_start_ = false;
    if (is_next("//")) return blank_to(text_.find('\n', at_));
    if (is_next("/*")) return blank_to(after(text_.find("*/", at_ + 2), 2));
    if (is_next("R\"")) return blank_to(end_of_raw_string());
    if (text_[at_] == '"' || (text_[at_] == '\'' && !is_after_word())) return blank_to(end_of_literal(text_[at_]));
    ++at_;
  }
  void begin_line() {
    is_line_start_ = true;
    ++at_;
  }
  void blank_to(std::size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') code_[at_] = ' ';
    }
  }
  static std::size_t after(std::size_t found, std::size_t size) {
    return found == std::string_view::npos ? found : found + size;
  }
  [[nodiscard]] std::size_t end_of_directive() const {
    std::size_t end = text_.find('\n', at_);
    while (end != std::string_view::npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    return end;
  }
  [[nodiscard]] std::size_t end_of_raw_string() const {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return open;
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    return after(text_.find(close, open), close.size());
  }
  [[nodiscard]] std::size_t end_of_literal(char quote) const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    return end + 1;
  }

  std::string_view text_;
  std::string code_;
  std::size_t at_ = 0;
  bool is_line_start_ = true;
};

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

/// What stands before a brace at namespace or class scope says what the braces hold.
enum class braces { scope, function, other };

/// `head` from its last parameter list on, without what stands in parentheses: "() const", "=  []() mutable".
std::string outside_parentheses(std::string_view head) {
  std::string outside;
  int depth = 0;
  for (const char c : head) {
    if (c == ')') --depth;
    if (depth == 0) outside += c;
    if (c == '(') ++depth;
  }
  return outside;
}

braces kind_of(std::string_view head) {
  std::string outside = outside_parentheses(head);
  if (const auto found = outside.find("alignas()"); found != std::string::npos) outside.erase(found, 9);
  const bool has_parameters = outside.find("()") != std::string::npos;
  for (const std::string_view word : {"namespace", "extern", "class", "struct", "union", "enum"}) {
    if (has_word(outside, word) && !has_parameters) return braces::scope;
  }
  const bool is_lambda = outside.find("= [") != std::string::npos;
  return has_parameters || is_lambda ? braces::function : braces::other;
}

struct function_range {
  std::size_t begin = 0;  ///< offsets of the head's first character and of the closing brace
  std::size_t end = 0;
};

/// The functions of a file that are in no other function.
class function_list {
 public:
  explicit function_list(std::string_view code) : code_(code) {
    for (at_ = 0; at_ < code_.size(); ++at_) step();
  }
  std::vector<function_range> found;

 private:
  void step() {
    const char c = code_[at_];
    if (c == '{') return open();
    if (c == '}') return close();
    if (c == ';' && is_at_scope()) head_ = at_ + 1;
  }
  [[nodiscard]] bool is_at_scope() const { return open_.empty() || open_.back().first == braces::scope; }
  void open() {
    const std::string_view head = code_.substr(head_, at_ - head_);
    open_.emplace_back(is_at_scope() ? kind_of(head) : braces::other, first_of_head());
    if (open_.back().first == braces::scope) head_ = at_ + 1;
  }
  void close() {
    if (open_.empty()) return;
    const auto [kind, begin] = open_.back();
    open_.pop_back();
    if (kind == braces::function) note(begin);
    if (kind == braces::scope) head_ = at_ + 1;
  }
  /// Braces that end no function: of `a_{1}` and `a_({1})` among a constructor's initialisers.
  void note(std::size_t begin) {
    const std::size_t next = code_.find_first_not_of(" \n", at_ + 1);
    const bool goes_on =
        next != std::string_view::npos && std::string_view(",{)").find(code_[next]) != std::string_view::npos;
    if (goes_on) return;
    found.push_back({begin, at_});
    head_ = at_ + 1;
  }
  [[nodiscard]] std::size_t first_of_head() const {
    const std::size_t first = code_.find_first_not_of(" \n", head_);
    return std::min(first, at_);
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t head_ = 0;
  std::vector<std::pair<braces, std::size_t>> open_;
};

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

}  // namespace

findings function_findings(const fs::path& root) {
  findings all;
  for (const fs::path& file : source_files(root)) {
    if (file.filename() == "CMakeLists.txt") continue;
    std::string text;
    for (const std::string& line : read_lines(root / file)) text += line + '\n';
    const plain_code plain(text);
    for (const function_range& each : function_list(plain.code()).found) {
      const std::size_t first = line_of(text, each.begin);
      const std::size_t lines = line_of(text, each.end) - first + 1;
      if (lines <= function_lines_max) continue;
      all.push_back(file.string() + ":" + std::to_string(first) + ": function of " + std::to_string(lines) + " lines");
    }
  }
  return all;
}

}  // namespace troupe::testing
