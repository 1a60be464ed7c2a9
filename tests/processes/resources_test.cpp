// Goal: a run that has little room, of threads, open files or memory, gives the right answer or names need and supply
// (E0614); it never hangs and is never ended by a signal or by a library's words alone. Method: the
// built program under a table of limits, in one process and with workers, each compared with an unlimited run to the
// last bit. Limits of threads do not hold for the super-user and count all of a user's threads: those runs have a user
// of their own, or a user namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <sched.h>
#include <unistd.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using words = std::vector<std::string>;

enum class must { either, refuse, answer };

struct row {
  const char* limit;  ///< its name for prlimit
  std::uint64_t value;
  must in_process;
  must with_workers;
};

constexpr std::uint64_t megabyte = 1'000'000;

// A run in one process takes 9 threads at least, and one with two stages in workers some 30.
constexpr row thread_rows[] = {
    {"nproc", 4, must::refuse, must::refuse},   {"nproc", 5, must::refuse, must::refuse},
    {"nproc", 6, must::refuse, must::refuse},   {"nproc", 8, must::either, must::refuse},
    {"nproc", 10, must::either, must::refuse},  {"nproc", 14, must::answer, must::refuse},
    {"nproc", 20, must::answer, must::refuse},  {"nproc", 28, must::answer, must::either},
    {"nproc", 100, must::answer, must::answer},
};
constexpr row file_rows[] = {
    {"nofile", 4, must::refuse, must::refuse},  {"nofile", 8, must::either, must::refuse},
    {"nofile", 12, must::answer, must::refuse}, {"nofile", 16, must::answer, must::refuse},
    {"nofile", 24, must::answer, must::refuse}, {"nofile", 32, must::answer, must::refuse},
    {"nofile", 48, must::answer, must::either}, {"nofile", 100, must::answer, must::answer},
};
constexpr row memory_rows[] = {
    {"as", 500 * megabyte, must::refuse, must::refuse},
    {"as", 800 * megabyte, must::refuse, must::refuse},
    {"as", 1200 * megabyte, must::either, must::either},
    {"as", 4000 * megabyte, must::answer, must::answer},
};

/// How many threads OpenMP wants depends on the cores.
void use_two_cores() {
  cpu_set_t mine;
  cpu_set_t two;
  CPU_ZERO(&two);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return;
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++core) {
    if (CPU_ISSET(core, &mine)) CPU_SET(core, &two);
  }
  ::sched_setaffinity(0, sizeof two, &two);
}

/// What started this test may have left some open, and each of them counts against a limit.
void inherit_no_descriptors() {
  ASSERT_EQ(::close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC), 0);
}

/// Files stay readable: the tree may lie in a directory that is closed to others.
words as_a_user_of_its_own() {
  static int next = 50'000 + ::getpid() % 9'000;
  if (::getuid() != 0) return {"unshare", "--user"};
  return {"setpriv", "--reuid=" + std::to_string(++next), "--clear-groups", "--inh-caps=+dac_read_search",
          "--ambient-caps=+dac_read_search"};
}

words joined(words first, const words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void expect_resources_or_reason(const row& one, bool with_workers) {
  SCOPED_TRACE(std::string(one.limit) + " " + std::to_string(one.value) + (with_workers ? ", with workers" : ""));
  words run = joined(lenet(64, 500), {"--stages", "2"});
  if (with_workers) run.emplace_back("--processes");
  words command = std::string(one.limit) == "nproc" ? as_a_user_of_its_own() : words{};
  command = joined(command,
                   {"prlimit", "--" + std::string(one.limit) + "=" + std::to_string(one.value), "--", TROUPE_PROGRAM});
  marked_run limited(joined(command, run), "/usr/bin/env");
  limited.deadline = std::chrono::seconds{30};
  const auto outcome = limited.run();
  const must wanted = with_workers ? one.with_workers : one.in_process;
  EXPECT_THAT(outcome.status, AnyOf(0, 1)) << outcome.err;
  if (outcome.status == 0) {
    EXPECT_NE(wanted, must::refuse);
    const auto result = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(words_of(result["metrics"]), undisturbed::of(lenet(64, 500)).metrics) << outcome.err;
  } else {
    EXPECT_NE(wanted, must::answer) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0614: "));
    EXPECT_THAT(outcome.err, HasSubstr("(ulimit -"));
    EXPECT_EQ(outcome.out, "");
  }
  limited.expect_nothing_left();
}

class room : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer has threads, files and memory of its own";
    use_two_cores();
    inherit_no_descriptors();
  }
  static bool with_workers() { return GetParam(); }
};

TEST_P(room, for_threads_is_there_or_told) {
  marked_run trial(joined(as_a_user_of_its_own(), {"true"}), "/usr/bin/env");
  if (trial.run().status != 0) GTEST_SKIP() << "this machine gives no user and no user namespace of its own";
  for (const row& one : thread_rows) expect_resources_or_reason(one, with_workers());
}

TEST_P(room, for_open_files_is_there_or_told) {
  for (const row& one : file_rows) expect_resources_or_reason(one, with_workers());
}

TEST_P(room, for_memory_is_there_or_told) {
  for (const row& one : memory_rows) expect_resources_or_reason(one, with_workers());
}

INSTANTIATE_TEST_SUITE_P(runs, room, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "with_workers" : "in_one_process"; });

}  // namespace
}  // namespace troupe::testing
