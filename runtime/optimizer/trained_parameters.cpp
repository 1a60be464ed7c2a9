#include "runtime/optimizer/trained_parameters.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <ATen/Functions.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/kernel/update_kernels.hpp"
#include "runtime/optimizer/finish_blocks.hpp"
#include "runtime/optimizer/parameter_blocks.hpp"
#include "runtime/optimizer/tied_sums.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

at::Tensor view_of(const stored_tensor& tensor, std::byte* section) {
  return at::from_blob(section + tensor.offset, tensor.sizes, at::TensorOptions(tensor.type));
}

std::vector<at::Tensor> views_of(const std::vector<stored_tensor>& tensors, std::byte* section) {
  std::vector<at::Tensor> views;
  views.reserve(tensors.size());
  for (const stored_tensor& each : tensors) views.push_back(view_of(each, section));
  return views;
}

void write_values(const std::vector<stored_tensor>& tensors, std::byte* section, std::span<const at::Tensor> values) {
  TROUPE_CHECK(values.size() == tensors.size(), "there is a value for each tensor of the layout");
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const stored_tensor& tensor = tensors[index];
    const at::Tensor value = values[index].contiguous();
    TROUPE_CHECK(value.sizes() == tensor.sizes && value.scalar_type() == tensor.type && value.is_cpu(),
                 "a value has shape and type of the layout, and lies on the CPU");
    if (tensor.elements > 0) std::memcpy(section + tensor.offset, value.const_data_ptr(), tensor.bytes());
  }
}

std::vector<at::Tensor> values_of(const named_tensors& tensors) {
  std::vector<at::Tensor> values;
  for (const auto& [name, tensor] : tensors) values.push_back(tensor);
  return values;
}

}  // namespace

trained_parameters::trained_parameters(parameter_memory memory)
    : memory_(std::move(memory)), blocks_(blocks_of(memory_.layout().parameters())), tree_(memory_.layout()) {
  for (std::size_t half = 0; half < halves_.size(); ++half) {
    std::byte* const begin = memory_.half(half);
    halves_[half].weights = views_of(layout().parameters(), begin);
    halves_[half].buffers = views_of(layout().buffers(), begin + layout().buffers_begin());
    for (std::size_t moment = 0; moment < layout().moments(); ++moment) {
      halves_[half].moments.push_back(views_of(layout().parameters(), begin + layout().moment_begin(moment)));
    }
  }
  gradients_ = views_of(layout().parameters(), memory_.gradient());
}

expected<std::unique_ptr<trained_parameters>> trained_parameters::create(parameter_layout layout,
                                                                         const named_tensors& parameters,
                                                                         const named_tensors& buffers,
                                                                         std::span<std::byte> memory, bool protects) {
  parameter_memory made = TROUPE_TRY(parameter_memory::fresh(std::move(layout), memory, protects));
  write_values(made.layout().parameters(), made.half(0), values_of(parameters));
  write_values(made.layout().buffers(), made.half(0) + made.layout().buffers_begin(), values_of(buffers));
  made.publish();
  return std::unique_ptr<trained_parameters>(new trained_parameters(std::move(made)));
}

expected<std::unique_ptr<trained_parameters>> trained_parameters::adopt(parameter_layout layout,
                                                                        std::span<std::byte> memory, bool protects) {
  parameter_memory made = TROUPE_TRY(parameter_memory::adopt(std::move(layout), memory, protects));
  return std::unique_ptr<trained_parameters>(new trained_parameters(std::move(made)));
}

std::optional<call_number> trained_parameters::finished_call() const noexcept {
  const std::optional<call_number> finished = memory_.finished();
  return finished && (!decided_call() || *finished > *decided_call()) ? finished : std::nullopt;
}

void trained_parameters::add_gradient(std::uint64_t leaf, micro_batch_id id, std::span<const at::Tensor> gradients) {
  tree_.add(leaf, id, gradients);
}

payload_ptr trained_parameters::sum() {
  const at::Tensor all = tree_.give();
  return all.defined() ? make_tensors(all) : nullptr;
}

payload_ptr trained_parameters::tied_sums() {
  return pack_tied_sums(layout(), tree_.sum());
}

void trained_parameters::drop() noexcept {
  tree_.clear();
}

expected<void> trained_parameters::finish(call_number call, std::span<const payload_ptr> sums,
                                          std::span<const payload_ptr> tied, std::span<const at::Tensor> buffers,
                                          step_vote& into) {
  std::vector<const std::byte*> pieces;
  if (sums.empty()) {
    const at::Tensor& all = tree_.sum();
    pieces.push_back(all.defined() ? static_cast<const std::byte*>(all.const_data_ptr()) : nullptr);
  }
  for (const payload_ptr& each : sums) pieces.push_back(TROUPE_TRY(sum_in(each, layout())));
  parameter_sums all = own_sums(layout(), pieces);
  TROUPE_TRY(add_tied_sums(all, layout(), tied, pieces.size()));
  TROUPE_TRY(memory_.unprotect(parameter_memory::area::gradient));
  memory_.set_finished(std::nullopt);
  const finished_sums made = finish_blocks(layout(), blocks_, all, memory_.gradient(), memory_.half(version()));
  write_buffers(1 - version(), buffers);
  memory_.set_finished(call);
  memory_.protect();
  into.squared_norms = made.squared_norms;
  into.state_hash = made.state_hash;
  into.not_finite = not_finite(made.not_finite, call);
  tree_.clear();
  return {};
}

std::optional<error> trained_parameters::not_finite(std::optional<std::size_t> in_finish, call_number call) const {
  const auto message = [&](const std::string& where, std::size_t sum) {
    return error{error_code::gradient_not_finite, where + ", parameter " + layout().sums()[sum].name,
                 "the sum of the gradients has infinity or NaN",
                 "lower the learning rate, or look for values in the data that are not finite"};
  };
  if (tree_.not_finite()) return message(to_string(tree_.not_finite()->id), tree_.not_finite()->sum);
  if (in_finish) return message("call " + std::to_string(call) + ", sum over the replicas", *in_finish);
  return std::nullopt;
}

void trained_parameters::write_buffers(std::size_t half, std::span<const at::Tensor> values) {
  const std::span<const at::Tensor> kept = halves_[version()].buffers;
  write_values(layout().buffers(), memory_.half(half) + layout().buffers_begin(), values.empty() ? kept : values);
}

expected<void> trained_parameters::apply(const step_decision& decision) {
  if (decided_call() && decision.call <= *decided_call()) return {};
  if (memory_.finished() != decision.call) {
    return fail(error_code::training_state_lost, "call " + std::to_string(decision.call),
                "its gradient is not here, so that its decision cannot be carried out",
                "resume from the last checkpoint");
  }
  TROUPE_TRY(memory_.unprotect(parameter_memory::area::other_half));
  if (decision.is_applied) {
    update(decision);
    memory_.flip(decision.call, {.step = decision.step + 1});
  } else {
    memory_.decide(decision.call);
  }
  memory_.protect();
  return {};
}

void trained_parameters::update(const step_decision& decision) {
  const optimizer_options& options = layout().options();
  const sgd_step sgd{.gradient_scale = decision.gradient_scale,
                     .learning_rate = decision.learning_rate,
                     .momentum = options.momentum,
                     .dampening = options.dampening,
                     .weight_decay = options.weight_decay,
                     .nesterov = options.nesterov,
                     .is_first = decision.step == 0};
  const adam_step adam{.gradient_scale = decision.gradient_scale,
                       .learning_rate = decision.learning_rate,
                       .beta_1 = options.beta_1,
                       .beta_2 = options.beta_2,
                       .eps = options.eps,
                       .weight_decay = options.weight_decay,
                       .is_decoupled = options.kind == optimizer_kind::adamw,
                       .number = decision.step + 1};
  std::byte* const from = memory_.half(version());
  std::byte* const to = memory_.half(1 - version());
  each_block(blocks_, [&](std::size_t index) {
    const parameter_block& block = blocks_[index];
    with_kernels(layout().parameters()[block.parameter].type, [&]<class Number>(const update_kernels<Number>& kernels) {
      const auto numbers = [&](std::byte* section) { return reinterpret_cast<Number*>(section + block.offset); };
      update_arrays<Number> arrays{
          .gradient = numbers(memory_.gradient()), .weights = numbers(from), .new_weights = numbers(to)};
      for (std::size_t moment = 0; moment < layout().moments(); ++moment) {
        arrays.moments[moment] = numbers(from + layout().moment_begin(moment));
        arrays.new_moments[moment] = numbers(to + layout().moment_begin(moment));
      }
      if (options.kind == optimizer_kind::sgd) {
        kernels.sgd(sgd, arrays, block.elements);
      } else {
        kernels.adam(adam, arrays, block.elements);
      }
    });
  });
}

expected<void> trained_parameters::restore(std::span<const at::Tensor> weights,
                                           std::span<const std::vector<at::Tensor>> moments,
                                           std::span<const at::Tensor> buffers, std::uint64_t step) {
  TROUPE_CHECK(moments.empty() || moments.size() == layout().moments(), "a checkpoint has all moments or none");
  TROUPE_TRY(memory_.unprotect(parameter_memory::area::other_half));
  memory_.set_finished(std::nullopt);
  const std::size_t half = 1 - version();
  std::byte* const to = memory_.half(half);
  write_values(layout().parameters(), to, weights);
  std::memset(to + layout().moment_begin(0), 0, layout().moments() * layout().section_bytes());
  for (std::size_t moment = 0; moment < moments.size(); ++moment) {
    write_values(layout().parameters(), to + layout().moment_begin(moment), moments[moment]);
  }
  write_buffers(half, buffers);
  memory_.flip(decided_call(), {.step = step});
  memory_.protect();
  return {};
}

}  // namespace troupe
