// Goal: a watch evaluates each checkpoint once, in order, waits for those that are half-written, stops as a plain loop
// stops, and names the best. Method: folders that change while a time of its own passes; random sequences against a
// plain loop.
#include "runtime/watch/watch.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "runtime/watch/best_checkpoint.hpp"
#include "watched_folder.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class watching : public watched_folder {
 protected:
  watch_report run(const watch_request& asked) {
    const auto report = watch(asked, means());
    EXPECT_TRUE(report) << to_string(report.error());
    return report ? *report : watch_report{};
  }
  error failure(const watch_request& asked) {
    const auto report = watch(asked, means());
    EXPECT_FALSE(report);
    return report ? error{} : report.error();
  }
  [[nodiscard]] ms passed() const { return std::chrono::duration_cast<ms>(now_.time_since_epoch()); }
};

TEST_F(watching, once_evaluates_all_in_order_and_links_the_best) {
  values_ = {{"step-9.pt", 0.1}, {"step-10.pt", 0.7}, {"checkpoint-100", 0.7}};
  put("step-10.pt");
  put("step-9.pt");
  put("checkpoint-100/model.safetensors");
  const auto report = run(request());
  EXPECT_EQ(report.stop, watch_stop::once);
  EXPECT_THAT(evaluated_, ElementsAre("step-9.pt", "step-10.pt", "checkpoint-100"));
  EXPECT_EQ(report.best, "step-10.pt") << "an equal value is no improvement";
  EXPECT_EQ(best_link(), "step-10.pt");
  evaluated_.clear();
  EXPECT_EQ(run(request()).rows.size(), 3U);
  EXPECT_THAT(evaluated_, IsEmpty());
}

TEST_F(watching, of_an_empty_folder_once_ends) {
  EXPECT_THAT(run(request()).rows, IsEmpty());
  EXPECT_EQ(best_link(), "");
}

TEST_F(watching, waits_until_a_file_has_not_changed_for_the_time) {
  values_ = {{"step-1.pt", 0.5}};
  put("step-1.pt");
  int writes = 0;
  on_pause_ = [&] {
    if (++writes < 20) put("step-1.pt", std::string(static_cast<std::size_t>(writes), 'w'));
  };
  run(request());
  EXPECT_THAT(evaluated_, ElementsAre("step-1.pt"));
  EXPECT_GE(passed(), ms(19 * 250 + 1000));
}

TEST_F(watching, tries_a_file_again_that_changes_after_it_could_not_be_read) {
  put("step-1.pt");
  on_pause_ = [&] {
    if (passed() < ms(30'000) || !values_.empty()) return;
    values_ = {{"step-1.pt", 0.5}};
    put("step-1.pt", "now whole");
  };
  const auto report = run(request());
  EXPECT_THAT(evaluated_, ElementsAre("step-1.pt", "step-1.pt"));
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_FALSE(report.rows[0].problem);
}

TEST_F(watching, keeps_a_row_for_one_that_stays_unreadable_and_goes_on) {
  values_ = {{"step-2.pt", 0.5}};
  put("step-1.pt");
  put("step-2.pt");
  const auto report = run(request());
  EXPECT_THAT(evaluated_, ElementsAre("step-1.pt", "step-2.pt"));
  EXPECT_THAT(names(report), ElementsAre("step-2.pt", "step-1.pt"));
  EXPECT_EQ(report.rows[1].problem->code, error_code::model_damaged);
  EXPECT_GE(passed(), ms(60'000));
  EXPECT_EQ(best_link(), "step-2.pt");
  evaluated_.clear();
  run(request());
  EXPECT_THAT(evaluated_, IsEmpty()) << "it is as it was";
  values_["step-1.pt"] = 0.75;
  put("step-1.pt", "another one");
  EXPECT_EQ(run(request()).best, "step-1.pt");
}

TEST_F(watching, does_not_count_an_evaluation_of_what_changes_meanwhile) {
  put("step-1.pt");
  auto with = means();
  with.evaluate = [this](const seen_checkpoint& which) -> expected<nlohmann::ordered_json> {
    evaluated_.push_back(which.name);
    if (evaluated_.size() == 1) put("step-1.pt", "overwritten");
    return accuracy(evaluated_.size() == 1 ? 0.1 : 0.2);
  };
  const auto report = watch(request(), with);
  ASSERT_TRUE(report);
  EXPECT_EQ(evaluated_.size(), 2U);
  EXPECT_EQ(report->best_value, 0.2);
}

TEST_F(watching, waits_for_the_name_of_a_tag_in_latest) {
  values_ = {{"global_step1", 0.1}, {"global_step2", 0.2}};
  put("latest", "global_step1");
  put("global_step1/layer_00-model_states.pt");
  put("global_step2/layer_00-model_states.pt");
  on_pause_ = [&] {
    if (passed() == ms(20'000)) put("latest", "global_step2");
  };
  run(request());
  EXPECT_THAT(evaluated_, ElementsAre("global_step1", "global_step2"));
  EXPECT_GE(passed(), ms(20'000));
  EXPECT_LT(passed(), ms(30'000));
}

TEST_F(watching, ends_when_nothing_has_changed_for_the_timeout) {
  auto asked = request();
  asked.once = false;
  asked.timeout = ms(10'000);
  values_ = {{"step-1.pt", 0.1}};
  on_pause_ = [&] {
    if (passed() == ms(8000)) put("step-1.pt");
  };
  const auto report = run(asked);
  EXPECT_EQ(report.stop, watch_stop::timeout);
  EXPECT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(passed(), ms(19'000));
}

TEST_F(watching, ends_when_it_is_interrupted) {
  auto asked = request();
  asked.once = false;
  EXPECT_EQ(run(asked).stop, watch_stop::interrupted) << "by the pause, after an hour";
  put("step-1.pt");
  now_ = {};
  auto with = means();
  with.evaluate = [](const seen_checkpoint&) -> expected<nlohmann::ordered_json> {
    return fail(error_code::interrupted, "watch", "it was interrupted");
  };
  const auto report = watch(asked, with);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->stop, watch_stop::interrupted);
  EXPECT_THAT(report->rows, IsEmpty());
}

TEST_F(watching, ends_with_errors_that_come_with_every_checkpoint) {
  put("step-1.pt");
  for (const error_code code : {error_code::unknown_name, static_cast<error_code>(301)}) {
    auto with = means();
    with.evaluate = [&](const seen_checkpoint&) -> expected<nlohmann::ordered_json> {
      return fail(code, "data", "it is not there");
    };
    const auto report = watch(request(), with);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, code);
  }
  EXPECT_EQ(run(request()).rows.size(), 1U) << "nothing was kept of it";
}

TEST_F(watching, names_the_fields_where_the_monitored_one_is_not_there) {
  values_ = {{"step-1.pt", 0.5}};
  put("step-1.pt");
  auto asked = request();
  asked.monitor = {"accuracy", "macro"};
  const error told = failure(asked);
  EXPECT_EQ(told.code, error_code::unknown_name);
  EXPECT_THAT(told.fix, HasSubstr("accuracy.value, accuracy.total"));
}

TEST_F(watching, refuses_a_file_in_the_place_of_the_link) {
  put("best");
  EXPECT_THAT(to_string(failure(request())), HasSubstr("it is no link"));
}

/// What any training script has.
struct plain_loop {
  std::vector<std::string> seen = {};
  std::string best = {};

  static plain_loop of(const std::map<std::uint64_t, double>& values, bool larger, std::uint64_t patience) {
    plain_loop made;
    double best_value = larger ? -INFINITY : INFINITY;
    std::uint64_t bad = 0;
    for (const auto& [step, value] : values) {
      made.seen.push_back("step-" + std::to_string(step) + ".pt");
      const bool better = made.best.empty() ? !std::isnan(value) : larger ? value > best_value : value < best_value;
      if (better) {
        best_value = value;
        made.best = made.seen.back();
        bad = 0;
      } else if (++bad >= patience) {
        break;
      }
    }
    return made;
  }
};

TEST_F(watching, stops_and_chooses_as_a_plain_loop_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::map<std::uint64_t, double> values;
    values_.clear();
    const auto count = random() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t step = random() % 1000;
      const double value = random() % 10 == 0 ? NAN : static_cast<double>(random() % 6) / 8;
      values[step] = value;
      values_["step-" + std::to_string(step) + ".pt"] = value;
    }
    const bool larger = random() % 2 == 0;
    const std::uint64_t patience = 1 + random() % 4;
    const plain_loop wanted = plain_loop::of(values, larger, patience);
    auto asked = request();
    asked.folder = folder_ / std::to_string(round);
    asked.state = asked.folder / "state";
    asked.larger_is_better = larger;
    asked.patience = patience;
    std::filesystem::create_directories(asked.folder);
    for (const auto& [name, value] : values_) put(std::to_string(round) + "/" + name);
    const auto report = run(asked);
    EXPECT_EQ(names(report), wanted.seen);
    EXPECT_EQ(report.best.value_or(""), wanted.best);
    const bool is_full = report.stop == watch_stop::patience;
    evaluated_.clear();
    EXPECT_EQ(names(run(asked)), wanted.seen);
    EXPECT_THAT(evaluated_, IsEmpty()) << is_full;
  }
}

TEST_F(watching, writes_the_scalars_that_a_killed_one_has_left_out) {
  values_ = {{"step-1.pt", 0.5}, {"step-2.pt", 0.25}};
  put("step-1.pt");
  run(request());
  put("step-2.pt");
  const auto log = scalar_log::open(folder_ / "scalars.csv");
  ASSERT_TRUE(log);
  auto with = means();
  with.scalars = log->get();
  ASSERT_TRUE(watch(request(), with));
  std::ifstream file(folder_ / "scalars.csv");
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);) found.push_back(line.substr(line.find(',') + 1));
  EXPECT_THAT(found, ElementsAre("step,name,value", "1,eval/accuracy,0.5", "2,eval/accuracy,0.25"));
}

}  // namespace
}  // namespace troupe::testing
