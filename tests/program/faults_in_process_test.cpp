// Goal: an evaluation in one process survives the faults of docs/faults.md with the bits of an undisturbed one, and
// reports them. Method: real model and data; all faults that one run can survive in one run.
#include <bit>
#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class faults_in_process : public ::testing::Test {
 protected:
  faults_in_process() {
    options_.model = (data_dir() / "mnist/lenet.pt").string();
    options_.data = "mnist:" + (data_dir() / "mnist").string();
    options_.stages = 3;
    options_.run.threads = 1;
    options_.run.micro_batch = 16;
    options_.run.limit = 480;
  }
  ~faults_in_process() override { std::filesystem::remove(journal_); }

  [[nodiscard]] expected<run_result> run(const std::vector<std::string>& faults) const {
    eval_options options = options_;
    for (const std::string& each : faults) options.run.faults.add(each);
    auto created = TROUPE_TRY(evaluator::create(options, {}));
    return (created)->run();
  }
  static std::vector<std::uint64_t> words_of(const run_result& result) {
    std::vector<std::uint64_t> words;
    for (const metric_value& metric : result.metrics) {
      for (const metric_value::field& field : metric.fields) {
        words.insert(words.end(), field.counts.begin(), field.counts.end());
        for (const double real : field.reals) words.push_back(std::bit_cast<std::uint64_t>(real));
      }
    }
    return words;
  }
  [[nodiscard]] std::vector<std::uint64_t> undisturbed() const { return words_of(*run({})); }

  eval_options options_;
  const std::filesystem::path journal_ =
      std::filesystem::temp_directory_path() / ("test-faults-" + std::to_string(::getpid()));
};

TEST_F(faults_in_process, leave_the_bits_as_they_are_and_are_reported) {
  const std::vector<std::string> faults = {
      "throw:stage=stage.0,at=mb5", "out_of_memory:stage=1,at=mb6", "slow:stage=stage.2,ms=1,jitter=1,p=0.2",
      "kill:loader,at=mb9",         "kill:aggregator,at=mb12",      "throw:stage=stage.2,at=mb29"};
  const auto result = run(faults);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(words_of(*result), undisturbed());
  EXPECT_EQ(result->delivery.folded, 30u);
  ASSERT_EQ(result->faults.size(), faults.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_EQ(result->faults[i].times > 0, true) << faults[i];
    EXPECT_TRUE(result->faults[i].after) << faults[i];
  }
  EXPECT_EQ(result->faults[0].fault, faults[0]);
  EXPECT_EQ(result->faults[0].micro_batch, 5u);
  EXPECT_FALSE(result->faults[0].recovery_time);
  // The run may end before it has new edges, and has replayed nothing then.
  EXPECT_EQ(result->faults[3].replayed + result->faults[4].replayed > 0, result->delivery.replayed > 0);
}

TEST_F(faults_in_process, that_do_not_come_say_why) {
  const auto result = run({"throw:stage=stage.0,p=0.000001", "kill:loader,at=300s"});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->faults[0].note, "not injected: no lot fell on it");
  EXPECT_EQ(result->faults[1].note, "not injected: its moment did not come");
}

TEST_F(faults_in_process, full_disk_ends_the_run_and_it_goes_on_from_its_journal) {
  const auto whole = undisturbed();
  options_.run.journal.file = journal_.string();
  const auto ended =
      run({"slow:stage=stage.0,at=mb0,ms=1", "throw:stage=stage.1,at=mb1", "disk_full:journal,at=mb10,bytes=20"});
  ASSERT_TRUE(!ended || !ended->errors.empty());
  // All may be folded before the journal's thread writes: the result is whole then, and has the error.
  const error& full = ended ? ended->errors.front() : ended.error();
  EXPECT_EQ(full.code, error_code::journal_unwritable);
  EXPECT_THAT(full.cause, HasSubstr("No space left"));
  EXPECT_THAT(full.cause, StartsWith("after the injected faults slow:stage=stage.0,at=mb0,ms=1 and "
                                     "disk_full:journal,at=mb10,bytes=20: "));
  options_.run.journal.resume = true;
  const auto result = run({});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(words_of(*result), whole);
}

TEST_F(faults_in_process, that_the_run_cannot_have_are_refused_before_it_starts) {
  for (const char* text : {"kill:stage=stage.1,at=mb1", "stop:worker=0,at=1s", "throw:stage=stage.3,at=mb1",
                           "throw:stage=stage.1,at=mb30", "disk_full:journal,at=mb1", "kil"}) {
    const auto refused = run({text});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, error_code::fault_invalid) << text;
  }
}

}  // namespace
}  // namespace troupe::testing
