#include "runtime/launch/node_list.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_name.hpp"

namespace troupe {
namespace {

struct number_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t digits = 1;
};

/// Bytes that stay, or the ranges of a bracket.
struct name_part {
  std::string bytes;
  std::vector<number_range> ranges;
};

class node_list_reader {
 public:
  node_list_reader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  expected<std::vector<std::string>> read() && {
    do {
      if (auto done = read_pattern(); !done) return tl::make_unexpected(std::move(done.error()));
    } while (at_++ < text_.size());
    return std::move(names_);
  }

 private:
  [[nodiscard]] tl::unexpected<error> bad(std::size_t at, std::string cause) const {
    return fail(error_code::value_out_of_range, character_place(source_, at), std::move(cause),
                "write a list of nodes as Slurm does, for example node[01-16,20],login1");
  }

  /// Up to the next comma outside of brackets, or the end.
  expected<void> read_pattern() {
    const std::size_t begin = at_;
    std::vector<name_part> parts;
    std::uint64_t count = 1;
    std::size_t bytes = 0;
    while (at_ < text_.size() && text_[at_] != ',') {
      auto part = text_[at_] == '[' ? read_bracket(count, bytes) : read_bytes(bytes);
      if (!part) return tl::make_unexpected(std::move(part.error()));
      parts.push_back(std::move(*part));
      if (bytes > limits::node_name_bytes_max)
        return bad(begin, fmt::format("a node's name has at most {} bytes", limits::node_name_bytes_max));
      if (count > limits::launch_nodes_max - names_.size())
        return bad(begin, fmt::format("more than {} nodes", limits::launch_nodes_max));
    }
    if (parts.empty()) return bad(begin, "a node's name is missing");
    return add_names(parts, begin);
  }

  expected<name_part> read_bytes(std::size_t& bytes) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
    if (at_ == begin) return bad(at_, quote_text(text_.substr(at_, 1)) + " stands in a list of nodes");
    bytes += at_ - begin;
    return name_part{std::string(text_.substr(begin, at_ - begin)), {}};
  }

  /// Multiplies `count` by how many numbers the bracket has, at most up to one more than the limit.
  expected<name_part> read_bracket(std::uint64_t& count, std::size_t& bytes) {
    const std::size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return bad(at_, "'[' has no ']'");
    name_part part;
    std::uint64_t numbers = 0;
    std::size_t digits = 0;
    for (std::size_t at = at_ + 1; at <= end;) {
      const std::size_t item_end = find_before(text_, ',', at, end);
      const auto range = TROUPE_TRY(read_range(at, item_end));
      numbers += range.last - range.first + 1;
      if (numbers > limits::launch_nodes_max)
        return bad(at, fmt::format("more than {} nodes", limits::launch_nodes_max));
      digits = std::max({digits, range.digits, fmt::formatted_size("{}", range.last)});
      part.ranges.push_back(range);
      at = item_end + 1;
    }
    at_ = end + 1;
    count *= numbers;
    bytes += digits;
    return part;
  }

  [[nodiscard]] expected<number_range> read_range(std::size_t at, std::size_t end) const {
    const std::size_t hyphen = find_before(text_, '-', at, end);
    const auto first = read_number(at, hyphen);
    if (!first) return tl::make_unexpected(first.error());
    const auto last = TROUPE_TRY(hyphen == end ? first : read_number(hyphen + 1, end));
    if (last < *first) return bad(at, quote_text(text_.substr(at, end - at)) + " runs backwards");
    return number_range{*first, last, hyphen - at};
  }

  [[nodiscard]] expected<std::uint64_t> read_number(std::size_t at, std::size_t end) const {
    constexpr std::size_t digits_max = 18;
    const std::string_view digits = text_.substr(at, end - at);
    const auto number = read_digits(digits);
    if (digits.empty()) return bad(at, "a number is missing");
    if (!number) return bad(at, quote_text(digits) + " is no number");
    if (digits.size() > digits_max) return bad(at, fmt::format("a number has at most {} digits", digits_max));
    return *number;
  }

  expected<void> add_names(const std::vector<name_part>& parts, std::size_t begin) {
    std::vector<std::string> names{""};
    for (const name_part& part : parts) names = append(std::move(names), part);
    for (const std::string& name : names) {
      const auto read = read_node_name(name);
      if (!read) return bad(begin, fmt::format("{}: {}", quote_text(name), read.error().cause));
      if (!known_.insert(name).second) return bad(begin, fmt::format("node {} comes twice", quote_text(name)));
      names_.push_back(name);
    }
    return {};
  }

  static std::vector<std::string> append(std::vector<std::string> names, const name_part& part) {
    if (part.ranges.empty()) {
      for (std::string& name : names) name += part.bytes;
      return names;
    }
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const number_range& range : part.ranges) {
        for (std::uint64_t number = range.first; number <= range.last; ++number)
          longer.push_back(fmt::format("{}{:0{}}", name, number, range.digits));
      }
    }
    return longer;
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::vector<std::string> names_;
  std::set<std::string> known_;
};

}  // namespace

expected<std::vector<std::string>> expand_node_list(std::string_view text, std::string_view source) {
  return node_list_reader(text, source).read();
}

}  // namespace troupe
