// Goal: no TorchScript file crashes the program, makes it run anything before it is evaluated, or costs it more memory
// than twice the file and 64 MiB, or more than ten seconds. Method: a good archive with one thing that is a lie, each
// read in a process of its own, with the error that it must give.
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"
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

struct child_outcome {
  std::string text;
  std::uint64_t more_bytes = 0;
};

/// Ends the process.
[[noreturn]] void read_in_child(const scratch_dir& dir, int output) {
  alarm(seconds_max);
  const rlimit room{6ull << 30, 6ull << 30};
  if (!sanitized) setrlimit(RLIMIT_AS, &room);  // AddressSanitizer maps terabytes for itself
  outcome_at(dir.path() / "good.pt");
  malloc_trim(0);
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string text = outcome_at(dir.path() / "hostile.pt");
  text += "\n" + std::to_string(memory_now("VmHWM") - before);
  const bool is_written = write(output, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(is_written ? 0 : 1);
}

child_outcome outcome_in_child(const std::string& bytes) {
  const scratch_dir dir;
  static_cast<void>(dir.write("good.pt", model_archive(net_code(net_forward("")))));
  static_cast<void>(dir.write("hostile.pt", bytes));
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) read_in_child(dir, ends[1]);
  close(ends[1]);
  child_outcome outcome;
  char piece[4096];
  for (ssize_t got = 0; (got = read(ends[0], piece, sizeof piece)) > 0;) outcome.text.append(piece, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {.text = std::string("killed by ") + strsignal(WTERMSIG(status))};
  const std::size_t end = outcome.text.rfind('\n');
  if (end == std::string::npos) return outcome;
  outcome.more_bytes = std::stoull(outcome.text.substr(end + 1));
  outcome.text.resize(end);
  return outcome;
}

class hostile_torchscript : public ::testing::TestWithParam<hostile_case> {};

TEST_P(hostile_torchscript, is_refused_or_read) {
  const std::string bytes = zip_file(GetParam().items());
  const child_outcome outcome = outcome_in_child(bytes);
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
