// Goal: a scalar is written once, also over many programs that are killed, and a target is whole at any moment; other
// files are refused and stay as they are. Method: targets of all forms, read by plain code; a writer in a child
// process, killed once it has come to a random step; files that are damaged or hostile.
#include <csignal>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../support/child_events.hpp"
#include "monitor_folder.hpp"
#include <troupe/result.hpp>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class scalars : public monitor_folder {
 protected:
  static std::vector<std::string> lines(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  }
  static std::string behind_time(const std::string& line) { return line.substr(line.find(',') + 1); }
  void expect_refused(const std::string& name, const std::string& cause) {
    const bool is_file = std::filesystem::is_regular_file(folder_ / name);
    const std::string before = is_file ? content(folder_ / name) : "";
    const auto log = scalar_log::open(folder_ / name);
    ASSERT_FALSE(log) << name;
    EXPECT_EQ(log.error().code, error_code::output_unwritable);
    EXPECT_THAT(to_string(log.error()), HasSubstr(cause));
    EXPECT_EQ(is_file ? content(folder_ / name) : "", before);
  }
};

TEST_F(scalars, are_rows_of_csv) {
  const std::vector<scalar> some{{"eval/accuracy", 0.1}, {"a,\"b\nc", 1e300}, {"n", NAN}, {"i", -INFINITY}};
  EXPECT_EQ(write(folder_ / "s.csv", 5, some), 4U);
  EXPECT_EQ(write(folder_ / "s.csv", 5, some), 0U);
  EXPECT_EQ(write(folder_ / "s.csv", 6, {{"eval/accuracy", 0.2}, {"eval/accuracy", 0.3}}), 1U);
  const auto found = lines(folder_ / "s.csv");
  ASSERT_EQ(found.size(), 7U);
  EXPECT_EQ(found[0], "wall_time,step,name,value");
  EXPECT_EQ(behind_time(found[1]), "5,eval/accuracy,0.1");
  EXPECT_EQ(behind_time(found[2]) + "\n" + found[3], "5,\"a,\"\"b\nc\",1e+300");
  EXPECT_EQ(behind_time(found[4]), "5,n,nan");
  EXPECT_EQ(behind_time(found[5]), "5,i,-inf");
  EXPECT_EQ(behind_time(found[6]), "6,eval/accuracy,0.2");
}

TEST_F(scalars, have_no_target_that_looks_like_another_file) {
  for (const char* name : {"x.txt", "x.json", "runs.v2", "a.b/x.tsv", "x.csv.gz"}) {
    const auto log = scalar_log::open(folder_ / name);
    ASSERT_FALSE(log) << name;
    EXPECT_EQ(log.error().code, error_code::value_out_of_range);
    EXPECT_THAT(log.error().fix, HasSubstr((folder_ / name).string() + "/ for a folder"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
  }
  EXPECT_THAT(scalar_log::open("x.txt").error().fix, HasSubstr("write x.csv or x.jsonl"));
  for (const char* name : {"runs.v2/", "lr-0.01", "plain", ".hidden", "a.b/run"}) {
    EXPECT_EQ(write(folder_ / name, 5, {{"eval/accuracy", 0.1}}), 1U) << name;
    EXPECT_TRUE(std::filesystem::is_directory(folder_ / name));
  }
  EXPECT_EQ(write(folder_ / "runs.v2", 6, {{"eval/accuracy", 0.1}}), 1U) << "a folder that is there";
}

TEST_F(scalars, are_an_object_per_step_in_jsonl) {
  EXPECT_EQ(write(folder_ / "s.jsonl", 5, {{"eval/accuracy", 0.1}, {"eval/nll", NAN}}), 2U);
  EXPECT_EQ(write(folder_ / "s.jsonl", 5, {{"eval/accuracy", 0.1}, {"eval/new", 3}}), 1U);
  const auto found = lines(folder_ / "s.jsonl");
  ASSERT_EQ(found.size(), 2U);
  auto row = nlohmann::json::parse(found[0]);
  EXPECT_GT(row["wall_time"], 1.7e9);
  row.erase("wall_time");
  EXPECT_EQ(row, nlohmann::json::parse(R"({"step": 5, "eval/accuracy": 0.1, "eval/nll": "NaN"})"));
  EXPECT_EQ(nlohmann::json::parse(found[1])["eval/new"], 3.0);
}

TEST_F(scalars, of_a_program_are_one_event_file) {
  auto log = scalar_log::open(folder_ / "tb");
  ASSERT_TRUE(log);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tb")) << "nothing is written yet";
  for (std::uint64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(*(*log)->write(step, std::vector<scalar>{{"eval/accuracy", 0.5}}), 1U);
  }
  EXPECT_EQ(event_files(folder_ / "tb").size(), 1U);
  EXPECT_EQ(write(folder_ / "tb", 2, {{"eval/accuracy", 0.7}}), 0U);
  EXPECT_EQ(write(folder_ / "tb", 3, {{"eval/accuracy", 0.7}}), 1U);
  EXPECT_EQ(event_files(folder_ / "tb").size(), 2U);
  EXPECT_THAT(events_in(folder_ / "tb"),
              ElementsAre("0 eval/accuracy", "1 eval/accuracy", "2 eval/accuracy", "3 eval/accuracy"));
}

TEST_F(scalars, of_a_torn_record_are_written_again_in_another_file) {
  write(folder_, 1, {{"eval/accuracy", 0.5}});
  const auto file = event_files(folder_).front();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(write(folder_, 1, {{"eval/accuracy", 0.5}}), 1U);
  EXPECT_THAT(events_in(folder_), ElementsAre("1 eval/accuracy"));
}

TEST_F(scalars, leave_event_files_of_a_training_alone) {
  put("events.out.tfevents.1700000000.host.1.0", "not ours, and not read");
  EXPECT_EQ(write(folder_, 1, {{"eval/accuracy", 0.5}}), 1U);
  EXPECT_EQ(content(folder_ / "events.out.tfevents.1700000000.host.1.0"), "not ours, and not read");
}

TEST_F(scalars, are_written_once_by_writers_that_are_killed) {
  std::mt19937 random(std::random_device{}());
  const std::vector<scalar> both{{"eval/accuracy", 0.25}, {"eval/nll", 1.5}};
  constexpr std::uint64_t steps = 40;
  for (const char* name : {"s.csv", "s.jsonl", "tb"}) {
    const auto target = folder_ / name;
    bool is_done = false;
    for (int round = 0; !is_done; ++round) {
      child_events events;
      const pid_t writer = ::fork();
      if (writer == 0) {
        auto log = scalar_log::open(target);
        for (std::uint64_t step = 0; log && step < steps; ++step) {
          events.say();
          if (!(*log)->write(step, both)) ::_exit(1);
        }
        ::_exit(log ? 0 : 1);
      }
      if (round < 20) {
        EXPECT_TRUE(events.wait_for(random() % steps));
        ::kill(writer, SIGKILL);
      }
      int status = 0;
      ::waitpid(writer, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
      is_done = WIFEXITED(status);
    }
    if (target.extension().empty()) {
      const auto found = events_in(target);
      EXPECT_EQ(found.size(), 2 * steps);
      EXPECT_EQ(std::set(found.begin(), found.end()).size(), 2 * steps);
    } else {
      const auto found = lines(target);
      EXPECT_EQ(found.size(), target.extension() == ".csv" ? 2 * steps + 1 : steps) << name;
    }
  }
}

TEST_F(scalars, refuse_targets_that_are_something_else) {
  put("a.csv", "step,loss\n1,2\n");
  expect_refused("a.csv", "its row 1 holds something else");
  put("b.csv", "wall_time,step,name,value\n1,2,x,3\n1,-2,x,3\n");
  expect_refused("b.csv", "its row 3 ");
  put("c.csv", "wall_time,step,name,value\n1,2,\"x,3\n");
  expect_refused("c.csv", "its row 2 ");
  put("d.jsonl", "{\"step\": 1}\n{\"step\": 1.5}\n");
  expect_refused("d.jsonl", "its row 2 ");
  put("e.jsonl", std::string(100'000, '[') + "\n");
  expect_refused("e.jsonl", "its row 1 ");
  put("f.jsonl", std::string((16U << 20U) + 1, ' '));
  expect_refused("f.jsonl", "larger than 16 MiB");
  put("g", "a file");
  expect_refused("g", "its name does not end in .csv or .jsonl");
  std::filesystem::create_directory(folder_ / "h.csv");
  expect_refused("h.csv", "no regular file");
  ASSERT_EQ(::mkfifo((folder_ / "i.jsonl").c_str(), 0600), 0);
  expect_refused("i.jsonl", "no regular file");
}

TEST_F(scalars, refuse_steps_and_names_that_no_reader_takes) {
  for (const char* name : {"s.csv", "s.jsonl", "tb"}) {
    const auto log = scalar_log::open(folder_ / name);
    ASSERT_TRUE(log);
    const auto code = [&](std::uint64_t step, const std::string& scalar_name) {
      const auto written = (*log)->write(step, std::vector<scalar>{{scalar_name, 1}});
      return written ? error_code{} : written.error().code;
    };
    EXPECT_EQ(code(std::uint64_t{1} << 63, "x"), error_code::value_out_of_range);
    EXPECT_EQ(code(1, ""), error_code::value_out_of_range);
    EXPECT_EQ(code(1, "step"), error_code::value_out_of_range);
    EXPECT_EQ(code(1, std::string(1001, 'x')), error_code::value_out_of_range);
  }
}

TEST_F(scalars, of_a_result_are_its_numbers) {
  run_result result;
  result.metrics = {{"accuracy", {real_field("value", 0.5), count_field("correct", 1), count_field("total", 2)}},
                    {"f1", {real_field("macro", 0.25), real_field("micro", 0.75), real_list("per_class", {1, 2})}},
                    {"nll", {real_field("mean", 2), real_field("sum", 4), count_field("count", 2)}},
                    {"per_class_accuracy", {real_list("value", {1, 2})}},
                    {"mine", {count_field("right", 7), count_field("wrong", 8)}}};
  result.sinks = {{.name = "metrics", .metrics = result.metrics},
                  {.name = "late", .metrics = {{"accuracy", {real_field("value", 0.125)}}}}};
  std::vector<std::string> found;
  for (const scalar& each : scalars_of(result)) found.push_back(each.name + " " + std::to_string(each.value));
  EXPECT_THAT(found, ElementsAre("eval/accuracy 0.500000", "eval/f1 0.250000", "eval/f1/micro 0.750000",
                                 "eval/nll 2.000000", "eval/mine 7.000000", "eval/late/accuracy 0.125000"));
}

}  // namespace
}  // namespace troupe::testing
