#include "runtime/data/npy_dictionary.hpp"

#include <algorithm>
#include <charconv>

#include "messages/limits.hpp"

namespace troupe {

namespace {

/// No name or type of an array of numbers comes near it.
constexpr std::size_t string_bytes_max = 64;
constexpr std::size_t keys = 3;

}  // namespace

std::optional<npy_dictionary> npy_dictionary_parser::parse() {
  npy_dictionary result;
  if (!want('{')) return std::nullopt;
  bool separated = true;
  while (!accept('}')) {
    if (!separated) return want_failed("',' or '}'"), std::nullopt;
    if (!entry(result)) return std::nullopt;
    separated = accept(',');
  }
  if (seen_.size() != keys) return want_failed("the keys 'descr', 'fortran_order' and 'shape'"), std::nullopt;
  skip_space();
  if (position_ != text_.size()) return want_failed("nothing but white space after '}'"), std::nullopt;
  return result;
}

bool npy_dictionary_parser::entry(npy_dictionary& into) {
  skip_space();
  const std::size_t begin = position_;
  std::string key;
  if (!string(key)) return false;
  const bool known = key == "descr" || key == "fortran_order" || key == "shape";
  if (!known || std::find(seen_.begin(), seen_.end(), key) != seen_.end()) {
    position_ = begin;
    return want_failed("each of the keys 'descr', 'fortran_order' and 'shape' once, found '" + key + "'");
  }
  seen_.push_back(key);
  return want(':') && value(key, into);
}

bool npy_dictionary_parser::value(const std::string& key, npy_dictionary& into) {
  skip_space();
  if (key == "fortran_order") return boolean(into.fortran_order);
  if (key == "shape") return tuple(into.shape);
  if (text_.substr(position_).starts_with('[')) return want_failed("a simple element type, found fields");
  return string(into.descr);
}

bool npy_dictionary_parser::boolean(bool& into) {
  for (const bool candidate : {false, true}) {
    const std::string_view word = candidate ? "True" : "False";
    if (!text_.substr(position_).starts_with(word)) continue;
    position_ += word.size();
    into = candidate;
    return true;
  }
  return want_failed("True or False");
}

bool npy_dictionary_parser::string(std::string& into) {
  skip_space();
  const std::string_view rest = text_.substr(position_);
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"')) return want_failed("a quoted name");
  const std::size_t end = rest.find(rest[0], 1);
  if (end == std::string_view::npos || end > string_bytes_max) return want_failed("a short name in quotes");
  into = rest.substr(1, end - 1);
  const bool printable =
      std::all_of(into.begin(), into.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  if (!printable) return want_failed("printable characters in quotes");
  position_ += end + 1;
  return true;
}

bool npy_dictionary_parser::tuple(std::vector<std::int64_t>& into) {
  if (!want('(')) return false;
  bool separated = true;
  while (!accept(')')) {
    // (5) is a number in Python, (5,) a tuple.
    if (!separated) return want_failed("',' or ')'");
    if (into.size() == limits::npy_dimensions_max) {
      return want_failed("at most " + std::to_string(limits::npy_dimensions_max) + " dimensions");
    }
    std::int64_t size = 0;
    if (!number(size)) return false;
    into.push_back(size);
    separated = accept(',');
  }
  return into.size() != 1 || separated || want_failed("',' after the only dimension");
}

bool npy_dictionary_parser::number(std::int64_t& into) {
  skip_space();
  const char* begin = text_.data() + position_;
  const char* end = text_.data() + text_.size();
  const auto [stop, failure] = std::from_chars(begin, end, into);
  if (failure != std::errc{} || into < 0 || (stop - begin > 1 && *begin == '0') || *begin == '-') {
    return want_failed("a size from 0 to 2^63 - 1");
  }
  position_ += static_cast<std::size_t>(stop - begin);
  return true;
}

void npy_dictionary_parser::skip_space() {
  while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
    ++position_;
  }
}

bool npy_dictionary_parser::accept(char c) {
  skip_space();
  if (position_ >= text_.size() || text_[position_] != c) return false;
  ++position_;
  return true;
}

bool npy_dictionary_parser::want(char c) {
  return accept(c) || want_failed(std::string("'") + c + "'");
}

bool npy_dictionary_parser::want_failed(std::string what) {
  expected_ = std::move(what);
  return false;
}

}  // namespace troupe
