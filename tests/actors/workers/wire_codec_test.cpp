// Goal: a receiver of several kinds of messages gets each as what it is, and errors for all else.
#include "actors/workers/wire_codec.hpp"

#include <gmock/gmock.h>

namespace troupe {
namespace {

struct taken {
  std::vector<call_number> opened;
  std::vector<call_number> ended;

  expected<void> take(const wire_message& message) {
    return dispatch<call_opened, release_call>(message, [this](const auto& what) {
      if constexpr (std::is_same_v<std::decay_t<decltype(what)>, call_opened>) {
        opened.push_back(what.call);
      } else {
        ended.push_back(what.call);
      }
    });
  }
};

TEST(wire_codec, gives_each_message_to_its_handler) {
  taken got;
  EXPECT_TRUE(got.take(*to_wire(call_opened{3})));
  EXPECT_TRUE(got.take(*to_wire(release_call{4})));
  EXPECT_THAT(got.opened, ::testing::ElementsAre(3));
  EXPECT_THAT(got.ended, ::testing::ElementsAre(4));
}

TEST(wire_codec, refuses_what_nobody_expects_and_what_is_damaged) {
  taken got;
  EXPECT_EQ(got.take(*to_wire(open_call{3})).error().code, error_code::wire_unknown_kind);
  EXPECT_FALSE(got.take({}));
  wire_message cut = *to_wire(call_opened{300});
  cut.bytes.pop_back();
  EXPECT_EQ(got.take(cut).error().code, error_code::wire_malformed);
  EXPECT_TRUE(got.opened.empty());
}

}  // namespace
}  // namespace troupe
