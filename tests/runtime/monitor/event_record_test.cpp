// Goal: records have the bytes that the tensorboard package makes, and bytes that are no record are none, without harm.
// Method: recorded/scalars.events, which recorded/make_events.py wrote with that package; each of its bytes changed and
// left out; lengths that lie under right checksums.
#include "runtime/monitor/event_record.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "../../support/paths.hpp"
#include "monitor_folder.hpp"

namespace troupe::testing {
namespace {

class event_record : public monitor_folder {
 protected:
  static std::string recorded() { return content(source_dir() / "tests/runtime/monitor/recorded/scalars.events"); }
  static std::vector<std::string> records(const std::string& bytes) {
    std::istringstream file(bytes);
    std::vector<std::string> found;
    while (const auto data = next_record(file)) found.push_back(*data);
    return found;
  }
};

TEST_F(event_record, has_the_bytes_of_tensorboard) {
  constexpr double time = 1700000000.25;
  const std::vector<scalar> first{{"eval/accuracy", 0.9904}};
  const std::vector<scalar> second{{"eval/accuracy", 0.5}, {"eval/f1/micro", -1e-30}};
  const std::vector<scalar> third{{"eval/loss", INFINITY}, {"x", NAN}, {"eval/\u00e4", 0.0}};
  const std::string made = record_of(version_event(1234.5)) + record_of(scalars_event(time, 100, second));
  // protocol buffers leave out a step of 0, which means the same
  const auto wanted = records(recorded());
  ASSERT_EQ(wanted.size(), 4U);
  EXPECT_EQ(record_of(wanted[0]) + record_of(wanted[2]), made);
  EXPECT_EQ(wanted[3], scalars_event(time, std::numeric_limits<std::int64_t>::max(), third));
  std::string with_zero = scalars_event(time, 0, first);
  EXPECT_EQ(wanted[1], with_zero.erase(9, 2));
}

TEST_F(event_record, reads_what_tensorboard_wrote) {
  const auto found = records(recorded());
  ASSERT_EQ(found.size(), 4U);
  EXPECT_TRUE(names_in_event(found[0])->names.empty());
  EXPECT_EQ(names_in_event(found[1])->step, 0U);
  EXPECT_EQ(names_in_event(found[2])->names, (std::vector<std::string>{"eval/accuracy", "eval/f1/micro"}));
  EXPECT_EQ(names_in_event(found[3])->step, 9223372036854775807U);
}

TEST_F(event_record, cut_anywhere_gives_the_whole_records_before) {
  const std::string all = recorded();
  const auto wanted = records(all);
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; const std::string& each : wanted) ends.push_back(at += record_of(each).size());
  for (std::size_t size = 0; size < all.size(); ++size) {
    const auto whole = static_cast<std::size_t>(std::ranges::count_if(ends, [&](auto end) { return end <= size; }));
    EXPECT_EQ(records(all.substr(0, size)).size(), whole) << size;
  }
}

TEST_F(event_record, with_any_changed_byte_is_none) {
  const std::string all = recorded();
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::string changed = all;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_LT(records(changed).size(), 4U) << at;
  }
}

TEST_F(event_record, of_a_length_that_lies_takes_no_memory) {
  for (const std::uint64_t size : {std::uint64_t{1} << 62, std::uint64_t{17} << 20, ~std::uint64_t{0}}) {
    std::string head;
    for (int i = 0; i < 8; ++i) head += static_cast<char>(size >> (8 * i) & 0xff);
    const std::uint32_t sum = record_checksum(head);
    for (int i = 0; i < 4; ++i) head += static_cast<char>(sum >> (8 * i) & 0xff);
    EXPECT_TRUE(records(head + "data").empty());
  }
}

TEST_F(event_record, whose_data_are_no_event_has_no_names) {
  const std::string event = scalars_event(1, 100, std::vector<scalar>{{"eval/accuracy", 0.5}});
  for (std::size_t size = 0; size < event.size(); ++size) {
    const auto found = names_in_event(event.substr(0, size));
    EXPECT_TRUE(!found || found->names.empty()) << size;
  }
  EXPECT_FALSE(names_in_event(std::string(20, '\xff')));
  EXPECT_FALSE(names_in_event("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"));
  EXPECT_FALSE(names_in_event("\x03"));
}

}  // namespace
}  // namespace troupe::testing
