#include "runtime/text/token_model.hpp"

#include "runtime/text/byte_alphabet.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {

bool token_model::tokenize_bytes(std::string_view word, std::vector<model_token>& to) const {
  const std::string written = characters_of_bytes(word);
  const std::size_t first = to.size();
  if (!tokenize(written, to)) return false;
  // One character stands for each byte; a span beyond the text, which a byte fallback may give, stays.
  std::vector<std::uint32_t> bytes_before;
  bytes_before.reserve(written.size() + 1);
  std::uint32_t count = 0;
  for (const char byte : written) {
    if (!utf8::is_continuation(byte)) ++count;
    bytes_before.push_back(count - 1);
  }
  bytes_before.push_back(count);
  const auto in_bytes = [&](std::uint32_t at) { return at < bytes_before.size() ? bytes_before[at] : at; };
  for (std::size_t i = first; i < to.size(); ++i) {
    to[i].begin = in_bytes(to[i].begin);
    // A span that ends inside of a character has a part of that one.
    const std::uint32_t end = to[i].end;
    const bool is_inside = end < written.size() && utf8::is_continuation(written[end]);
    to[i].end = in_bytes(end) + (is_inside ? 1 : 0);
  }
  return true;
}

}  // namespace troupe
