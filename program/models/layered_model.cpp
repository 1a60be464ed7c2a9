#include "program/models/layered_model.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "messages/try.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/code_layers.hpp"
#include "runtime/model/graph_body.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/random_code.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/rewrite/bit_dependence.hpp"
#include "runtime/rewrite/needed_weights.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {
namespace {

layered_graph_ptr bound(operator_graph graph, const std::set<std::string>& given, layer_unit unit) {
  graph.graph = graph.graph->copy();
  bind_inputs(graph, given);
  return std::make_shared<const layered_graph>(std::move(graph), unit);
}

graph_values copies(const graph_values& values) {
  graph_values made;
  for (const at::Tensor& each : values) made.push_back(faithful_copy(each));
  return made;
}

}  // namespace

layered_model::layered_model(operator_graph graph, layer_unit unit) : unit_(unit), plain_(bound(graph, {}, unit)) {
  const bool has_choice =
      std::ranges::any_of(graph.inputs, [](const graph_input& each) { return each.otherwise.has_value(); });
  if (has_choice) unbound_ = std::move(graph);
}

void layered_model::bind(const std::set<std::string>& given) {
  if (!unbound_) return;
  std::set<std::string> chosen;
  for (const graph_input& each : unbound_->inputs) {
    if (each.otherwise && given.contains(each.name)) chosen.insert(each.name);
  }
  if (chosen == bound_) return;
  bound_ = std::move(chosen);
  plain_ = bound(*unbound_, bound_, unit_);
  rewritten_.reset();
}

expected<graph_values> layered_model::inputs_from(const payload_ptr& data) const {
  auto inputs = inputs_by_name(plain_->model().inputs, data, name());
  if (inputs) return inputs;
  std::string left;
  for (const std::string& each : absent_inputs()) left += (left.empty() ? "\"" : ", \"") + each + "\"";
  if (!left.empty()) inputs.error().cause += "; it can also take " + left;
  return inputs;
}

std::vector<std::string> layered_model::absent_inputs() const {
  std::vector<std::string> left;
  if (!unbound_) return left;
  for (const graph_input& each : unbound_->inputs) {
    if (each.otherwise && !bound_.contains(each.name)) left.push_back(each.name);
  }
  return left;
}

std::vector<layer_weight> layered_model::weights() const {
  const std::vector<torch::jit::Node*> steps = steps_of(*plain_->model().graph);
  std::vector<layer_weight> made;
  for (const graph_layer& each : layers()) {
    layer_weight weight{.type_name = each.type, .parameters = each.trainable};
    for (std::size_t step = each.begin; step < each.end; ++step)
      weight.parameters += trainable_of_code_layer(*steps[step]).value_or(0);
    if (const auto why = running().objection(made.size()); why && !made.empty()) weight.joined_because = *why;
    made.push_back(std::move(weight));
  }
  return made;
}

std::vector<at::Tensor> layered_model::tensors() const {
  std::vector<at::Tensor> all;
  const auto see = [&](const at::Tensor& one) {
    if (plain_->model().weights.find(one) != nullptr) all.push_back(one);
  };
  for (const torch::jit::Node* step : steps_of(*plain_->model().graph)) each_constant(*step, see);
  if (!has_code_layers(plain_->model())) return all;
  for (const graph_weight& each : plain_->model().weights) all.push_back(each.tensor);
  return all;
}

expected<std::vector<passing_values>> layered_model::probe(const graph_values& micro_batch,
                                                           const std::stop_token& stop) const {
  const bool has_more = micro_batch.front().dim() > 0 && micro_batch.front().size(0) > 1;
  return probe_layers(*plain_, first_rows(micro_batch, 1), stop,
                      has_more ? first_rows(micro_batch, 2) : graph_values());
}

std::vector<layer_finding> layered_model::random_code() const {
  std::vector<layer_finding> found;
  for (std::size_t layer = 0; layer < layers().size(); ++layer) {
    if (auto random = find_random(*plain_, layer))
      found.push_back({layer, layer_text(layer, layers()[layer]), std::move(*random)});
  }
  return found;
}

expected<std::vector<layer_finding>> layered_model::unrepeatable(const graph_values& sample,
                                                                 const std::stop_token& stop) const {
  const c10::InferenceMode inference;
  std::vector<layer_finding> found;
  graph_values values = sample;
  for (std::size_t layer = 0; layer < layers().size(); ++layer) {
    if (stop.stop_requested()) return stopped_early(name());
    try {
      const graph_code code(plain_->part(layer, layer + 1));
      // it may give what it keeps, and write that again
      graph_values first = copies(code.run(copies(values)));
      if (!std::ranges::equal(first, code.run(copies(values)), are_same_bits))
        found.push_back(
            {layer, layer_text(layer, layers()[layer]), "gave other bits when it got the same input a second time"});
      values = std::move(first);
    } catch (const std::exception&) {
      break;
    }
  }
  return found;
}

void layered_model::optimize(bool is_for_device) {
  if (rewritten_) return;
  operator_graph graph = plain_->copy();
  rewrite_graph(graph, is_for_device ? rewrite_target::device : rewrite_target::cpu);
  rewritten_ = std::make_shared<const layered_graph>(std::move(graph), *plain_);
}

std::optional<std::string> layered_model::difference(const graph_values& sample) const {
  if (!rewritten_) return std::nullopt;
  const c10::InferenceMode inference;
  graph_values plain;
  try {
    plain = graph_code(plain_->part(0, layers().size())).run(copies(sample));
  } catch (const std::exception&) {
    return std::nullopt;  // the run reports it
  }
  try {
    const graph_values given = graph_code(rewritten_->part(0, layers().size())).run(copies(sample));
    for (std::size_t at = 0; at < plain.size(); ++at) {
      if (auto found = difference_of(given.at(at), plain[at])) return found;
    }
    return std::nullopt;
  } catch (const std::exception& caught) {
    return "it fails: " + libtorch_message(caught);
  }
}

std::string layered_model::bit_dependence(std::uint32_t threads, const graph_values& sample) const {
  std::string found = find_bit_dependence(running().model(), threads, layer_of_step);
  if (found != "nothing" || sample.empty()) return found;
  const c10::InferenceMode inference;
  try {
    const graph_code code(running().part(0, layers().size()));
    const graph_values together = code.run(copies(sample));
    const graph_values alone = code.run(copies(first_rows(sample, 1)));
    if (!std::ranges::equal(first_rows(together, 1), alone, are_same_bits))
      return "the micro-batch size (a sample alone has other bits than among others)";
    if (threads == 1) return found;
    set_threads_of_this_thread(1);
    const graph_values at_one_thread = code.run(copies(first_rows(sample, 1)));
    set_threads_of_this_thread(threads);
    return std::ranges::equal(alone, at_one_thread, are_same_bits)
               ? found
               : "the number of threads (a sample alone has other bits on one thread)";
  } catch (const std::exception&) {
    set_threads_of_this_thread(threads);
    return found;  // the run reports it
  }
}

expected<std::vector<double>> layered_model::time_layers(const graph_values& micro_batch, std::uint32_t threads,
                                                         const std::stop_token& stop,
                                                         std::chrono::milliseconds budget) const {
  return profile_layers(running(), micro_batch, threads, stop, budget);
}

expected<std::vector<graph_values>> layered_model::inputs_of(const std::vector<std::size_t>& boundaries,
                                                             const graph_values& micro_batch,
                                                             const std::stop_token& stop) const {
  return inputs_of_parts(running(), boundaries, micro_batch, stop);
}

bool layered_model::lacks_weights(std::size_t begin, std::size_t end) const {
  return troupe::lacks_weights(*running().part(begin, end).graph);
}

expected<std::shared_ptr<stage_body>> layered_model::make_body(std::size_t begin, std::size_t end,
                                                               const part_options& options) const {
  const layered_graph& graph = running();
  graph_part part = graph.part(begin, end, options.device);
  TROUPE_TRY(move_code_layers(*part.graph, options.device));
  graph_body_options how{.stage = options.stage, .threads = options.threads, .warm_up = options.warm_up};
  for (at::Tensor& each : how.warm_up) each = each.to(options.device);
  if (begin == 0) {
    how.arguments = graph.model().inputs;
    how.absent = absent_inputs();
  }
  if (end == layers().size()) how.outputs = graph.model().outputs;
  return std::make_shared<graph_body>(std::move(part), std::move(how));
}

}  // namespace troupe
