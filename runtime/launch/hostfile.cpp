#include "runtime/launch/hostfile.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_name.hpp"
#include "runtime/os/input_file.hpp"

namespace troupe {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::string_view slots_key = "slots=";
constexpr std::string_view line_fix = "write one node per line, for example: worker-0 slots=4";

class hostfile_reader {
 public:
  explicit hostfile_reader(std::string_view file) : file_(file) {}

  expected<void> read_line(std::string_view line) {
    ++line_;
    rest_ = line.substr(0, line.find('#'));
    at_ = 0;
    const std::string_view name = next_word();
    if (name.empty()) return {};
    const std::size_t name_at = word_at_;
    auto read = read_node_name(name);
    if (!read) return bad_line(name_at + read.error().at, read.error().cause, read.error().fix);
    return read_slots().and_then([&](std::uint32_t slots) { return add({std::move(*read), slots}, name_at); });
  }

  expected<std::vector<launch_node>> nodes() && {
    if (!nodes_.empty()) return std::move(nodes_);
    return fail(error_code::config_bad_value, std::string(file_), "has no node", std::string(line_fix));
  }

 private:
  [[nodiscard]] std::string place(std::size_t at) const { return fmt::format("{}:{}:{}", file_, line_, at + 1); }
  [[nodiscard]] tl::unexpected<error> bad_line(std::size_t at, std::string cause, std::string fix = {}) const {
    return fail(error_code::config_syntax, place(at), std::move(cause),
                fix.empty() ? std::string(line_fix) : std::move(fix));
  }

  /// Empty at the end of the line. word_at_ is then the end of the word before.
  std::string_view next_word() {
    const std::size_t begin = rest_.find_first_not_of(blanks, at_);
    word_at_ = begin == std::string_view::npos ? at_ : begin;
    if (begin == std::string_view::npos) return {};
    at_ = std::min(rest_.find_first_of(blanks, begin), rest_.size());
    return rest_.substr(begin, at_ - begin);
  }

  /// The rest of the line.
  expected<std::uint32_t> read_slots() {
    std::optional<std::uint32_t> slots;
    std::optional<std::uint32_t> most;
    std::size_t most_at = 0;
    for (std::string_view word = next_word(); !word.empty(); word = next_word()) {
      const bool is_most = word.starts_with("max_slots=") || word.starts_with("max-slots=");
      if (!is_most && !word.starts_with(slots_key)) {
        const char* more = slots || most ? " stands behind the slots" : " is found, slots=N is expected";
        return bad_line(word_at_, quote_text(word) + more);
      }
      std::optional<std::uint32_t>& into = is_most ? most : slots;
      if (into) return bad_line(word_at_, quote_text(word) + " stands behind the slots");
      if (is_most) most_at = word_at_;
      auto count = read_count(word);
      if (!count) return count;
      into = *count;
    }
    if (most && !slots) return bad_line(word_at_, "slots=N is missing beside max_slots");
    if (most && *most < *slots) {
      return fail(error_code::config_bad_value, place(most_at),
                  fmt::format("max_slots={} is less than slots={}", *most, *slots), "leave max_slots out");
    }
    return slots.value_or(1);
  }

  /// The number of "slots=4", the last word.
  expected<std::uint32_t> read_count(std::string_view word) {
    const std::size_t sign = word.find('=');
    const std::string_view digits = word.substr(sign + 1);
    const auto count = read_digits(digits);
    if (!count) return bad_line(word_at_ + sign + 1, quote_text(digits) + " is no number of slots");
    if (*count == 0 || *count > limits::node_slots_max) {
      return fail(error_code::config_bad_value, place(word_at_ + sign + 1),
                  fmt::format("{} slots, a node has 1 to {}", digits.substr(0, 20), limits::node_slots_max),
                  "write the number of processes that the node takes");
    }
    return static_cast<std::uint32_t>(*count);
  }

  expected<void> add(launch_node node, std::size_t name_at) {
    const auto [known, is_new] = lines_.emplace(node.name, line_);
    if (!is_new) {
      return fail(error_code::config_bad_value, place(name_at),
                  fmt::format("node {} stands in line {} already", quote_text(node.name), known->second),
                  "write one line per node, with all of its slots");
    }
    if (nodes_.size() == limits::launch_nodes_max) {
      return fail(error_code::config_bad_value, place(name_at),
                  fmt::format("more than {} nodes", limits::launch_nodes_max), "use fewer nodes");
    }
    nodes_.push_back(std::move(node));
    return {};
  }

  std::string_view file_;
  std::size_t line_ = 0;
  std::string_view rest_;
  std::size_t at_ = 0;
  std::size_t word_at_ = 0;
  std::vector<launch_node> nodes_;
  std::map<std::string, std::size_t> lines_;
};

tl::unexpected<error> unreadable_hostfile(const std::string& path, std::string cause) {
  return fail(error_code::config_missing, path, std::move(cause), "name a hostfile that can be read");
}

}  // namespace

expected<std::vector<launch_node>> parse_hostfile(std::string_view text, std::string_view file) {
  if (text.size() > limits::hostfile_bytes_max) {
    return fail(error_code::config_syntax, std::string(file),
                fmt::format("is longer than {} bytes", limits::hostfile_bytes_max), "name a hostfile");
  }
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  hostfile_reader reader(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    TROUPE_TRY(reader.read_line(text.substr(at, end - at)));
    at = end + 1;
  }
  return std::move(reader).nodes();
}

expected<std::vector<launch_node>> read_hostfile(const std::string& path) {
  const auto text = read_small_input(path, limits::hostfile_bytes_max);
  return text ? parse_hostfile(*text, path) : unreadable_hostfile(path, text.error().cause);
}

}  // namespace troupe
