#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/refused_words.hpp"
#include "tests/tree/source_text.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t function_lines_max = 60;

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

}  // namespace

findings function_findings(const fs::path& root) {
  findings all;
  for (const fs::path& file : source_files(root)) {
    if (file.filename() == "CMakeLists.txt") continue;
    const source_text text(root / file);
    for (const function_range& each : function_list(text.code()).found) {
      const std::size_t first = text.line_of(each.begin);
      const std::size_t lines = text.line_of(each.end) - first + 1;
      if (lines <= function_lines_max) continue;
      all.push_back(file.string() + ":" + std::to_string(first) + ": function of " + std::to_string(lines) + " lines");
    }
  }
  return all;
}

}  // namespace troupe::testing
