// Goal: the text of a protection is read as it is written, and a wrong one is refused with a fix that is right.
#include <gmock/gmock.h>

#include <troupe/training.hpp>

namespace troupe::testing {
namespace {

TEST(protection_text, is_read_as_it_is_written) {
  const training_protection given[] = {{},
                                       {.kind = protection_kind::shadow},
                                       {.kind = protection_kind::checkpoint, .every = 1},
                                       {.kind = protection_kind::checkpoint, .every = 1'000'000}};
  for (const training_protection& each : given) {
    const auto read = protection_of(to_string(each));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, each);
  }
  EXPECT_EQ(to_string(given[2]), "checkpoint:1");
}

TEST(protection_text, names_what_is_wrong_with_it) {
  const struct {
    const char* text;
    error_code code;
    const char* fix;
  } table[] = {
      {"", error_code::unknown_name, "use one of: memory, shadow, checkpoint"},
      {"shadwo", error_code::unknown_name, "write \"shadow\""},
      {"memory:2", error_code::value_out_of_range, "write memory"},
      {"shadow:", error_code::value_out_of_range, "write shadow"},
      {"checkpoint", error_code::value_out_of_range, "write checkpoint:100"},
      {"checkpoint:0", error_code::value_out_of_range, "write checkpoint:100"},
      {"checkpoint:-1", error_code::value_out_of_range, "write checkpoint:100"},
      {"checkpoint:1000001", error_code::value_out_of_range, "write checkpoint:100"},
      {"checkpoint:18446744073709551617", error_code::value_out_of_range, "write checkpoint:100"},
      {"checkpoint:2:3", error_code::value_out_of_range, "write checkpoint:100"},
  };
  for (const auto& each : table) {
    const auto read = protection_of(each.text);
    ASSERT_FALSE(read) << each.text;
    EXPECT_EQ(read.error().code, each.code) << each.text;
    EXPECT_EQ(read.error().fix, each.fix) << each.text;
  }
}

}  // namespace
}  // namespace troupe::testing
