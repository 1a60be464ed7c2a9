#include "runtime/launch/filter_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_name.hpp"

namespace troupe {
namespace {

constexpr std::string_view filter_fix = "write for example worker-0@worker-1:0,2-3";

class filter_reader {
 public:
  filter_reader(std::span<const launch_node> nodes, std::string_view flag, std::string_view text)
      : nodes_(nodes), flag_(flag), text_(text), named_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) indices_.emplace(nodes[i].name, i);
  }

  expected<std::vector<named_slots>> read() && {
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = find_before(text_, '@', at, text_.size());
      if (auto done = read_node(at, end); !done) return tl::make_unexpected(std::move(done.error()));
      at = end + 1;
    }
    return std::move(named_);
  }

 private:
  [[nodiscard]] tl::unexpected<error> bad(std::size_t at, std::string cause, std::string_view fix = filter_fix) const {
    return fail(error_code::value_out_of_range, character_place(flag_, at), std::move(cause), std::string(fix));
  }

  /// One node with or without slots: the bytes [at, end).
  expected<void> read_node(std::size_t at, std::size_t end) {
    const std::string_view part = text_.substr(at, end - at);
    const std::size_t bracket = part.starts_with('[') ? std::min(part.find(']'), part.size()) : 0;
    const std::size_t colon = std::min(part.find(':', bracket), part.size());
    if (const std::size_t second = part.find(':', colon + 1); colon < part.size() && second != std::string_view::npos)
      return bad(at + second, "a second ':'", "write an IPv6 address in brackets, for example [fe80::1]:0,1");
    const auto name = read_node_name(part.substr(0, colon));
    if (!name) return bad(at + name.error().at, name.error().cause);
    const auto found = indices_.find(*name);
    if (found == indices_.end()) return unknown_node(at, *name);
    named_slots& named = named_[found->second];
    if (!named.empty()) return bad(at, fmt::format("node {} is named twice", quote_text(*name)));
    named.assign(nodes_[found->second].slots, colon == part.size());
    if (colon == part.size()) return {};
    return read_slots(at + colon + 1, end, nodes_[found->second], named);
  }

  expected<void> read_slots(std::size_t at, std::size_t end, const launch_node& node, named_slots& named) const {
    while (at <= end) {
      const std::size_t comma = find_before(text_, ',', at, end);
      TROUPE_TRY(read_range(at, comma, node, named));
      at = comma + 1;
    }
    return {};
  }

  /// "2" or "2-5".
  expected<void> read_range(std::size_t at, std::size_t end, const launch_node& node, named_slots& named) const {
    const std::size_t hyphen = find_before(text_, '-', at, end);
    const auto first = read_slot(at, hyphen, node);
    if (!first) return tl::make_unexpected(first.error());
    const auto last = TROUPE_TRY(hyphen == end ? first : read_slot(hyphen + 1, end, node));
    if (last < *first) return bad(at, fmt::format("the range {}-{} runs backwards", *first, last));
    for (std::uint32_t slot = *first; slot <= last; ++slot) {
      if (named[slot]) return bad(at, fmt::format("slot {} is named twice", slot));
      named[slot] = true;
    }
    return {};
  }

  [[nodiscard]] expected<std::uint32_t> read_slot(std::size_t at, std::size_t end, const launch_node& node) const {
    const std::string_view digits = text_.substr(at, end - at);
    const auto slot = read_digits(digits);
    if (!slot && digits.empty()) return bad(at, "a slot is missing");
    if (!slot) return bad(at, quote_text(digits) + " is no slot");
    if (*slot >= node.slots) {
      return bad(at, fmt::format("node {} has {} slots, and no slot {}", node.name, node.slots, digits.substr(0, 20)),
                 fmt::format("use 0 to {}", node.slots - 1));
    }
    return static_cast<std::uint32_t>(*slot);
  }

  [[nodiscard]] tl::unexpected<error> unknown_node(std::size_t at, std::string_view name) const {
    constexpr std::size_t names_shown = 8;
    std::string known;
    for (const launch_node& node : nodes_.first(std::min(nodes_.size(), names_shown)))
      known += (known.empty() ? "" : ", ") + node.name;
    return fail(error_code::unknown_name, character_place(flag_, at),
                fmt::format("the launch has no node {}", quote_text(name)),
                "use one of: " + known + (nodes_.size() > names_shown ? ", ..." : ""));
  }

  std::span<const launch_node> nodes_;
  std::string_view flag_;
  std::string_view text_;
  std::map<std::string, std::size_t, std::less<>> indices_;
  std::vector<named_slots> named_;
};

}  // namespace

expected<std::vector<named_slots>> read_filter(std::span<const launch_node> nodes, std::string_view flag,
                                               std::string_view text) {
  return filter_reader(nodes, flag, text).read();
}

}  // namespace troupe
