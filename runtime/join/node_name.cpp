#include "runtime/join/node_name.hpp"

#include <algorithm>

#include "messages/limits.hpp"

namespace troupe {
namespace {

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == ':';
}

}  // namespace

bool is_node_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > limits::join_name_bytes_max) return false;
  return text.front() != '-' && text.front() != '.' && std::ranges::all_of(text, is_of_a_name);
}

}  // namespace troupe
