#include "runtime/metric/loss.hpp"

#include <bit>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

expected<std::vector<std::uint64_t>> words_of_parts(const std::vector<at::Tensor>& parts, const std::string& where) {
  if (parts.empty()) return fail(error_code::metric_failed, where, "the loss function gave nothing", "give one scalar");
  std::vector<std::uint64_t> words;
  for (const at::Tensor& part : parts) {
    if (!part.defined() || part.numel() != 1) {
      return fail(error_code::metric_failed, where, "a part of the loss is no scalar",
                  "reduce each part to one element");
    }
    words.push_back(std::bit_cast<std::uint64_t>(part.item<double>()));
  }
  return words;
}

expected<const at::Tensor*> placed(expected<const at::Tensor*> found, const activation& input) {
  if (!found) found.error().where = place_of(input);
  return found;
}

}  // namespace

expected<void> loss_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) try {
  const at::NoGradGuard guard;
  into.samples = input.samples.size();
  if (!request_.compute_loss && !request_.keep_outputs) return {};
  const scored_part part = part_of(outputs, input, names_);
  const at::Tensor& result = *TROUPE_TRY(placed(part.output(), input));
  if (request_.compute_loss) {
    if (!input.labels) {
      return fail(error_code::metric_failed, place_of(input), "a loss was asked for, and the micro-batch has no labels",
                  "give labels with every batch, or set compute_loss = false");
    }
    const at::Tensor& labels = *TROUPE_TRY(placed(part.label(), input));
    into.words = TROUPE_TRY(words_of_parts(loss_(result, labels), place_of(input)));
  }
  if (request_.keep_outputs) into.outputs = make_tensors(at::clone(result, at::MemoryFormat::Contiguous).detach());
  return {};
} catch (...) {
  return fail(error_code::metric_failed, place_of(input), "the loss function threw: " + current_exception_text(),
              "check the loss function with such outputs and labels, outside the pipeline");
}

expected<void> loss_fold::fold(const score& next) {
  if (!losses_.empty() && losses_.front().size() != next.words.size()) {
    return fail(error_code::metric_failed, to_string(next.id),
                "its loss has " + std::to_string(next.words.size()) + " parts, those before have " +
                    std::to_string(losses_.front().size()),
                "give the same parts for every micro-batch");
  }
  std::vector<double> parts;
  for (const std::uint64_t word : next.words) parts.push_back(std::bit_cast<double>(word));
  losses_.push_back(std::move(parts));
  if (next.outputs) outputs_.push_back(as_tensors(next.outputs).single());
  return {};
}

std::vector<double> loss_fold::mean_loss() const {
  if (losses_.empty()) return {};
  std::vector<double> mean(losses_.front().size(), 0.0);
  for (const auto& parts : losses_) {
    for (std::size_t part = 0; part < mean.size(); ++part) mean[part] += parts[part];
  }
  for (double& part : mean) part /= static_cast<double>(losses_.size());
  return mean;
}

expected<at::Tensor> loss_fold::mean_outputs() const try {
  at::Tensor sum = outputs_.front().to(at::kDouble);
  for (std::size_t index = 1; index < outputs_.size(); ++index) {
    if (outputs_[index].sizes() != sum.sizes()) {
      return fail(error_code::metric_failed, "micro-batch " + std::to_string(index),
                  "outputs of unequal shape have no element-wise mean", "ask for reduce_output = none");
    }
    sum = sum + outputs_[index];
  }
  const at::Tensor mean = sum / static_cast<double>(outputs_.size());
  const auto type = outputs_.front().scalar_type();
  return at::isFloatingType(type) ? mean.to(type) : mean;
} catch (const std::exception& e) {
  return fail(error_code::metric_failed, "eval_batch", "the outputs have no mean: " + exception_text(e));
}

}  // namespace troupe
