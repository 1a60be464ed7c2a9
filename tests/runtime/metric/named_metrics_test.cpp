// Goal: every metric with its options gives what its definition says, also for odd inputs: ties, NaN, infinities, a
// class without samples, one sample, all ignored, half types, any strides. Method: values of scikit-learn,
// torchmetrics, scipy and torch in float64, recorded by recorded/record_named.py, which names their versions; in
// several cuts into micro-batches.
#include <bit>
#include <map>

#include <gtest/gtest.h>

#include "runtime/metric/metric_settings.hpp"
#include "runtime/metric/metric_table.hpp"
#include "tests/runtime/metric/recorded_values.hpp"

namespace troupe {
namespace {

using nlohmann::json;

at::Tensor tensor_of(const json& numbers, const json& shape) {
  std::vector<double> values;
  for (const json& each : numbers) values.push_back(number(each));
  return at::tensor(values, at::kDouble).view(shape.get<std::vector<std::int64_t>>());
}

struct recorded_case {
  at::Tensor outputs;
  named_tensors labels;
  scored_names names;
  std::uint32_t classes = 0;
  std::vector<std::string> metric_names;
  std::vector<metric_ptr> metrics;
};

recorded_case read(const json& one) {
  recorded_case made;
  made.outputs = tensor_of(one["outputs"], one["shape"]).to(type_of(one["dtype"]));
  const bool are_counts = one["label_type"] == "int64";
  made.labels.set("label", tensor_of(one["labels"], one["label_shape"]).to(are_counts ? at::kLong : at::kFloat));
  if (one.contains("bytes")) {
    made.labels.set("bytes", at::tensor(one["bytes"].get<std::vector<std::int64_t>>(), at::kLong));
    made.names.label = "label";
  }
  made.classes = one["classes"].get<std::uint32_t>();
  for (const auto& [name, fields] : one["metrics"].items()) {
    made.metric_names.push_back(name);
    made.metrics.push_back(get(make_metric(name, made.classes)));
  }
  return made;
}

void expect_metrics(const json& one, const recorded_case& has, const at::Tensor& outputs, std::int64_t micro_batch) {
  const evaluated found = evaluate(has.metrics, outputs, has.labels, micro_batch, has.names);
  for (std::size_t m = 0; m < has.metrics.size(); ++m) {
    for (const auto& [field, wanted] : one["metrics"][has.metric_names[m]].items()) {
      expect_field(found.values[m], field, wanted);
    }
  }
}

TEST(named_metrics, equal_their_definitions) {
  for (const json& one : recorded("named.json")["cases"]) {
    const recorded_case has = read(one);
    const std::int64_t samples = has.outputs.size(0);
    for (const std::int64_t micro_batch : {std::int64_t{1}, std::int64_t{5}, samples}) {
      SCOPED_TRACE(one["name"].get<std::string>() + ", micro-batch " + std::to_string(micro_batch));
      expect_metrics(one, has, has.outputs, micro_batch);
    }
    // The same numbers with every second one of memory, the last dimension first.
    const at::Tensor spread = at::stack({has.outputs, has.outputs}, -1).select(-1, 1);
    const at::Tensor turned = spread.dim() == 1 ? spread : spread.transpose(0, -1).contiguous().transpose(0, -1);
    SCOPED_TRACE(one["name"].get<std::string>() + ", strides");
    expect_metrics(one, has, spread, samples);
    expect_metrics(one, has, turned, 3);
  }
}

TEST(named_metrics, that_are_computed_from_counts_and_rows_have_equal_bits_for_every_cut) {
  for (const json& one : recorded("named.json")["cases"]) {
    const recorded_case has = read(one);
    const evaluated whole = evaluate(has.metrics, has.outputs, has.labels, has.outputs.size(0), has.names);
    for (const std::int64_t micro_batch : {1, 2, 7}) {
      const evaluated cut = evaluate(has.metrics, has.outputs, has.labels, micro_batch, has.names);
      for (std::size_t m = 0; m < has.metrics.size(); ++m) {
        const std::string name = has.metric_names[m];
        for (const char* kind : {"auroc", "average_precision", "mean_average_precision", "spearman", "f1", "precision",
                                 "cohen_kappa", "matthews", "token_accuracy", "hamming_loss"}) {
          if (base_name(name) != kind) continue;
          for (std::size_t f = 0; f < whole.values[m].fields.size(); ++f) {
            const metric_value::field& a = whole.values[m].fields[f];
            const metric_value::field& b = cut.values[m].fields[f];
            ASSERT_EQ(a.counts, b.counts) << name << "." << a.name;
            ASSERT_EQ(a.reals.size(), b.reals.size()) << name << "." << a.name;
            for (std::size_t i = 0; i < a.reals.size(); ++i) {
              EXPECT_EQ(std::bit_cast<std::uint64_t>(a.reals[i]), std::bit_cast<std::uint64_t>(b.reals[i]))
                  << name << "." << a.name;
            }
          }
        }
      }
    }
  }
}

TEST(named_metrics, are_all_recorded) {
  std::map<std::string, int> tried;
  std::map<std::string, int> options;
  for (const char* file : {"metrics.json", "named.json"}) {
    for (const json& one : recorded(file)["cases"]) {
      for (const auto& [name, fields] : one["metrics"].items()) {
        ++tried[name.starts_with("top") ? "topK" : std::string(base_name(name))];
        for (const metric_setting& each : metric_settings_known) {
          if (name.find(":" + std::string(each.name) + "=") != std::string::npos) ++options[std::string(each.name)];
        }
      }
    }
  }
  for (const std::string& name : metric_names()) {
    if (name == "squad") continue;                                             // tests/cli/questions_test.cpp
    if (name == "multiple_choice" || name == "sentence_similarity") continue;  // text_metrics_test.cpp
    EXPECT_GE(tried[name], 8) << name << " is recorded";
  }
  for (const metric_setting& each : metric_settings_known) {
    if (each.name == "bytes") continue;  // a name has no value of its own
    EXPECT_GE(options[std::string(each.name)], 4) << each.name << " is recorded";
  }
}

}  // namespace
}  // namespace troupe
