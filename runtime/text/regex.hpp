#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include <troupe/tokenizer.hpp>

// Oniguruma's, which only regex.cpp includes.
struct re_pattern_buffer;
struct re_registers;
struct OnigMatchParamStruct;

namespace troupe {

/// A regular expression of Oniguruma, the library that the `tokenizers` package uses, in its own syntax. Threads: any.
class regex {
 public:
  /// The error says why the library refuses the pattern, or that it calls a group. A compiled pattern may take
  /// thousands of times its bytes (tokenizer_file.hpp).
  static tl::expected<regex, std::string> compile(std::string_view pattern);

 private:
  friend class regex_search;
  explicit regex(std::shared_ptr<re_pattern_buffer> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<re_pattern_buffer> compiled_;
};

/// The matches of an expression in a text, which is UTF-8. Both must outlive it.
class regex_search {
 public:
  regex_search(const regex& what, std::string_view text);

  /// The next match in ascending order. Nothing behind the last one, or where the search gave up.
  std::optional<text_span> next();
  /// The library went back too often, or took too much memory or time.
  [[nodiscard]] bool has_given_up() const noexcept { return has_given_up_; }

 private:
  struct freed {
    void operator()(re_registers* region) const noexcept;
    void operator()(OnigMatchParamStruct* limits) const noexcept;
  };

  re_pattern_buffer* compiled_;
  std::string_view text_;
  std::unique_ptr<re_registers, freed> region_;
  std::unique_ptr<OnigMatchParamStruct, freed> limits_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t from_ = 0;
  std::optional<std::size_t> last_end_;
  unsigned matches_ = 0;
  bool has_given_up_ = false;
};

}  // namespace troupe
