#include "runtime/text/regex.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "messages/check.hpp"
#include "runtime/text/oniguruma.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

/// How often a search may go back, in all and for each byte of the text.
constexpr unsigned long retries_max = 100'000;
constexpr unsigned long retries_per_byte_max = 50;
/// Entries of 40 bytes; a repeat takes one for each character.
constexpr unsigned stack_entries_max = 1U << 22;
/// The time for all matches in a text, and more for each byte: a normal text takes 0.2 µs for a byte.
constexpr std::chrono::seconds time_max(10);
constexpr std::chrono::microseconds time_per_byte_max(10);

const OnigUChar* bytes_of(const char* text) {
  return reinterpret_cast<const OnigUChar*>(text);
}

/// For an expression that was compiled: the library is there.
const oniguruma& library() {
  return *oniguruma::library();
}

/// \g<name>: groups that call each other make a pattern that takes for ever to compile.
bool calls_groups(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] == '\\' && pattern[++at] == 'g') return true;
  }
  return false;
}

}  // namespace

tl::expected<regex, std::string> regex::compile(std::string_view pattern) {
  if (calls_groups(pattern)) return tl::make_unexpected(std::string("calls of groups are not supported"));
  const auto& loaded = oniguruma::library();
  if (!loaded) return tl::make_unexpected(loaded.error());
  OnigRegex made = nullptr;
  OnigErrorInfo details{};
  const char* begin = pattern.data();
  const int done = loaded->compile(&made, bytes_of(begin), bytes_of(begin + pattern.size()), ONIG_OPTION_NONE,
                                   loaded->utf8, loaded->syntax, &details);
  if (done == ONIG_NORMAL) return regex(std::shared_ptr<re_pattern_buffer>(made, loaded->free));
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> message{};
  const int length = loaded->error_text(message.data(), done, &details);
  return tl::make_unexpected(std::string(message.data(), message.data() + length));
}

void regex_search::freed::operator()(re_registers* region) const noexcept {
  library().free_region(region, 1);
}

void regex_search::freed::operator()(OnigMatchParamStruct* limits) const noexcept {
  library().free_limits(limits);
}

regex_search::regex_search(const regex& what, std::string_view text)
    : compiled_(what.compiled_.get()),
      text_(text),
      region_(library().new_region()),
      limits_(library().new_limits()),
      deadline_(std::chrono::steady_clock::now() + time_max + time_per_byte_max * text.size()) {
  TROUPE_CHECK(region_ != nullptr && limits_ != nullptr, "there is memory for a search");
  const unsigned long retries = retries_max + retries_per_byte_max * text.size();
  library().initialize_limits(limits_.get());
  library().limit_retries_in_match(limits_.get(), retries);
  library().limit_retries_in_search(limits_.get(), retries);
  library().limit_stack(limits_.get(), stack_entries_max);
}

std::optional<text_span> regex_search::next() {
  constexpr unsigned matches_between_looks = 64;
  const auto at = [&](std::size_t position) { return bytes_of(text_.data() + position); };
  while (from_ <= text_.size() && !has_given_up_) {
    const int found = library().search(compiled_, at(0), at(text_.size()), at(from_), at(text_.size()), region_.get(),
                                       ONIG_OPTION_NONE, limits_.get());
    if (found < 0) {
      has_given_up_ = found != ONIG_MISMATCH;
      return std::nullopt;
    }
    if (++matches_ % matches_between_looks == 0) has_given_up_ = std::chrono::steady_clock::now() > deadline_;
    const text_span match{static_cast<std::uint32_t>(region_->beg[0]), static_cast<std::uint32_t>(region_->end[0])};
    // \K can put the beginning elsewhere.
    has_given_up_ = has_given_up_ || match.begin < from_ || match.end < match.begin;
    if (has_given_up_) return std::nullopt;
    if (match.begin == match.end && last_end_ == match.end) {
      from_ += from_ < text_.size() ? utf8::length_from(text_[from_]) : 1;
      continue;
    }
    from_ = match.end;
    last_end_ = match.end;
    return match;
  }
  return std::nullopt;
}

}  // namespace troupe
