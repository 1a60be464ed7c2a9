// Goal: a run judges its metrics by the first micro-batch before anything is evaluated, and takes data with several
// named inputs and labels. Method: topologies whose stages count what they compute; an encoder of ids and a mask with a
// start and an end as labels, against a plain loop.
#include <atomic>

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/metric_of.hpp>
#include <troupe/model.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// Every micro-batch that a stage computes, beside the first one of the probe.
struct counted_stage {
  std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
  at::Tensor operator()(const at::Tensor& x) const {
    ++*runs;
    return x.clone();
  }
};

error misfit_of(const topology& what) {
  const auto result = run(what, {.micro_batch = 3, .threads = 1});
  EXPECT_FALSE(result);
  return result ? error{} : result.error();
}

TEST(misfit, is_told_before_anything_is_evaluated) {
  for (const std::string metric : {"top9", "nll", "mae"}) {
    const counted_stage counted;
    const error found =
        misfit_of(topology{}.source("numbers", numbers(10)).stage("copy", counted).sink("all", {metric}));
    EXPECT_EQ(found.code, error_code::metric_does_not_fit) << metric;
    EXPECT_THAT(found.where, HasSubstr("first micro-batch, metric " + metric));
    EXPECT_EQ(*counted.runs, 2) << "the probe alone, which computes twice";
  }
}

TEST(misfit, names_the_sink_where_there_are_several) {
  const error found = misfit_of(topology{}
                                    .source("numbers", numbers(10))
                                    .stage("copy", counted_stage{})
                                    .sink("fine", {})
                                    .sink("wrong", {"top9"}));
  EXPECT_EQ(found.code, error_code::metric_does_not_fit);
  EXPECT_THAT(found.where, HasSubstr("sink wrong, first micro-batch"));
  EXPECT_THAT(found.cause, HasSubstr("at least 9 outputs per sample, found 2"));
}

/// Sample i: ids [i, i + 1, i + 2], a mask that leaves the last out of odd ones; the answer starts at i and ends at 2
/// i.
class questions final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 50; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {3}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "questions"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const at::Tensor rows = at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    const at::Tensor ids = at::stack({rows, rows.add(1), rows.add(2)}, 1);
    at::Tensor mask = at::ones({rows.size(0), 3}, at::kFloat);
    mask.select(1, 2).copy_(rows.add(1).remainder(2));
    return sample_block{{{"ids", ids}, {"mask", mask}},
                        {{"start", rows.to(at::kFloat)}, {"end", rows.mul(2).to(at::kFloat)}}};
  }
};

/// What the encoder below computes for sample i, times `factor`: the sum of the ids that the mask leaves.
double encoded(std::int64_t i, double factor) {
  return factor * static_cast<double>(i % 2 == 0 ? 3 * i + 3 : 2 * i + 1);
}

TEST(named_data, reach_the_arguments_of_a_module_and_the_sinks_of_their_labels) {
  torch::jit::Module encoder("encoder");
  encoder.define(
      "def forward(self, mask, ids):\n"
      "  sums = (ids * mask).sum(1)\n"
      "  return {'first': sums, 'last': sums * 2.0}\n");
  const auto result = run(topology{}
                              .source("questions", std::make_shared<questions>())
                              .stage("encoder", encoder, {.replicas = 2})
                              .sink("start", {"mae"}, {.tensor = "first", .label = "start"})
                              .sink("end", {"mse", "mae"}, {.tensor = "last", .label = "end"}),
                          {.micro_batch = 7, .threads = 1});
  ASSERT_TRUE(result) << to_string(result.error());
  double start = 0;
  double end_squared = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    start += std::abs(encoded(i, 1) - static_cast<double>(i));
    end_squared += std::pow(encoded(i, 2) - 2.0 * static_cast<double>(i), 2);
  }
  EXPECT_DOUBLE_EQ((*result)["mae"].value(), start / 50);
  EXPECT_DOUBLE_EQ(result->sink("end")["mse"].value(), end_squared / 50);
  EXPECT_EQ(result->sink("end")["mse"].count("count"), 50U);
}

TEST(named_data, of_several_labels_one_must_be_chosen) {
  const auto sums = [](const named_tensors& in) -> named_tensors { return in.at("ids").sum(1).to(at::kFloat); };
  const error found =
      misfit_of(topology{}.source("questions", std::make_shared<questions>()).stage("sum", sums).sink("s", {"mae"}));
  EXPECT_EQ(found.code, error_code::metric_does_not_fit);
  EXPECT_THAT(to_string(found),
              HasSubstr("found 2: start, end\n  fix: choose one, --score-label NAME, or sink_options::label"));
}

}  // namespace
}  // namespace troupe::testing
