#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/compare/paired.hpp"
#include <troupe/evaluator.hpp>

namespace troupe {

struct compare_request {
  /// Of all models; the model itself stands in `models`.
  eval_options options = {};
  /// Files or folders, at least two: in place of options.weights, where options.arch or options.model says what they
  /// are weights of, else of options.model.
  std::vector<std::string> models = {};
  std::uint64_t resamples = 1000;
  std::uint64_t seed = 0;
  double confidence = 0.95;
};

/// One metric of a model against that of the first model.
struct metric_difference {
  std::string metric = {};
  /// The model's value less the first model's.
  double difference = 0;
  /// Nothing where the metric keeps too much of a sample (sample_words_max), or says nothing of one sample.
  std::optional<bootstrap_interval> interval = std::nullopt;
  /// For the shares of right samples (accuracy, topK): samples that the first model, or this one, alone has right.
  struct mcnemar {
    std::uint64_t only_first = 0;
    std::uint64_t only_this = 0;
    double p = 0;
  };
  std::optional<mcnemar> test = std::nullopt;
};

struct comparison {
  /// With a sink for each model, which has the metrics as if the model ran alone.
  run_result result = {};
  /// By model, from the second on; then by metric. Empty where the result is partial.
  std::vector<std::vector<metric_difference>> differences = {};
};

/// More is not kept of a sample for one metric, in words of 64 bits; and of all samples of a micro-batch for all
/// metrics.
inline constexpr std::size_t sample_words_max = 128;
inline constexpr std::size_t batch_words_max = std::size_t{1} << 19;

/// Several models on the same samples, in one pass over the data: one loader, and for each model a pipeline and a sink.
class model_comparison {
 public:
  /// Opens the data. Errors: open_data(), make_metric().
  [[nodiscard]] static expected<model_comparison> create(compare_request asked);

  /// For an evaluator. The pipelines are "model1", "model2" and so on, as the sinks.
  [[nodiscard]] const topology& what() const noexcept { return topology_; }
  /// From the result of that evaluator.
  [[nodiscard]] comparison judge(run_result result) const;

 private:
  struct metric_entry {
    metric_ptr metric;
    /// Whether its states are kept of each sample.
    bool is_kept = false;
  };
  model_comparison(compare_request asked, std::vector<metric_entry> metrics, topology what)
      : asked_(std::move(asked)), metrics_(std::move(metrics)), topology_(std::move(what)) {}

  compare_request asked_;
  std::vector<metric_entry> metrics_;
  topology topology_;
};

}  // namespace troupe
