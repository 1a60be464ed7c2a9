#include "evaluate_model.hpp"

#include <stdexcept>

#include <ATen/Parallel.h>
#include <torch/csrc/jit/serialization/import.h>

#include "runtime/data/data_set_source.hpp"
#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe::testing {

std::vector<metric_value> evaluate_model(const std::string& model, const std::string& data, std::uint64_t micro_batch,
                                         const std::vector<std::string>& metrics) {
  torch::jit::Module module = torch::jit::load(model);
  module.eval();
  const c10::InferenceMode inference;
  // Two threads that wait for each other take many times as long on a machine that has other work too.
  at::set_num_threads(1);
  const data_set_ptr set = open_data(data).value();
  std::vector<metric_ptr> made;
  for (const std::string& name : metrics) made.push_back(make_metric(name, set->classes()).value());
  data_set_source source(set, micro_batch);
  metric_scorer scorer(made);
  metric_fold fold(made);
  for (std::uint64_t index = 0; auto loaded = source.next().value(); ++index) {
    const activation input{{0, index}, loaded->samples, loaded->tensors, loaded->labels};
    const at::Tensor outputs = module.forward({as_tensors(loaded->tensors).single()}).toTensor();
    score part;
    part.id = input.id;
    expected<void> done = scorer.evaluate(make_tensors(outputs), input, part);
    if (done) done = fold.fold(part);
    if (!done) throw std::runtime_error(to_string(done.error()));
  }
  return get(fold.compute());
}

const metric_value::field& field_of(const std::vector<metric_value>& values, const std::string& metric,
                                    const std::string& field) {
  for (const metric_value& value : values) {
    if (value.name != metric) continue;
    for (const metric_value::field& f : value.fields) {
      if (f.name == field) return f;
    }
  }
  throw std::runtime_error("no " + metric + "." + field);
}

}  // namespace troupe::testing
