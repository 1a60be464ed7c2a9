// Goal: the names of devices are read exactly, and a stage whose device is not there is an error that says which and
// why.
#include "runtime/device/device_name.hpp"

#include <gmock/gmock.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;

const device_name any_gpu{device_kind::cuda};

TEST(device_name, has_three_forms) {
  for (const char* text : {"cpu", "cuda", "cuda:0", "cuda:15", "cuda:1023", "privateuseone", "privateuseone:1"}) {
    const auto read = parse_device(text, "--device");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(to_string(*read), text);
  }
  for (const char* text : {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:+1", "cuda:1024", "cuda:1x", "cudax",
                           "privateuse", "cuda: 1", "cpu:0", "cuda:99999999999999999999"}) {
    const auto read = parse_device(text, "--device");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, error_code::value_out_of_range);
    EXPECT_EQ(read.error().where, "--device");
  }
}

TEST(device_of_a_stage, that_cannot_be_had_is_an_error_but_for_the_cpu) {
  const expected<std::size_t> none = fail(error_code::library_unusable, "libcuda.so.1", "no driver", {});
  EXPECT_EQ(place_stage({}, "stage.0", 0, none), device_name{});
  const auto placed = place_stage({device_kind::cuda, 0}, "stage.0", 0, none);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, error_code::device_unavailable);
  EXPECT_EQ(placed.error().where, "stage stage.0, device cuda:0");
  EXPECT_EQ(placed.error().cause, "no driver");
  EXPECT_THAT(placed.error().fix, HasSubstr("troupe doctor"));
}

TEST(device_of_a_stage, is_one_that_there_is) {
  for (std::uint32_t stage = 0; stage < 7; ++stage) {
    EXPECT_EQ(place_stage(any_gpu, "stage", stage, 3), (device_name{device_kind::cuda, stage % 3}));
  }
  EXPECT_EQ(place_stage({device_kind::cuda, 2}, "stage", 0, 3), (device_name{device_kind::cuda, 2}));
  const auto beyond = place_stage({device_kind::cuda, 3}, "stage.1", 0, 3);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().cause, "the machine has 3, the last is cuda:2");
  const auto none = place_stage(any_gpu, "stage.1", 1, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().cause, "the machine has none");
}

}  // namespace
}  // namespace troupe
