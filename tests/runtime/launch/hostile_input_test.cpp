// Goal: no text breaks a reader of a launch: it gives a value within the limits or an error that names a place and a
// cause. Method: random bytes of the readers' own alphabets, and good texts with random edits.
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "runtime/launch/node_filter.hpp"
#include "runtime/launch/node_list.hpp"
#include "runtime/launch/scheduler.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe {
namespace {

constexpr int rounds = testing::sanitized ? 2'000 : 10'000;

/// Texts that differ with the seed alone.
class text_maker {
 public:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  std::string random_text() {
    constexpr std::string_view alphabet = "w0129:,-@[]().x#=% \n\t\0\xff";
    std::string text;
    for (std::size_t size = below(30); size > 0; --size)
      text += below(20) == 0 ? static_cast<char>(below(256)) : alphabet[below(alphabet.size())];
    return text;
  }

  std::string mutated(std::string text) {
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.insert(at, random_text().substr(0, 2));
          break;
        case 1:
          text.erase(at, below(3));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size() + 1), below(8)));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
      }
    }
    return text;
  }

  std::string hostile(const std::string& good) { return below(3) == 0 ? random_text() : mutated(good); }

 private:
  std::mt19937 random_{7};
};

/// Counts what came out, so that a loop of errors alone is noticed.
struct outcomes {
  int values = 0;
  int errors = 0;

  template <class T>
  void add(const expected<T>& made) {
    ++(made ? values : errors);
    if (made) return;
    EXPECT_FALSE(made.error().where.empty());
    EXPECT_FALSE(made.error().cause.empty());
    EXPECT_FALSE(made.error().fix.empty());
    for (const char c : to_string(made.error())) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n');
  }
  void expect_both() const {
    EXPECT_GT(values, rounds / 100);
    EXPECT_GT(errors, rounds / 100);
  }
};

TEST(hostile_input, hostfiles) {
  text_maker make;
  outcomes seen;
  for (int round = 0; round < rounds; ++round) {
    const auto nodes = parse_hostfile(make.hostile("w0 slots=4 # a\nw1.x slots=12\n\n[::1] slots=1\n"), "hosts");
    seen.add(nodes);
    for (std::size_t i = 0; nodes && i < nodes->size(); ++i) {
      EXPECT_NE((*nodes)[i].name, "");
      EXPECT_TRUE((*nodes)[i].slots >= 1 && (*nodes)[i].slots <= limits::node_slots_max);
    }
  }
  seen.expect_both();
}

TEST(hostile_input, filters) {
  const std::vector<launch_node> nodes{{"w0", 4}, {"w1", 12}, {"::1", 1}};
  text_maker make;
  outcomes seen;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = make.hostile("w0@w1:0,2-10@[::1]:0");
    const auto included = select_nodes(nodes, {text, std::nullopt, std::nullopt, std::nullopt});
    const auto excluded = select_nodes(nodes, {std::nullopt, text, std::nullopt, std::nullopt});
    seen.add(included);
    seen.add(excluded);
    if (!included || !excluded) continue;
    std::size_t slots = 0;
    for (const auto* part : {&*included, &*excluded})
      for (const node_slots& node : *part) slots += node.slots.size();
    EXPECT_EQ(slots, 17U) << text;
  }
  seen.expect_both();
}

TEST(hostile_input, lists) {
  text_maker make;
  outcomes names_seen;
  outcomes counts_seen;
  for (int round = 0; round < rounds; ++round) {
    const auto names = expand_node_list(make.hostile("rack[1-2]n[01-03],login1,g[10,20-22]"), "L");
    names_seen.add(names);
    if (names) {
      EXPECT_TRUE(!names->empty() && names->size() <= limits::launch_nodes_max);
    }
    const auto counts = expand_counts(make.hostile("2(x3),1,72(x12)"), "L");
    counts_seen.add(counts);
    if (counts) {
      EXPECT_TRUE(!counts->empty() && counts->size() <= limits::launch_nodes_max);
    }
  }
  names_seen.expect_both();
  counts_seen.expect_both();
}

TEST(hostile_input, environments) {
  const std::array<std::map<std::string, std::string, std::less<>>, 4> good{{
      {{"SLURM_JOB_ID", "1"},
       {"SLURM_JOB_NODELIST", "n[1-3]"},
       {"SLURM_NODEID", "1"},
       {"SLURM_TASKS_PER_NODE", "2(x3)"}},
      {{"OMPI_COMM_WORLD_RANK", "3"},
       {"OMPI_COMM_WORLD_SIZE", "4"},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
      {{"GROUP_RANK", "1"},
       {"RANK", "3"},
       {"WORLD_SIZE", "4"},
       {"LOCAL_RANK", "1"},
       {"LOCAL_WORLD_SIZE", "2"},
       {"MASTER_ADDR", "w0"}},
      {{"JOB_COMPLETION_INDEX", "1"}},
  }};
  text_maker make;
  outcomes seen;
  for (int round = 0; round < rounds; ++round) {
    auto environment = good[make.below(good.size())];
    auto& [name, value] = *std::next(environment.begin(), static_cast<std::ptrdiff_t>(make.below(environment.size())));
    value = make.hostile(value);
    const auto place = find_scheduler([&](std::string_view wanted) -> std::optional<std::string> {
      const auto found = environment.find(wanted);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
    seen.add(place);
    if (place && place->node_rank && place->node_count) {
      EXPECT_LT(*place->node_rank, *place->node_count) << name << '=' << value;
    }
  }
  seen.expect_both();
}

}  // namespace
}  // namespace troupe
