// Goal: a training has the losses, weights and moments of an undisturbed one, by their SHA-256, whatever worker is
// killed or frozen in whatever phase of a step, also again during recovery, and whenever its driver is killed and
// resumed. At most the open step is done again. Method: plans drawn from seeds, and drivers in processes of their own.
// Workers and drivers are this program, started again. TROUPE_KILLS and TROUPE_DRIVER_KILLS ask for so many kills of a
// longer campaign, whose counts go to the file TROUPE_KILLS_REPORT.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/seeded_draw.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/program/support/killed_training.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// The setup of a training whose workers, or driver, this process is.
constexpr const char* setup_variable = "TROUPE_TEST_SETUP";
/// The folder of a training whose driver this process is, and the faults of the driver.
constexpr const char* driver_variable = "TROUPE_TEST_DRIVER";
constexpr const char* faults_variable = "TROUPE_TEST_DRIVER_FAULTS";

std::uint64_t asked_for(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

/// Counts of a campaign, by name.
std::map<std::string, std::uint64_t>& counts() {
  static std::map<std::string, std::uint64_t> made;
  return made;
}

fs::path scratch_folder() {
  const fs::path made = fs::temp_directory_path() / ("test-killed-trainings-" + std::to_string(::getpid()));
  fs::create_directories(made);
  return made;
}

/// In threads, and one stage.
const training_digests& undisturbed(optimizer_kind optimizer) {
  static std::map<optimizer_kind, training_digests> made;
  const auto found = made.find(optimizer);
  if (found != made.end()) return found->second;
  const auto engine = get(make_killed_engine({.stages = 1, .optimizer = optimizer, .in_workers = false}));
  return made[optimizer] = get(finish_training(*engine, scratch_folder()));
}

void expect_undisturbed(const training_digests& made, optimizer_kind optimizer) {
  EXPECT_EQ(made.losses, undisturbed(optimizer).losses);
  EXPECT_EQ(made.weights, undisturbed(optimizer).weights);
  EXPECT_EQ(made.moments, undisturbed(optimizer).moments);
}

/// "fault kill:stage=stage.1,at=vote,step=3 was injected after": counts it by kind and phase.
void count_fault(const std::string& line) {
  std::istringstream words(line.substr(line.find("fault ") + 6));
  std::string text;
  words >> text;
  const fault one = get(parse_fault(text));
  const auto at = text.find(",at=") + 4;
  const std::string phase = text.substr(at, text.find_first_of(",0123456789", at) - at);
  ++counts()[one.kind == fault_kind::stop ? (one.lasts ? "frozen and thawed" : "frozen") : "killed"];
  ++counts()["in phase " + (phase == "mb" ? "forward" : phase)];
}

/// The counts of one run, and the most micro-batches that a recovery has sent again.
std::uint64_t read_log(const fs::path& log) {
  std::ifstream in(log);
  std::uint64_t most = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find(" was injected ") != std::string::npos) count_fault(line);
    const auto at = line.find(" micro-batches sent again");
    if (at == std::string::npos) continue;
    const auto begin = line.find_last_not_of("0123456789", at - 1) + 1;
    most = std::max<std::uint64_t>(most, std::stoull(line.substr(begin, at - begin)));
    ++counts()["recoveries"];
    if (line.substr(begin, at - begin) != "0") ++counts()["steps done again"];
  }
  return most;
}

training_setup setup_of(std::uint64_t number) {
  return {.stages = 2 + static_cast<std::uint32_t>(number % 2),
          .replicas = 1 + static_cast<std::uint32_t>(number / 2 % 2),
          .optimizer = number / 4 % 2 == 0 ? optimizer_kind::sgd : optimizer_kind::adam};
}

void train_under_kills(std::uint64_t seed) {
  const training_setup how = setup_of(seed);
  ::setenv(setup_variable, how.text().c_str(), 1);
  const fs::path log = scratch_folder() / "log";
  fs::remove(log);
  const fault_plan plan = draw_kills(seed, how);
  std::string texts;
  for (const std::string& each : plan.texts()) texts += " --fault " + each;
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + how.text() + texts);
  {
    const auto engine = make_killed_engine(how, plan, log.string());
    ASSERT_TRUE(engine) << to_string(engine.error());
    const auto made = finish_training(**engine, scratch_folder());
    ASSERT_TRUE(made) << to_string(made.error());
    expect_undisturbed(*made, how.optimizer);
    ++counts()["trainings under kills of workers"];
  }
  EXPECT_LE(read_log(log), killed_micro_batches) << "more than the open step was done again";
}

TEST(killed_trainings, have_the_bits_of_an_undisturbed_one) {
  const std::uint64_t wanted = asked_for("TROUPE_KILLS", 24);
  const std::uint64_t first = asked_for("TROUPE_KILLS_SEED", 0);
  const auto hits = [] { return counts()["killed"] + counts()["frozen"] + counts()["frozen and thawed"]; };
  for (std::uint64_t seed = first; hits() < wanted && !::testing::Test::HasFailure(); ++seed) train_under_kills(seed);
}

// --- the driver ------------------------------------------------------------------------------------------------------

/// A driver in a process of its own, until it has ended. `delay`: it is killed then, if it has not ended before; 0: it
/// is not.
int drive(const training_setup& how, const fs::path& dir, const std::string& faults, std::chrono::milliseconds delay) {
  ::setenv(setup_variable, how.text().c_str(), 1);
  ::setenv(driver_variable, dir.c_str(), 1);
  ::setenv(faults_variable, faults.c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "killed_trainings_test", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::unsetenv(driver_variable);
  int status = 0;
  if (delay.count() > 0) {
    const unique_fd end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    pollfd awaited{.fd = end.get(), .events = POLLIN, .revents = 0};
    EXPECT_GE(::poll(&awaited, 1, static_cast<int>(delay.count())), 0);
    ::kill(child, SIGKILL);
  }
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

/// Begins or resumes the training in the folder, and leaves its digests there.
int be_driver(const fs::path& dir) {
  const training_setup how = training_setup::of(std::getenv(setup_variable));
  fault_plan faults;
  std::istringstream texts(std::getenv(faults_variable));
  for (std::string each; std::getline(texts, each, ';');) faults.add(each);
  const auto print = [](const error& found) {
    std::fprintf(stderr, "%s\n", to_string(found).c_str());
    return 1;
  };
  auto engine = make_killed_engine(how, std::move(faults), (dir / "log").string(),
                                   {.file = (dir / "journal").string(), .resume = fs::exists(dir / "journal")});
  if (!engine) return print(engine.error());
  if (fs::exists(dir / "latest")) {
    if (const auto loaded = (*engine)->load_checkpoint(dir); !loaded) return print(loaded.error());
  }
  const auto made = finish_training(**engine, dir / "scratch", {.save_every = 3, .dir = dir});
  if (!made) return print(made.error());
  std::ofstream(dir / "digests") << made->losses << ' ' << made->weights << ' ' << made->moments;
  return 0;
}

/// What kills the driver first: a fault, or a signal after so long.
struct death_of_driver {
  std::string faults = {};
  std::chrono::milliseconds delay{0};
};

death_of_driver draw_death(std::uint64_t seed) {
  seeded_draw draw(seed);
  const std::string step = std::to_string(draw.below(killed_steps));
  switch (seed % 4) {
    case 0:
      return {.faults = "kill:driver,at=decision,step=" + step};
    case 1:
      return {.faults = "kill:driver,at=vote,step=" + step};
    case 2:  // when some micro-batch is folded, while a worker is replaced
      return {.faults = "kill:stage=stage.0,at=backward1,step=" + step + ";kill:driver,at=mb" +
                        std::to_string(draw.below(killed_micro_batches))};
    default:
      return {.delay = std::chrono::milliseconds(200 + draw.below(1500))};
  }
}

void train_with_deaths_of_the_driver(std::uint64_t seed) {
  training_setup how = setup_of(seed);
  how.in_workers = true;
  const death_of_driver death = draw_death(seed);
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + how.text() + " " + death.faults + " " +
               std::to_string(death.delay.count()) + " ms");
  const fs::path dir = scratch_folder() / "driver";
  fs::remove_all(dir);
  fs::create_directories(dir / "scratch");
  const int first = drive(how, dir, death.faults, death.delay);
  if (WIFSIGNALED(first)) {
    EXPECT_EQ(WTERMSIG(first), SIGKILL);
    ++counts()["drivers killed"];
  }
  // A second one, which goes on with other stages and replicas, may be killed as well.
  how = setup_of(seed ^ 3U);
  if (seed % 3 == 0 && WIFSIGNALED(first) && WIFSIGNALED(drive(how, dir, "kill:driver,at=vote,step=6", {})))
    ++counts()["drivers killed"];
  how = setup_of(seed);
  ASSERT_EQ(drive(how, dir, "", {}), 0) << "it cannot be resumed";
  training_digests made;
  std::ifstream(dir / "digests") >> made.losses >> made.weights >> made.moments;
  expect_undisturbed(made, how.optimizer);
  ++counts()["trainings resumed"];
}

TEST(trainings_whose_driver_is_killed, go_on_with_the_bits_of_an_undisturbed_one) {
  const std::uint64_t wanted = asked_for("TROUPE_DRIVER_KILLS", 4);
  for (std::uint64_t seed = 0; counts()["drivers killed"] < wanted && !::testing::Test::HasFailure(); ++seed) {
    train_with_deaths_of_the_driver(seed);
  }
}

void write_report(bool passed) {
  const char* const file = std::getenv("TROUPE_KILLS_REPORT");
  if (file == nullptr) return;
  std::ofstream out(file);
  out << "{\n";
  for (const auto& [name, count] : counts()) out << "  \"" << name << "\": " << count << ",\n";
  out << "  \"all bits equal\": " << (passed ? "true" : "false") << "\n}\n";
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(make_killed_engine(training_setup::of(std::getenv(setup_variable))));
    return 1;
  }
  if (const char* const dir = std::getenv(driver_variable)) return be_driver(dir);
  ::testing::InitGoogleMock(&argc, argv);
  const int status = RUN_ALL_TESTS();
  write_report(status == 0);
  std::filesystem::remove_all(scratch_folder());
  return status;
}
