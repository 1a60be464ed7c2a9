#include "tests/program/support/known_answers.hpp"

#include <bit>
#include <map>
#include <stdexcept>
#include <tuple>

#include <gmock/gmock.h>

#include <troupe/evaluator.hpp>

namespace troupe::testing {
namespace {

const metric_value& metric_named(const run_result& result, const std::string& name) {
  for (const metric_value& each : result.metrics) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no metric " + name);
}

const metric_value::field& field_named(const metric_value& value, const std::string& name) {
  for (const auto& each : value.fields) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no field " + name);
}

}  // namespace

void check(const known_answer& known, const std::vector<layout>& layouts) {
  std::map<std::tuple<std::uint64_t, std::uint32_t, optimize_mode>, std::uint64_t> bits;
  for (const layout& each : layouts) {
    SCOPED_TRACE(::testing::Message() << each.stages << " stages, " << each.replicas << " replicas, micro-batch "
                                      << each.micro_batch << ", " << each.threads << " threads, optimize "
                                      << static_cast<int>(each.optimize));
    eval_options options;
    options.model = known.model;
    options.arch = known.arch;
    options.weights = known.weights;
    options.data = known.data;
    options.metrics = {"accuracy", "per_class_accuracy", known.loss};
    options.stages = each.stages;
    options.replicas = each.replicas;
    options.run.micro_batch = each.micro_batch;
    options.run.threads = each.threads;
    options.optimize = each.optimize;
    options.partition = "uniform";
    auto created = evaluator::create(options, {});
    ASSERT_TRUE(created) << to_string(created.error());
    const auto result = (*created)->run();
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(field_named(metric_named(*result, "accuracy"), "correct").counts, std::vector{known.correct});
    EXPECT_EQ(field_named(metric_named(*result, "accuracy"), "total").counts, std::vector<std::uint64_t>{10000});
    EXPECT_EQ(field_named(metric_named(*result, "per_class_accuracy"), "correct").counts, known.correct_by_class);
    EXPECT_NEAR(field_named(metric_named(*result, known.loss), "mean").reals.at(0), known.mean_loss, 1e-5);
    EXPECT_EQ(result->delivery.lost, 0);
    const auto sum = std::bit_cast<std::uint64_t>(field_named(metric_named(*result, known.loss), "sum").reals.at(0));
    const auto [first, is_new] = bits.emplace(std::tuple{each.micro_batch, each.threads, each.optimize}, sum);
    EXPECT_EQ(first->second, sum) << "the loss sum differs in its bits from another layout's";
  }
}

}  // namespace troupe::testing
