// Goal: the known answers, and loss sums equal to the last bit, whatever the layout. Method: a pairwise cover of
// stages, replicas, micro-batch sizes, threads and optimize modes on the full MNIST and CIFAR-10 test sets; bits are
// compared within this run only, by (micro-batch, threads, optimize). The whole product is `pipeline_bench
// --all-layouts`.
#include <bit>
#include <map>
#include <tuple>

#include <gmock/gmock.h>

#include <troupe/actors/evaluator.hpp>
#include <troupe/runtime/metric/metric.hpp>
#include <troupe/tests/support/paths.hpp>

namespace troupe::testing {
namespace {

struct layout {
  std::uint32_t stages;
  std::uint32_t replicas;
  std::uint64_t micro_batch;
  std::uint32_t threads;
  optimize_mode optimize;
};

constexpr auto by_layer = optimize_mode::layer;
constexpr auto as_it_is = optimize_mode::none;

// Every pair of (stages 1 2 4 15), (replicas 1 2 3), (micro-batch 7 64 999 10000), (threads 1 2) and (layer, none)
// occurs, and each (micro-batch, threads, optimize) at least twice, so that there is something to compare its bits
// with.
const std::vector<layout> cover = {
    {1, 1, 7, 1, by_layer},     {15, 3, 7, 1, by_layer},     {2, 2, 7, 2, as_it_is},     {4, 1, 7, 2, as_it_is},
    {1, 3, 64, 2, by_layer},    {2, 1, 64, 2, by_layer},     {4, 2, 64, 1, as_it_is},    {15, 1, 64, 1, as_it_is},
    {1, 2, 999, 1, as_it_is},   {4, 3, 999, 1, as_it_is},    {2, 3, 999, 2, by_layer},   {15, 2, 999, 2, by_layer},
    {1, 1, 10000, 2, as_it_is}, {15, 1, 10000, 2, as_it_is}, {2, 2, 10000, 1, by_layer}, {4, 3, 10000, 1, by_layer},
};

struct known_answer {
  std::string model;
  std::string data;
  std::string loss;
  std::uint64_t correct;
  double mean_loss;
  std::vector<std::uint64_t> correct_by_class;
};

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

/// `samples_max` leaves out what would take too long on a small machine; never for MNIST.
void check(const known_answer& known, const std::vector<layout>& layouts) {
  std::map<std::tuple<std::uint64_t, std::uint32_t, optimize_mode>, std::uint64_t> bits;
  for (const layout& each : layouts) {
    SCOPED_TRACE(::testing::Message() << each.stages << " stages, " << each.replicas << " replicas, micro-batch "
                                      << each.micro_batch << ", " << each.threads << " threads, optimize "
                                      << static_cast<int>(each.optimize));
    eval_options options;
    options.model = known.model;
    options.data = known.data;
    options.metrics = {"accuracy", "per_class_accuracy", known.loss};
    options.stages = each.stages;
    options.replicas = each.replicas;
    options.micro_batch = each.micro_batch;
    options.threads = each.threads;
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

TEST(known_answers, lenet_on_mnist) {
  const std::string mnist = (data_dir() / "mnist").string();
  check({mnist + "/lenet.pt",
         "mnist:" + mnist,
         "nll",
         9904,
         0.0303734,
         {972, 1134, 1028, 1003, 970, 879, 942, 1020, 960, 996}},
        cover);
}

TEST(known_answers, micro_batches_of_one) {
  const std::string mnist = (data_dir() / "mnist").string();
  check({mnist + "/lenet.pt",
         "mnist:" + mnist,
         "nll",
         9904,
         0.0303734,
         {972, 1134, 1028, 1003, 970, 879, 942, 1020, 960, 996}},
        {{1, 1, 1, 1, by_layer}, {2, 2, 1, 1, by_layer}, {3, 1, 1, 1, by_layer}});
}

TEST(known_answers, resnet20_on_cifar10) {
  if (full_data_dir().empty()) GTEST_SKIP() << "no full CIFAR-10 (TROUPE_DATA_DIR)";
  const std::string file = (full_data_dir() / "cifar10/test_batch.bin").string();
  check({(data_dir() / "cifar10/resnet20.pt").string(),
         "cifar10:" + file,
         "cross_entropy",
         8103,
         0.8787963,
         {748, 775, 680, 700, 905, 709, 873, 841, 929, 943}},
        {{2, 1, 64, 1, by_layer}, {15, 2, 64, 1, by_layer}, {4, 1, 999, 2, as_it_is}, {1, 1, 999, 2, as_it_is}});
}

}  // namespace
}  // namespace troupe::testing
