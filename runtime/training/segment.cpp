#include "runtime/training/segment.hpp"

#include <ATen/core/grad_mode.h>

#include "messages/try.hpp"
#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

/// It is added to in each pass of a batch normalisation.
bool is_counter(const std::string& name, const at::Tensor& tensor) {
  constexpr std::string_view counter = "num_batches_tracked";
  return name.ends_with(counter) && tensor.scalar_type() == at::kLong && tensor.numel() == 1;
}

constexpr auto pass_fix =
    "check that the model trains on such an input outside of the pipeline; if memory ran out, use a smaller "
    "--micro-batch";

}  // namespace

segment_runner::segment_runner(trained_part& part, std::string place) : part_(&part), place_(std::move(place)) {
  for (const auto& [name, tensor] : part.buffers()) {
    by_tensor_.emplace(tensor.unsafeGetTensorImpl(), buffers_.size());
    buffers_.push_back({.name = name, .tensor = tensor, .is_counter = is_counter(name, tensor)});
  }
}

void segment_runner::note_buffers() {
  const at::NoGradGuard no_grad;
  for (buffer_state& each : buffers_) {
    if (each.is_counter) each.tensor.fill_(training_pass::tracked_from);
    each.version = each.tensor._version();
  }
}

expected<std::vector<at::Tensor>> segment_runner::run(const segment_record& segment, training_pass& pass,
                                                      running_statistics* statistics) {
  read_counters(nullptr);  // what a pass has left that failed
  std::vector<at::Tensor> values = segment.inputs;
  const std::size_t seen_before = pass.statistics().size();
  for (std::size_t layer = segment.begin; layer < segment.end; ++layer) {
    pass.enter_layer(layer);
    try {
      values = part_->run(layer, std::move(values), layer == segment.begin);
    } catch (const std::exception& caught) {
      return failure(caught, layer, layer + 1, "forward", segment.inputs);
    }
  }
  for (std::size_t at = seen_before; statistics != nullptr && at < pass.statistics().size(); ++at) {
    const seen_statistics& seen = pass.statistics()[at];
    const auto mean = by_tensor_.find(seen.running_mean);
    const auto var = by_tensor_.find(seen.running_var);
    if (mean == by_tensor_.end() || var == by_tensor_.end()) continue;
    statistics->add_mean(mean->second, seen.momentum, seen.mean);
    statistics->add_variance(var->second, seen.momentum, seen.var);
  }
  read_counters(statistics);
  TROUPE_TRY(check_buffers());
  return values;
}

void segment_runner::read_counters(running_statistics* statistics) {
  const at::NoGradGuard no_grad;
  for (std::size_t at = 0; at < buffers_.size(); ++at) {
    buffer_state& each = buffers_[at];
    if (!each.is_counter || each.tensor._version() == each.version) continue;
    const auto count = each.tensor.item<std::int64_t>() - training_pass::tracked_from;
    each.tensor.fill_(training_pass::tracked_from);
    each.version = each.tensor._version();
    if (statistics != nullptr) statistics->add_count(at, static_cast<double>(count));
  }
}

expected<void> segment_runner::check_buffers() const {
  for (const buffer_state& each : buffers_) {
    if (each.tensor._version() == each.version) continue;
    return fail(error_code::forward_failed, place_,
                "the forward pass of a layer writes its own buffer \"" + each.name +
                    "\": a step that is computed again would begin with another value",
                "let the layer compute it anew in each pass, or give it as an input; running statistics of "
                "torch::nn::BatchNorm alone are kept");
  }
  return {};
}

tl::unexpected<error> segment_runner::failure(const std::exception& caught, std::size_t begin, std::size_t end,
                                              const char* pass, const std::vector<at::Tensor>& inputs) const {
  std::string where = place_ + ", " + part_->name_of(begin);
  if (end > begin + 1) where += " to " + part_->name_of(end - 1);
  const auto* const refused = dynamic_cast<const untrainable*>(&caught);
  if (refused != nullptr) return fail(error_code::forward_failed, where, refused->what(), refused->fix());
  return fail(error_code::forward_failed, where, std::string(pass) + " failed: " + libtorch_message(caught),
              libtorch_fix(caught, pass_fix, {.input = inputs.size() == 1 ? inputs.front() : at::Tensor()}));
}

std::vector<at::Tensor> leaves_of(const std::vector<at::Tensor>& values, const std::vector<bool>& gradients) {
  std::vector<at::Tensor> leaves;
  leaves.reserve(values.size());
  for (const at::Tensor& each : values) {
    // autograd keeps no tensors that were made under InferenceMode
    at::Tensor leaf = each.is_inference() ? each.clone() : each.detach();
    const bool has_gradient = leaves.size() < gradients.size() && gradients[leaves.size()];
    if (has_gradient && leaf.is_floating_point()) leaf.requires_grad_();
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

}  // namespace troupe
