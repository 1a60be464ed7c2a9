#include "runtime/training/autograd_body.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"
#include "runtime/training/training_pass.hpp"

namespace troupe {
namespace {

/// What travels with a sum of gradients, in this order.
constexpr std::size_t tensors_of_statistics = 2;

draw_place place_of_draws(std::uint64_t seed, std::uint64_t step, const activation& input) {
  draw_place place{.seed = seed, .step = step};
  for (std::uint64_t row = 0; row < input.row_count(); ++row)
    place.samples.push_back(input.samples.begin + (input.rows ? (*input.rows)[row] : row));
  return place;
}

/// A tensor that is sent must not lie in the memory of what was received, which is free once it was worked off.
at::Tensor apart_from(const at::Tensor& made, const std::vector<at::Tensor>& received) {
  for (const at::Tensor& each : received) {
    if (each.defined() && made.is_alias_of(each)) return faithful_copy(made);
  }
  return made;
}

/// The gradients of the outputs: of those that are of a floating type, in their order.
std::vector<at::Tensor> spread(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& outputs) {
  std::vector<at::Tensor> made;
  made.reserve(outputs.size());
  std::size_t next = 0;
  for (const at::Tensor& each : outputs)
    made.push_back(each.is_floating_point() && next < gradients.size() ? gradients[next++] : at::Tensor());
  return made;
}

struct graph_ends {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> gradients;
};

graph_ends ends_of(const segment_record& segment, const std::vector<at::Tensor>& gradients) {
  graph_ends ends;
  if (segment.loss.defined()) {
    if (segment.loss.requires_grad()) return {{segment.loss}, {at::ones_like(segment.loss)}};
    throw untrainable("the loss follows from no weight that is trained",
                      "let the outputs follow from the weights: no detach(), no argmax(), no torch.no_grad()");
  }
  const std::vector<at::Tensor> by_output = spread(gradients, segment.outputs);
  for (std::size_t at = 0; at < segment.outputs.size(); ++at) {
    if (!segment.outputs[at].requires_grad() || !by_output[at].defined()) continue;
    ends.outputs.push_back(segment.outputs[at]);
    ends.gradients.push_back(by_output[at]);
  }
  return ends;
}

/// One for each input of a floating type; empty ones for those that have none.
std::vector<at::Tensor> gradients_of_inputs(const std::vector<at::Tensor>& inputs, std::span<const at::Tensor> made) {
  std::vector<at::Tensor> gradients;
  std::size_t next = 0;
  for (const at::Tensor& each : inputs) {
    if (!each.is_floating_point()) continue;
    if (!each.requires_grad()) {
      gradients.push_back(at::zeros({0}));
      continue;
    }
    const at::Tensor& one = made[next++];
    gradients.push_back(one.defined() ? one.detach() : at::zeros_like(each));
  }
  return gradients;
}

}  // namespace

autograd_body::autograd_body(std::unique_ptr<trained_part> part, std::unique_ptr<trained_parameters> state,
                             training_body_options options)
    : part_(std::move(part)),
      state_(std::move(state)),
      options_(std::move(options)),
      runner_(*part_, "stage " + std::to_string(options_.stage)) {
  TROUPE_CHECK(options_.threads >= 1, "thread counts are resolved before a stage is made");
  use_current_version();
}

void autograd_body::on_start() {
  set_threads_of_this_thread(options_.threads);
}

/// A segment has one place of a tied parameter at most, so that autograd gives the gradient of each place.
std::size_t autograd_body::end_of_segment(std::size_t begin) const {
  const auto& layers = part_->layers();
  const std::size_t interval = options_.recompute_interval;
  std::size_t end = layers.end;
  if (interval > 0) end = std::min(end, begin + interval - (begin - layers.begin) % interval);
  for (const tied_parameter& tie : part_->ties()) {
    for (std::size_t place = tie.begin + 1; place < tie.end; ++place) {
      if (tie.places[place] > begin) end = std::min(end, tie.places[place]);
    }
  }
  return end;
}

/// By parameter, the sum to which its gradient in the segment is added.
std::vector<std::size_t> autograd_body::sums_of(const segment_record& segment) const {
  std::vector<std::size_t> found(part_->parameters().size());
  std::iota(found.begin(), found.end(), std::size_t{0});
  for (std::size_t at = 0; at < part_->ties().size(); ++at) {
    const tied_parameter& tie = part_->ties()[at];
    for (std::size_t place = tie.begin; place < tie.end; ++place) {
      if (tie.places[place] < segment.begin || tie.places[place] >= segment.end) continue;
      found[tie.parameter] = state_->layout().sum_at(at, place);
    }
  }
  return found;
}

std::string autograd_body::where() const {
  return "stage " + std::to_string(options_.stage);
}

void autograd_body::use_current_version() {
  const at::NoGradGuard no_grad;
  std::size_t at = 0;
  for (const auto& [name, tensor] : part_->parameters()) at::Tensor(tensor).set_data(state_->weight(at++));
  at = 0;
  for (const auto& [name, tensor] : part_->buffers()) at::Tensor(tensor).copy_(state_->buffer(at++));
  runner_.note_buffers();
}

expected<void> autograd_body::forward(const activation& input, activation& output) {
  TROUPE_CHECK(live_.empty() || live_.back().id < input.id, "micro-batches come in the order of their ids");
  live_batch batch{.id = input.id, .input = input};
  if (input.tensors == nullptr || input.row_count() == 0) {
    output.tensors = nullptr;
  } else {
    std::vector<at::Tensor> values = TROUPE_TRY(part_->inputs_of(input.tensors, where()));
    TROUPE_TRY(compute(batch, std::move(values), output));
  }
  live_.push_back(std::move(batch));
  return {};
}

expected<void> autograd_body::compute(live_batch& batch, std::vector<at::Tensor> values, activation& output) {
  const at::AutoGradMode record(true);
  part_->set_training(true);
  const auto [begin, end, all] = part_->layers();
  const bool is_again = options_.recompute_interval > 0;
  const std::vector<at::Tensor> received = values;
  running_statistics seen;
  training_pass pass(place_of_draws(options_.seed, state_->step(), batch.input));
  at::Tensor loss_sum;
  for (std::size_t from = begin, to = begin; from < end; from = to) {
    to = end_of_segment(from);
    segment_record segment{.begin = from, .end = to};
    segment.inputs = leaves_of(values, part_->gradients_of(from, values.size()));
    segment.outputs = TROUPE_TRY(runner_.run(segment, pass, &seen));
    values.clear();
    for (const at::Tensor& each : segment.outputs) values.push_back(each.detach());
    if (segment.end == all) {
      pass.enter_layer(all);
      const auto outputs = std::make_shared<const tensor_set>(segment.outputs, part_->output_names());
      loss_terms loss = TROUPE_TRY(options_.loss.of(outputs, batch.input));
      segment.loss = loss.sum;
      batch.weight = loss.weight;
      loss_sum = loss.sum.detach().to(at::kCPU, at::kDouble).reshape({1});
    }
    if (is_again) {
      segment.outputs.clear();
      segment.loss.reset();
    }
    batch.segments.push_back(std::move(segment));
  }
  std::vector<std::string> names = part_->is_last() ? part_->output_names() : std::vector<std::string>{};
  for (at::Tensor& each : values) each = apart_from(each, received);
  if (part_->is_last()) {
    for (std::size_t at = names.size(); at < values.size(); ++at) names.push_back(at == 0 ? "" : std::to_string(at));
    names.insert(names.end(), {std::string(loss_sum_name), std::string(loss_weight_name)});
    values.insert(values.end(), {loss_sum, at::full({1}, batch.weight, at::kDouble)});
  }
  output.tensors = std::make_shared<const tensor_set>(std::move(values), std::move(names));
  statistics_.append(std::move(seen));
  return {};
}

expected<void> autograd_body::evaluate(const activation& input, activation& output) {
  output.tensors = nullptr;
  if (input.tensors == nullptr || input.row_count() == 0) return {};
  std::vector<at::Tensor> values = TROUPE_TRY(part_->inputs_of(input.tensors, where()));
  const std::vector<at::Tensor> received = values;
  const at::NoGradGuard no_grad;  // modules may keep what they compute, which InferenceMode would make useless
  part_->set_training(false);
  for (std::size_t layer = part_->layers().begin; layer < part_->layers().end; ++layer) {
    try {
      values = part_->run(layer, std::move(values), layer == part_->layers().begin);
    } catch (const std::exception& caught) {
      return runner_.failure(caught, layer, layer + 1, "forward", received);
    }
  }
  for (at::Tensor& each : values) each = apart_from(each.detach(), received);
  output.tensors = std::make_shared<const tensor_set>(
      std::move(values), part_->is_last() ? part_->output_names() : std::vector<std::string>{});
  return {};
}

expected<payload_ptr> autograd_body::backward(micro_batch_id id, const payload_ptr& gradient) {
  TROUPE_CHECK(!live_.empty() && live_.front().id == id, "backward passes come in the order of the forward passes");
  live_batch& batch = live_.front();
  if (batch.segments.empty()) {
    live_.pop_front();
    return payload_ptr();
  }
  std::vector<at::Tensor> back = TROUPE_TRY(run_back(batch, gradient));
  weight_ += batch.weight;
  live_.pop_front();
  if (part_->is_first()) return payload_ptr();
  return std::make_shared<const tensor_set>(std::move(back));
}

expected<std::vector<at::Tensor>> autograd_body::run_back(live_batch& batch, const payload_ptr& gradient) {
  const at::AutoGradMode record(true);
  part_->set_training(true);
  std::vector<at::Tensor> received;
  if (gradient != nullptr) received = leaves_of(as_tensors(gradient).tensors());
  std::vector<at::Tensor> gradients = received;
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : part_->parameters()) parameters.push_back(tensor);
  std::vector<at::Tensor> sums(state_->layout().sums().size());
  while (!batch.segments.empty()) {
    segment_record segment = std::move(batch.segments.back());
    batch.segments.pop_back();
    try {
      if (segment.outputs.empty()) {
        training_pass pass(place_of_draws(options_.seed, state_->step(), batch.input));
        segment.outputs = TROUPE_TRY(runner_.run(segment, pass, nullptr));
        if (segment.end == part_->layers().of) {
          pass.enter_layer(segment.end);
          const auto outputs = std::make_shared<const tensor_set>(segment.outputs, part_->output_names());
          segment.loss = TROUPE_TRY(options_.loss.of(outputs, batch.input)).sum;
        }
      }
      std::vector<at::Tensor> wanted = parameters;
      for (const at::Tensor& each : segment.inputs) {
        if (each.requires_grad()) wanted.push_back(each);
      }
      graph_ends ends = ends_of(segment, gradients);
      std::vector<at::Tensor> made(wanted.size());
      segment.outputs.clear();
      if (!ends.outputs.empty() && !wanted.empty())
        made = torch::autograd::grad(ends.outputs, wanted, ends.gradients, false, false, true);
      const std::vector<std::size_t> into = sums_of(segment);
      for (std::size_t at = 0; at < parameters.size(); ++at) {
        if (!made[at].defined()) continue;
        if (made[at].is_sparse()) made[at] = made[at].to_dense();
        at::Tensor& sum = sums[into[at]];
        sum = sum.defined() ? sum.add(made[at]) : made[at];
      }
      gradients = gradients_of_inputs(segment.inputs, std::span(made).subspan(parameters.size()));
    } catch (const std::exception& caught) {
      return runner_.failure(caught, segment.begin, segment.end, "the backward pass", {});
    }
  }
  state_->add_gradient(batch.id.index / options_.replicas, batch.id, sums);
  for (at::Tensor& each : gradients) each = apart_from(each, received);
  return gradients;
}

expected<payload_ptr> autograd_body::sum_of_gradients() {
  const payload_ptr sum = state_->sum();
  if (sum == nullptr) return sum;
  std::vector<at::Tensor> tensors = as_tensors(sum).tensors();
  for (at::Tensor& each : statistics_.packed()) tensors.push_back(std::move(each));
  return std::make_shared<const tensor_set>(std::move(tensors));
}

expected<payload_ptr> autograd_body::tied_sums() {
  return state_->tied_sums();
}

expected<void> autograd_body::finish(call_number call, std::span<const payload_ptr> sums,
                                     std::span<const payload_ptr> tied, step_vote& into) {
  std::vector<at::Tensor> buffers;
  for (std::size_t at = 0; at < part_->buffers().size(); ++at) buffers.push_back(state_->buffer(at));
  std::vector<payload_ptr> gradients;
  running_statistics all;
  for (const payload_ptr& each : sums) {
    if (each == nullptr) {
      gradients.push_back(nullptr);
      continue;
    }
    const std::vector<at::Tensor>& tensors = as_tensors(each).tensors();
    if (tensors.size() <= tensors_of_statistics) {
      return fail(error_code::wire_malformed, where(), "the sum of another replica has no statistics",
                  "run the same program on all hosts");
    }
    const auto cut = tensors.end() - tensors_of_statistics;
    TROUPE_TRY(all.add_packed(std::span(cut, tensors.end()), buffers));
    gradients.push_back(std::make_shared<const tensor_set>(std::vector<at::Tensor>(tensors.begin(), cut)));
  }
  const running_statistics& seen = sums.empty() ? statistics_ : all;
  if (!seen.empty()) buffers = seen.folded_into(buffers);
  TROUPE_TRY(state_->finish(call, gradients, tied, seen.empty() ? std::vector<at::Tensor>() : buffers, into));
  into.weight = part_->is_last() ? weight_ : 0;
  statistics_.clear();
  weight_ = 0;
  return {};
}

expected<void> autograd_body::apply(const step_decision& decision) {
  TROUPE_TRY(state_->apply(decision));
  use_current_version();
  return {};
}

void autograd_body::drop() noexcept {
  live_.clear();
  statistics_.clear();
  weight_ = 0;
  state_->drop();
}

}  // namespace troupe
