// Goal: whatever a run can do, it can do at every door: an evaluation of a model file, a topology, an engine of a file
// and an engine of layers described in code. Method: a table of doors, and one test per feature that goes through it;
// a feature that must not change results is compared with the plain run of the same door to the last bit. Workers are
// this program, started again: the environment says at which door it is.
#include "tests/program/support/doors.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/process/worker_environment.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* door_variable = "TROUPE_TEST_DOOR";
constexpr const char* transport_variable = "TROUPE_TEST_TRANSPORT";

/// What a worker must build, too: it reads the environment.
request request_in_workers(transport_kind transport) {
  request asked;
  asked.run.workers = {.enabled = true, .transport = transport};
  return asked;
}

class each_door : public ::testing::TestWithParam<door> {
 protected:
  [[nodiscard]] static run_result good(const request& asked) {
    auto result = GetParam().enter(asked);
    EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
    return result ? std::move(*result) : run_result{};
  }

  /// Values of all metrics of all sinks, to the last bit.
  [[nodiscard]] static std::vector<std::uint64_t> bits_of(const run_result& result) {
    std::vector<std::uint64_t> bits;
    for (const auto& sink : result.sinks) {
      for (const metric_value& metric : sink.metrics) {
        for (const auto& field : metric.fields) {
          for (const double real : field.reals) bits.push_back(std::bit_cast<std::uint64_t>(real));
          bits.insert(bits.end(), field.counts.begin(), field.counts.end());
        }
      }
    }
    return bits;
  }
};

/// Under a sanitizer one that is given a file, or one that is given layers.
INSTANTIATE_TEST_SUITE_P(all, each_door, ::testing::ValuesIn(fewer_if_sanitized(doors(), {0, 3})),
                         [](const auto& each) { return std::string(each.param.name); });

/// What the system says of this process while it reads samples: the most at once.
class watched_data final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return real_->size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return real_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return real_->classes(); }
  [[nodiscard]] std::string name() const override { return "watched"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    processes_ = std::max(processes_.load(), count_children());
    has_shared_edges_ = has_shared_edges_ || maps_edges();
    return real_->read(range);
  }
  [[nodiscard]] std::size_t processes() const { return processes_; }
  [[nodiscard]] bool has_shared_edges() const { return has_shared_edges_; }

 private:
  static std::size_t count_children() {
    std::size_t count = 0;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream children(thread.path() / "children");
      for (std::string pid; children >> pid;) ++count;
    }
    return count;
  }
  static bool maps_edges() {
    std::ifstream maps("/proc/self/maps");
    std::ostringstream text;
    text << maps.rdbuf();
    return text.str().find("memfd:troupe-edge") != std::string::npos;
  }

  data_set_ptr real_ = *open_data(digits);
  mutable std::atomic<std::size_t> processes_{0};
  mutable std::atomic<bool> has_shared_edges_{false};
};

TEST_P(each_door, has_workers_and_transports) {
  const auto alone = bits_of(good({}));
  ASSERT_FALSE(alone.empty());
  ::setenv(door_variable, GetParam().name, 1);
  for (const auto& [name, kind] : {std::pair{"shm", transport_kind::shm}, {"tcp", transport_kind::tcp}}) {
    ::setenv(transport_variable, name, 1);
    const auto watched = std::make_shared<watched_data>();
    request asked = request_in_workers(kind);
    asked.data = data_set_ptr(watched);
    const run_result result = good(asked);
    EXPECT_EQ(bits_of(result), alone) << name;
    EXPECT_TRUE(result.config.run.workers.enabled);
    EXPECT_GE(watched->processes(), 2u) << "a worker for each stage";
    EXPECT_EQ(watched->has_shared_edges(), kind == transport_kind::shm) << name;
  }
}

TEST_P(each_door, keeps_a_journal_and_resumes) {
  std::string place = (std::filesystem::temp_directory_path() / "test-doors-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(place.data());
  request asked;
  asked.run.journal.file = directory / "journal";
  const run_result first = good(asked);
  EXPECT_EQ(first.delivery.resumed, 0u);
  asked.run.journal.resume = true;
  const run_result again = good(asked);
  EXPECT_EQ(again.delivery.resumed, 10u);
  EXPECT_EQ(bits_of(again), bits_of(first));
  asked.run.micro_batch = 25;
  const auto other = GetParam().enter(asked);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::journal_mismatch);
  std::filesystem::remove_all(directory);
}

TEST_P(each_door, keeps_a_log_in_a_file_and_gives_it_to_a_hook) {
  std::string place = (std::filesystem::temp_directory_path() / "test-doors-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(place.data());
  ::setenv(door_variable, GetParam().name, 1);
  ::setenv(transport_variable, "shm", 1);
  request asked = request_in_workers(transport_kind::shm);
  asked.run.log = {.file = directory / "log", .level = log_level::debug};
  std::vector<std::string> given;
  asked.hooks.on_log = [&](const log_record& record) { given.push_back(to_string(record)); };
  static_cast<void>(good(asked));
  std::ostringstream kept;
  kept << std::ifstream(directory / "log").rdbuf();
  EXPECT_THAT(kept.str(), ::testing::ContainsRegex("debug: \\[rank 0\\] worker 0 \\(process [0-9]+\\) was started\n"));
  EXPECT_THAT(given, ::testing::Contains(::testing::StartsWith("debug: [rank 0] worker 0 (process ")));
  asked.run.log = {.file = directory / "none" / "log"};
  const auto refused = GetParam().enter(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::output_unwritable);
  std::filesystem::remove_all(directory);
}

TEST_P(each_door, injects_faults_and_refuses_what_it_cannot_inject) {
  request asked;
  asked.run.faults.add("throw:stage=1,at=mb2").add("kill:loader,at=mb3");
  const run_result result = good(asked);
  EXPECT_EQ(bits_of(result), bits_of(good({})));
  ASSERT_EQ(result.faults.size(), 2u);
  for (const fault_report& each : result.faults) EXPECT_EQ(each.times, 1u) << each.fault;
  asked.run.faults.add("kill:stage=1,at=mb2");
  const auto refused = GetParam().enter(asked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::fault_invalid);
}

TEST_P(each_door, records_a_trace) {
  request asked;
  EXPECT_TRUE(good(asked).trace.empty());
  asked.run.trace = true;
  EXPECT_FALSE(good(asked).trace.empty());
}

TEST_P(each_door, heeds_a_limit) {
  request asked;
  asked.run.limit = 130;
  const run_result result = good(asked);
  EXPECT_EQ(result.samples, 130u);
  EXPECT_EQ(result.micro_batches, 3u);
}

TEST_P(each_door, reports_progress) {
  std::uint64_t done = 0;
  request asked;
  asked.hooks.on_progress = [&](const progress_update& update) { done = update.samples_done; };
  static_cast<void>(good(asked));
  EXPECT_EQ(done, 500u);
}

/// Its samples never end, but for a deadline or a stop.
class endless_data final : public data_set {
 public:
  endless_data() : real_(*open_data(digits)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return 1ULL << 40; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return real_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return real_->classes(); }
  [[nodiscard]] std::string name() const override { return "endless"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const std::uint64_t begin = range.begin % 5000;
    return real_->read({begin, begin + range.end - range.begin});
  }

 private:
  data_set_ptr real_;
};

request endless() {
  request asked;
  asked.run.limit.reset();
  asked.data = data_set_ptr(std::make_shared<endless_data>());
  return asked;
}

TEST_P(each_door, ends_at_a_deadline) {
  request asked = endless();
  asked.run.deadline = 3s;
  const auto result = GetParam().enter(asked);
  const auto& why = result ? result->errors.at(0) : result.error();
  EXPECT_EQ(why.code, error_code::deadline_passed);
}

TEST_P(each_door, stops_and_gives_what_is_done) {
  for (const stop_kind kind : {stop_kind::drain, stop_kind::now}) {
    request asked = endless();
    asked.stop = kind;
    const run_result result = good(asked);
    EXPECT_TRUE(result.partial);
    ASSERT_FALSE(result.errors.empty());
    EXPECT_EQ(result.errors.front().code, error_code::interrupted);
  }
}

TEST_P(each_door, takes_a_data_set_of_ones_own) {
  request asked;
  asked.data = *open_data(digits);
  EXPECT_EQ(bits_of(good(asked)), bits_of(good({})));
}

/// Counts samples.
class counting final : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 1; }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    state[0] += part.size();
    return {};
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    total[0] += part[0];
  }
  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    metric_value value;
    value.name = name_;
    value.fields.push_back({"count", false, true, {}, {total.words[0]}});
    return value;
  }

 private:
  std::string name_ = "counting";
};

TEST_P(each_door, takes_a_metric_of_ones_own) {
  request asked;
  asked.metrics = {"accuracy", std::make_shared<counting>()};
  const run_result result = good(asked);
  ASSERT_EQ(result.metrics.size(), 2u);
  EXPECT_EQ(result.metrics[1].name, "counting");
  EXPECT_EQ(result.metrics[1].fields.at(0).counts, std::vector<std::uint64_t>{500});
}

TEST_P(each_door, cuts_by_every_method) {
  const auto plain = bits_of(good({}));
  const std::string places = "0,2," + std::to_string(GetParam().layer_count);
  for (const std::string& method :
       {std::string("auto"), std::string("uniform"), std::string("type:Linear"), std::string("profile"), places}) {
    request asked;
    asked.partition = method;
    const run_result result = good(asked);
    EXPECT_EQ(bits_of(result), plain) << method;
    ASSERT_EQ(result.stages.size(), 2u) << method;
    ASSERT_EQ(result.cut_by.size(), 1u) << method;
    EXPECT_EQ(result.cut_by.begin()->second, method == "auto" ? "profile" : method);
    if (method == places) {
      EXPECT_EQ(result.stages[0].layers.size(), 2u);
    }
  }
}

TEST_P(each_door, casts) {
  request asked;
  asked.dtype = at::kBFloat16;
  const auto cast = bits_of(good(asked));
  EXPECT_EQ(cast.size(), bits_of(good({})).size());
  EXPECT_NE(cast, bits_of(good({}))) << "the sums of float32 are others";
}

TEST_P(each_door, feeds_several_sinks) {
  request asked;
  asked.sinks = {{"second", {"top3"}}, {"third", {"per_class_accuracy"}}};
  const run_result result = good(asked);
  ASSERT_EQ(result.sinks.size(), 3u);
  EXPECT_EQ(result.sinks[1].name, "second");
  for (const auto& sink : result.sinks) EXPECT_EQ(sink.samples, 500u);
}

// --- what means nothing is said
// ----------------------------------------------------------------------------------------

error error_of_batch(const pipeline_engine_options& options) {
  auto engine = pipeline_engine::create(layers(), options);
  EXPECT_TRUE(engine) << (engine ? "" : to_string(engine.error()));
  if (!engine) return {};
  const auto nothing = [] { return std::optional<batch>(); };
  const auto output = (*engine)->eval_batch(nothing, {.compute_loss = false, .reduce_output = reduction::none});
  EXPECT_FALSE(output);
  return output ? error{} : output.error();
}

TEST(an_iterator, has_no_journal_and_no_limit) {
  pipeline_engine_options journaled{.run = {.threads = 1, .journal = {.file = "no.journal"}}};
  EXPECT_THAT(to_string(error_of_batch(journaled)), ::testing::HasSubstr("journal: an iterator ends with its program"));
  EXPECT_EQ(error_of_batch({.run = {.threads = 1, .limit = 5}}).code, error_code::flags_contradict);
}

/// Of an engine, lines that no hook gets go to stderr: it has no hook for all of them.
TEST(an_evaluator, has_no_form_of_lines_that_a_hook_takes) {
  eval_options options{.model = (data_dir() / "mnist/lenet.pt").string(), .data = digits};
  options.run.log.format = log_format::json;
  const auto refused = evaluator::create(options, {.on_progress = {}, .on_log = [](const log_record&) {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::flags_contradict);
  EXPECT_THAT(to_string(refused.error()), ::testing::HasSubstr("log.format: the hook on_log gets records"));
}

TEST(a_module, says_itself_how_it_is_cut) {
  for (const pipeline_engine_options& options : {pipeline_engine_options{.stages = 3},
                                                 {.stages = 1},
                                                 {.partition = "auto"},
                                                 {.partition = "uniform"},
                                                 {.allow_effects = true}}) {
    const auto engine = pipeline_engine::create(layers(), options);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code, error_code::flags_contradict);
  }
}

/// This process is a worker of a test, or tries its run out.
int serve() {
  const char* const name = std::getenv(door_variable);
  const char* const transport = std::getenv(transport_variable);
  for (const door& each : doors()) {
    if (name == nullptr || transport == nullptr || std::string(each.name) != name) continue;
    const auto ended =
        each.enter(request_in_workers(std::string(transport) == "tcp" ? transport_kind::tcp : transport_kind::shm));
    static_cast<void>(ended);
  }
  return 1;
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) return troupe::testing::serve();
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
