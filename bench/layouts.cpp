#include "layouts.hpp"

#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/metric.hpp>

namespace troupe::bench {
namespace {

constexpr std::uint32_t stages_max = 15;
constexpr std::uint32_t replicas_max = 3;

struct known_answer {
  std::string model;
  std::string model_file;
  std::string data;
  std::string loss;
  std::uint64_t correct = 0;
};

struct outcome {
  std::uint64_t correct = 0;
  std::uint64_t loss_bits = 0;
};

struct tally {
  std::uint64_t layouts = 0;
  std::uint64_t mismatches = 0;
};

const metric_value::field* find(const run_result& result, const std::string& metric, const std::string& field) {
  for (const metric_value& value : result.metrics) {
    if (value.name != metric) continue;
    for (const auto& one : value.fields) {
      if (one.name == field) return &one;
    }
  }
  return nullptr;
}

expected<outcome> evaluate(const known_answer& known, const eval_options& options) {
  auto made = evaluator::create(options, {});
  if (!made) return tl::make_unexpected(made.error());
  const auto result = (*made)->run();
  if (!result) return tl::make_unexpected(result.error());
  const auto* correct = find(*result, "accuracy", "correct");
  const auto* sum = find(*result, known.loss, "sum");
  if (correct == nullptr || sum == nullptr || result->partial || result->delivery.lost > 0) {
    return fail(error_code::internal, known.model, "the result is not whole");
  }
  return outcome{correct->counts.front(), std::bit_cast<std::uint64_t>(sum->reals.front())};
}

/// All stages and replicas of one micro-batch size and thread count: their loss sums have one value.
void check_group(const known_answer& known, std::uint64_t micro_batch, std::uint32_t threads, tally& into) {
  std::optional<std::uint64_t> bits;
  for (std::uint32_t stages = 1; stages <= stages_max; ++stages) {
    for (std::uint32_t replicas = 1; replicas <= replicas_max; ++replicas) {
      eval_options options;
      options.model = known.model_file;
      options.data = known.data;
      options.metrics = {"accuracy", known.loss};
      options.stages = stages;
      options.replicas = replicas;
      options.run.micro_batch = micro_batch;
      options.run.threads = threads;
      options.partition = "uniform";
      const auto got = evaluate(known, options);
      ++into.layouts;
      if (got && !bits) bits = got->loss_bits;
      if (got && got->correct == known.correct && got->loss_bits == *bits) continue;
      ++into.mismatches;
      fmt::print(stderr, "mismatch: {}, micro-batch {}, threads {}, stages {}, replicas {}: {}\n", known.model,
                 micro_batch, threads, stages, replicas,
                 got ? fmt::format("{} correct, loss bits {:016x}; expected {} and {:016x}", got->correct,
                                   got->loss_bits, known.correct, *bits)
                     : to_string(got.error()));
    }
  }
  fmt::print(stderr, "{}: micro-batch {}, threads {} done; {} layouts so far, {} mismatches\n", known.model,
             micro_batch, threads, into.layouts, into.mismatches);
}

std::vector<known_answer> known_answers() {
  const std::string mnist = (testing::data_dir() / "mnist").string();
  std::vector<known_answer> all = {{"lenet", mnist + "/lenet.pt", "mnist:" + mnist, "nll", 9904}};
  const std::filesystem::path full = testing::full_data_dir() / "cifar10/test_batch.bin";
  if (std::filesystem::exists(full)) {
    all.push_back({"resnet20", (testing::data_dir() / "cifar10/resnet20.pt").string(), "cifar10:" + full.string(),
                   "cross_entropy", 8103});
  } else {
    fmt::print(stderr, "resnet20 skipped: no full CIFAR-10 file (TROUPE_DATA_DIR)\n");
  }
  return all;
}

}  // namespace

bool check_all_layouts(const std::vector<std::string>& models) {
  tally total;
  for (const known_answer& known : known_answers()) {
    if (!models.empty() && std::ranges::find(models, known.model) == models.end()) continue;
    for (const std::uint64_t micro_batch : {64, 999, 10000, 7, 1}) {
      for (const std::uint32_t threads : {1U, 2U}) check_group(known, micro_batch, threads, total);
    }
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"layouts", total.layouts}, {"mismatches", total.mismatches}}.dump());
  return total.layouts > 0 && total.mismatches == 0;
}

}  // namespace troupe::bench
