// Goal: `troupe eval` takes an archive with several labels, scores the one that is named and refuses to guess, with
// worker processes and with a journal, too. Method: digits of MNIST with their labels, and with labels that are all
// wrong; what either gives is known.
#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/zip_writer.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using json = nlohmann::json;

constexpr std::uint64_t samples = 300;

/// npy version 1.0, in C order.
std::string npy(const std::string& type, const at::Tensor& values) {
  std::string shape;
  for (const std::int64_t size : values.sizes()) shape += std::to_string(size) + ",";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  const at::Tensor plain = values.contiguous();
  return "\x93NUMPY\x01" + std::string(1, '\0') + little_endian(118, 2) + header + "\n" +
         std::string(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
}

class named_data : public ::testing::Test {
 protected:
  named_data() {
    const sample_block digits = get(get(open_data("mnist:" + (data_dir() / "mnist").string()))->read({0, samples}));
    const at::Tensor& right = digits.labels.only();
    directory_.write("d.npz", zip_file({stored("pictures.npy", npy("<f4", digits.inputs.only())),
                                        stored("right.npy", npy("<i8", right)),
                                        stored("wrong.npy", npy("<i8", right.add(1).remainder(10)))}));
    directory_.write("x.npy", npy("<f4", digits.inputs.only()));
    directory_.write("y.npy", npy("<i8", right));
  }

  [[nodiscard]] program_outcome eval(const std::string& data, const std::vector<std::string>& more) const {
    const std::string model = std::filesystem::absolute(data_dir() / "mnist/lenet.pt").string();
    std::vector<std::string> all = {"eval",      "--model",  model,       "--data", data,
                                    "--metrics", "accuracy", "--threads", "1",      "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run_troupe({.arguments = all, .directory = directory_.path().string()});
  }

  [[nodiscard]] std::uint64_t correct(const std::string& data, const std::vector<std::string>& more) const {
    const program_outcome done = eval(data, more);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.status != 0 ? 0 : json::parse(done.out)["metrics"]["accuracy"]["correct"].get<std::uint64_t>();
  }

  scratch directory_;
};

constexpr const char* both = "npz:d.npz,label=right+wrong";

TEST_F(named_data, the_named_label_is_scored) {
  const std::uint64_t right = correct("npz:d.npz,label=right,inputs=pictures", {});
  EXPECT_GT(right, samples * 95 / 100);
  EXPECT_EQ(correct("npy:pictures=x.npy,labels=y.npy", {}), right);
  EXPECT_EQ(correct(both, {"--score-label", "right"}), right);
  EXPECT_LT(correct(both, {"--score-label", "wrong"}), samples * 5 / 100);
  EXPECT_EQ(correct(both, {"--score-label", "right", "--processes", "--stages", "2"}), right);
}

TEST_F(named_data, nothing_is_guessed) {
  const program_outcome several = eval(both, {});
  EXPECT_EQ(several.status, 2);
  EXPECT_THAT(several.err, AllOf(HasSubstr("E0108"), HasSubstr("right, wrong"), HasSubstr("--score-label NAME")));
  const program_outcome unknown = eval(both, {"--score-label", "rihgt"});
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("E0108"), HasSubstr("\"rihgt\""), HasSubstr("right, wrong")));
  const program_outcome output = eval("npz:d.npz,label=right,inputs=pictures", {"--score-output", "logits"});
  EXPECT_THAT(output.err, AllOf(HasSubstr("E0108"), HasSubstr("no tensor \"logits\""), HasSubstr("--score-output")));
}

TEST_F(named_data, a_journal_goes_on_with_the_same_label_alone) {
  static_cast<void>(correct(both, {"--score-label", "right", "--journal", "j"}));
  const program_outcome other = eval(both, {"--score-label", "wrong", "--journal", "j", "--resume"});
  EXPECT_NE(other.status, 0);
  EXPECT_THAT(other.err, AllOf(HasSubstr("accuracy against right"), HasSubstr("accuracy against wrong")));
  EXPECT_NE(eval("npz:d.npz,label=wrong+right", {"--score-label", "right", "--journal", "j", "--resume"}).status, 0);
  EXPECT_EQ(eval(both, {"--score-label", "right", "--journal", "j", "--resume"}).status, 0);
}

/// named_data/record.py made both files, and printed what eager PyTorch gives.
json questions(const std::string& options, const std::string& which, const std::vector<std::string>& more) {
  const std::string files = std::filesystem::absolute(source_dir() / "tests/cli/named_data/questions").string();
  std::vector<std::string> all = {"eval",
                                  "--model",
                                  files + ".pt",
                                  "--data",
                                  "npz:" + files + ".npz,label=start+end" + options,
                                  "--score-output",
                                  which + "_logits",
                                  "--score-label",
                                  which,
                                  "--metrics",
                                  "accuracy,cross_entropy",
                                  "--micro-batch",
                                  "8",
                                  "--threads",
                                  "1",
                                  "--json"};
  all.insert(all.end(), more.begin(), more.end());
  const program_outcome done = run_troupe({.arguments = all});
  EXPECT_EQ(done.status, 0) << done.err;
  return done.status != 0 ? json() : json::parse(done.out);
}

/// The cast of the inputs keeps their names.
TEST(questions, have_the_same_values_where_a_type_is_asked_for) {
  const json plain = questions("", "start", {});
  const json cast = questions("", "start", {"--dtype", "float32"});
  ASSERT_FALSE(cast.is_null());
  EXPECT_EQ(cast["metrics"], plain["metrics"]);
  EXPECT_FALSE(questions("", "start", {"--dtype", "bfloat16", "--stages", "2", "--processes"}).is_null());
}

TEST(questions, of_two_inputs_and_two_outputs_have_the_values_of_pytorch) {
  const std::vector<std::string> killed = {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb4"};
  for (const std::string options : {"", ",trim=attention_mask"}) {
    for (const auto& more : {std::vector<std::string>(), killed}) {
      SCOPED_TRACE(options + (more.empty() ? "" : " with a kill"));
      const json start = questions(options, "start", more);
      const json end = questions(options, "end", more);
      ASSERT_FALSE(start.is_null() || end.is_null());
      EXPECT_EQ(start["metrics"]["accuracy"]["correct"], 35);
      EXPECT_EQ(end["metrics"]["accuracy"]["correct"], 36);
      EXPECT_NEAR(start["metrics"]["cross_entropy"]["mean"].get<double>(), 1.5034553451607218, 1e-6);
      EXPECT_NEAR(end["metrics"]["cross_entropy"]["mean"].get<double>(), 1.5052395964933707, 1e-6);
      EXPECT_EQ(start["delivery"]["lost"], 0);
    }
  }
}

}  // namespace
}  // namespace troupe::testing
