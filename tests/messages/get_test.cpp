// Goal: get() gives the value, or throws the error with our text. Method: every kind of expected, with and without one.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/error.hpp>

namespace troupe {
namespace {

const error example{error_code::data_missing, "data/mnist", "holds no images", "name the directory"};

TEST(get, moves_out_of_a_temporary_and_refers_into_a_variable) {
  const auto made = get(expected<std::unique_ptr<int>>(std::make_unique<int>(5)));
  EXPECT_EQ(*made, 5);
  expected<int> number = 7;
  get(number) = 8;
  EXPECT_EQ(*number, 8);
  const expected<int>& fixed = number;
  EXPECT_EQ(&get(fixed), &*number);
  EXPECT_NO_THROW(get(expected<void>()));
}

template <class Call>
void expect_example_thrown(Call call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error_exception& e) {
    EXPECT_EQ(std::string(e.what()), to_string(example));
    EXPECT_EQ(e.details().code, example.code);
    EXPECT_EQ(e.details().fix, example.fix);
  }
}

TEST(get, throws_the_error_with_its_text) {
  expected<int> failed = tl::make_unexpected(example);
  const expected<int>& fixed = failed;
  const expected<void> done = tl::make_unexpected(example);
  expect_example_thrown([&] { static_cast<void>(get(failed)); });
  expect_example_thrown([&] { static_cast<void>(get(fixed)); });
  expect_example_thrown([&] { get(done); });
  expect_example_thrown([&] { static_cast<void>(get(std::move(failed))); });
  EXPECT_THROW(get(done), std::runtime_error);
}

}  // namespace
}  // namespace troupe
