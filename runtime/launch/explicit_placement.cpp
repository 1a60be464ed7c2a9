#include "runtime/launch/explicit_placement.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/suggest/dotted_name.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

constexpr std::string_view placement_flag = "--placement";
constexpr const char* placement_fix = "write for example 0-1=w0,stage.2=w1";

bool is_called(const ranked_stage& stage, std::string_view which) {
  return stage.name == which || dotted_name(stage.name) == which;
}

class placement_reader {
 public:
  placement_reader(std::string_view text, std::span<const ranked_stage> ranks, std::span<const node_slots> nodes)
      : text_(text), ranks_(ranks), nodes_(nodes), placed_(ranks.size()), left_(nodes.size()) {
    for (std::size_t node = 0; node < nodes.size(); ++node) left_[node] = nodes[node].slots.size();
  }

  expected<std::vector<std::size_t>> read() && {
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = find_before(text_, ',', at, text_.size());
      TROUPE_TRY(read_entry(at, end));
      at = end + 1;
    }
    return place_the_others();
  }

  expected<std::vector<std::size_t>> place_the_others() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (placed_[rank] || ranks_[rank].wanted.empty()) continue;
      TROUPE_TRY(put_as_wanted(rank));
    }
    return fill();
  }

 private:
  [[nodiscard]] tl::unexpected<error> bad(std::size_t at, std::string cause,
                                          error_code code = error_code::value_out_of_range) const {
    return fail(code, character_place(placement_flag, at), std::move(cause), placement_fix);
  }

  expected<void> read_entry(std::size_t at, std::size_t end) {
    const std::size_t equal = find_before(text_, '=', at, end);
    if (equal == end) return bad(at, "an entry without '='");
    const std::string_view name = text_.substr(equal + 1, end - equal - 1);
    const auto node = std::ranges::find(nodes_, name, &node_slots::name);
    if (node == nodes_.end())
      return bad(equal + 1, fmt::format("there is no node {}", quote_text(name)), error_code::unknown_name);
    const auto wanted = TROUPE_TRY(ranks_of(at, text_.substr(at, equal - at)));
    for (const std::size_t rank : wanted) {
      TROUPE_TRY(put_on(rank, static_cast<std::size_t>(node - nodes_.begin()), at));
    }
    return {};
  }

  expected<std::vector<std::size_t>> ranks_of(std::size_t at, std::string_view which) const {
    const std::size_t dash = std::min(which.find('-'), which.size());
    const auto first = read_digits(which.substr(0, dash));
    const auto last = dash == which.size() ? first : read_digits(which.substr(dash + 1));
    if (first && last) return range(at, *first, *last);
    return named(at, which);
  }

  expected<std::vector<std::size_t>> range(std::size_t at, std::uint64_t first, std::uint64_t last) const {
    if (first > last) return bad(at, "a range that runs backwards");
    if (last >= ranks_.size()) return bad(at, fmt::format("there are only ranks 0 to {}", ranks_.size() - 1));
    std::vector<std::size_t> found;
    for (std::uint64_t rank = first; rank <= last; ++rank) found.push_back(rank);
    return found;
  }

  expected<std::vector<std::size_t>> named(std::size_t at, std::string_view which) const {
    const std::size_t slash = std::min(which.rfind('/'), which.size());
    const auto replica = slash == which.size() ? std::nullopt : read_digits(which.substr(slash + 1));
    std::vector<std::size_t> found;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const bool is_one =
          replica && is_called(ranks_[rank], which.substr(0, slash)) && ranks_[rank].replica == *replica;
      if (is_one || is_called(ranks_[rank], which)) found.push_back(rank);
    }
    if (!found.empty()) return found;
    return fail(error_code::unknown_name, character_place(placement_flag, at),
                fmt::format("there is no stage {}", quote_text(which)), suggest_fix(which, names()));
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const ranked_stage& each : ranks_) {
      if (each.replica == 0) all.push_back(dotted_name(each.name));
    }
    return all;
  }

  expected<void> put_on(std::size_t rank, std::size_t node, std::size_t at) {
    if (placed_[rank]) return bad(at, fmt::format("rank {} is placed twice", rank));
    if (left_[node] == 0)
      return bad(at, fmt::format("node {} has only {} slots", nodes_[node].name, nodes_[node].slots.size()));
    --left_[node];
    placed_[rank] = node;
    return {};
  }

  expected<void> put_as_wanted(std::size_t rank) {
    const ranked_stage& stage = ranks_[rank];
    const auto node = std::ranges::find(nodes_, stage.wanted, &node_slots::name);
    if (node == nodes_.end())
      return unwanted(rank, error_code::unknown_name, fmt::format("there is no node {}", quote_text(stage.wanted)));
    std::size_t& left = left_[static_cast<std::size_t>(node - nodes_.begin())];
    if (left == 0) {
      return unwanted(rank, error_code::value_out_of_range,
                      fmt::format("node {} has only {} slots", node->name, node->slots.size()));
    }
    --left;
    placed_[rank] = static_cast<std::size_t>(node - nodes_.begin());
    return {};
  }

  [[nodiscard]] tl::unexpected<error> unwanted(std::size_t rank, error_code code, std::string cause) const {
    return fail(code, fmt::format("placement of stage '{}', replica {}", ranks_[rank].name, ranks_[rank].replica),
                std::move(cause), "name a node of the launch with a free slot, or none");
  }

  /// All others, in order.
  expected<std::vector<std::size_t>> fill() {
    std::vector<std::size_t> made;
    std::size_t node = 0;
    for (const std::optional<std::size_t>& each : placed_) {
      while (!each && node < left_.size() && left_[node] == 0) ++node;
      if (!each && node == left_.size()) {
        return fail(error_code::value_out_of_range, "the nodes",
                    fmt::format("{} stage replicas, and {} slots for them", placed_.size(), made.size()),
                    "give more nodes or slots, or fewer stages or replicas");
      }
      if (!each) --left_[node];
      made.push_back(each.value_or(node));
    }
    return made;
  }

  const std::string_view text_;
  const std::span<const ranked_stage> ranks_;
  const std::span<const node_slots> nodes_;
  std::vector<std::optional<std::size_t>> placed_;
  std::vector<std::size_t> left_;
};

}  // namespace

expected<std::vector<std::size_t>> place_explicitly(std::optional<std::string_view> text,
                                                    std::span<const ranked_stage> ranks,
                                                    std::span<const node_slots> nodes) {
  placement_reader reader(text.value_or(std::string_view()), ranks, nodes);
  return text ? std::move(reader).read() : reader.place_the_others();
}

}  // namespace troupe
