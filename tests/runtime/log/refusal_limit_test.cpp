// Goal: untrusted peers fill no log, and each of their connections is mentioned. Method: refusals at times of the test.
#include "runtime/log/refusal_limit.hpp"

#include <gmock/gmock.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class refusals : public ::testing::Test {
 protected:
  std::vector<std::string> at(std::chrono::milliseconds time) {
    return limit_.take({error_code::wire_handshake, "peer 192.0.2.1:5", "garbage", ""},
                       refusal_limit::time_point(1000h + time));
  }

 private:
  refusal_limit limit_;
};

TEST_F(refusals, the_first_of_an_interval_are_told) {
  for (std::size_t i = 0; i < limits::refusals_told_max; ++i) {
    EXPECT_THAT(at(0ms), ElementsAre(HasSubstr("peer 192.0.2.1:5: garbage")));
  }
  EXPECT_THAT(at(1ms), ElementsAre("refused more connections; they are counted for 10 s"));
  for (int i = 0; i < 9999; ++i) EXPECT_THAT(at(9999ms), IsEmpty());
  EXPECT_THAT(at(10'000ms), ElementsAre("refused 10000 more connections", HasSubstr("garbage")));
  EXPECT_THAT(at(10'001ms), ElementsAre(HasSubstr("garbage")));
}

TEST_F(refusals, few_are_all_told) {
  for (int i = 0; i < 100; ++i) EXPECT_THAT(at(i * 10'000ms / (limits::refusals_told_max - 1)).size(), 1u);
}

}  // namespace
}  // namespace troupe::testing
