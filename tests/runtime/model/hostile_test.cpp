// Goal: no TorchScript file crashes the program, makes it run anything before it is evaluated, or costs it more memory
// than twice the file and 64 MiB, or more than ten seconds. Method: a good archive with one thing that is a lie, each
// read in a process of its own, with the error that it must give.
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/measured_child.hpp"
#include "hostile_files.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr unsigned seconds_max = sanitized ? 100 : 10;

/// All that is done with a model before it gets data.
std::string outcome_at(const std::filesystem::path& file) {
  const auto loaded = load_model(file);
  if (!loaded) return to_string(loaded.error());
  try {
    for (const auto mode : {optimize_mode::none, optimize_mode::layer}) layers_of(*loaded, mode);
  } catch (const std::exception& caught) {
    return std::string("an exception: ") + caught.what();
  }
  return "good";
}

child_outcome outcome_of_hostile(const std::string& bytes) {
  const scratch_dir dir;
  static_cast<void>(dir.write("good.pt", model_archive(net_code(net_forward("")))));
  static_cast<void>(dir.write("hostile.pt", bytes));
  return outcome_in_child({.memory_max = std::uint64_t{6} << 30,
                           .seconds_max = seconds_max,
                           .warm_up = [&] { outcome_at(dir.path() / "good.pt"); },
                           .run = [&] { return outcome_at(dir.path() / "hostile.pt"); }});
}

class hostile_torchscript : public ::testing::TestWithParam<hostile_case> {};

TEST_P(hostile_torchscript, is_refused_or_read) {
  const std::string bytes = zip_file(GetParam().items());
  const child_outcome outcome = outcome_of_hostile(bytes);
  EXPECT_THAT(outcome.text, HasSubstr(GetParam().outcome));
  // AddressSanitizer keeps what was freed.
  if (!sanitized) {
    EXPECT_LE(outcome.more_bytes, 2 * bytes.size() + (64u << 20)) << outcome.text;
  }
}

const auto name_of = [](const ::testing::TestParamInfo<hostile_case>& each) { return each.param.name; };
INSTANTIATE_TEST_SUITE_P(code, hostile_torchscript, ::testing::ValuesIn(hostile_code()), name_of);
INSTANTIATE_TEST_SUITE_P(objects, hostile_torchscript, ::testing::ValuesIn(hostile_objects()), name_of);

}  // namespace
}  // namespace troupe::testing
