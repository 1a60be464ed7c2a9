// Goal: a receiver of several kinds of messages gets each as what it is, and errors for all else.
#include "messages/codec/dispatch.hpp"

#include <gmock/gmock.h>

namespace troupe {
namespace {

struct taken {
  std::vector<call_number> opened;
  std::vector<call_number> ended;

  expected<void> take(const codec::bytes& message) {
    return dispatch<call_opened, release_call>(message, [this](const auto& what) {
      if constexpr (std::is_same_v<std::decay_t<decltype(what)>, call_opened>) {
        opened.push_back(what.call);
      } else {
        ended.push_back(what.call);
      }
    });
  }
};

TEST(dispatch, gives_each_message_to_its_handler) {
  taken got;
  EXPECT_TRUE(got.take(*codec::encode(call_opened{3})));
  EXPECT_TRUE(got.take(*codec::encode(release_call{4})));
  EXPECT_THAT(got.opened, ::testing::ElementsAre(3));
  EXPECT_THAT(got.ended, ::testing::ElementsAre(4));
}

TEST(dispatch, refuses_what_nobody_expects_and_what_is_damaged) {
  taken got;
  EXPECT_EQ(got.take(*codec::encode(open_call{3})).error().code, error_code::wire_unknown_kind);
  EXPECT_FALSE(got.take({}));
  codec::bytes cut = *codec::encode(call_opened{300});
  cut.pop_back();
  EXPECT_EQ(got.take(cut).error().code, error_code::wire_malformed);
  EXPECT_TRUE(got.opened.empty());
}

}  // namespace
}  // namespace troupe
