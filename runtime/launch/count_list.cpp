#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/launch/node_list.hpp"

namespace troupe {
namespace {

class count_list_reader {
 public:
  count_list_reader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  expected<std::vector<std::uint32_t>> read() && {
    for (std::size_t at = 0; at <= text_.size();) {
      const std::size_t end = find_before(text_, ',', at, text_.size());
      if (auto done = read_item(at, end); !done) return tl::make_unexpected(std::move(done.error()));
      at = end + 1;
    }
    return std::move(counts_);
  }

 private:
  [[nodiscard]] tl::unexpected<error> bad(std::size_t at, std::string cause) const {
    return fail(error_code::value_out_of_range, character_place(source_, at), std::move(cause),
                "write a list of counts as Slurm does, for example 2(x3),1");
  }

  /// "2" or "2(x3)".
  expected<void> read_item(std::size_t at, std::size_t end) {
    constexpr std::string_view open = "(x";
    const std::size_t times_at = find_before(text_, open.front(), at, end);
    const auto count = TROUPE_TRY(read_number(at, times_at, limits::node_slots_max));
    std::uint32_t times = 1;
    if (times_at < end) {
      if (text_.substr(times_at, open.size()) != open) return bad(times_at, "'(xN)' is expected");
      if (text_[end - 1] != ')') return bad(end, "')' is missing");
      times = TROUPE_TRY(read_number(times_at + open.size(), end - 1, limits::launch_nodes_max));
    }
    if (times > limits::launch_nodes_max - counts_.size())
      return bad(at, fmt::format("more than {} nodes", limits::launch_nodes_max));
    counts_.insert(counts_.end(), times, count);
    return {};
  }

  [[nodiscard]] expected<std::uint32_t> read_number(std::size_t at, std::size_t end, std::uint32_t most) const {
    const std::string_view digits = text_.substr(at, end - at);
    const auto number = read_digits(digits);
    if (digits.empty()) return bad(at, "a number is missing");
    if (!number) return bad(at, quote_text(digits) + " is no number");
    if (*number == 0 || *number > most)
      return bad(at, fmt::format("{} is found, 1 to {} is expected", digits.substr(0, 20), most));
    return static_cast<std::uint32_t>(*number);
  }

  std::string_view text_;
  std::string_view source_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace

expected<std::vector<std::uint32_t>> expand_counts(std::string_view text, std::string_view source) {
  return count_list_reader(text, source).read();
}

}  // namespace troupe
