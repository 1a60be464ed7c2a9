#include "runtime/metric/metric_scorer.hpp"

#include <ATen/ops/clone.h>

#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

std::string place(const activation& input) {
  return to_string(input.id) + " (samples " + std::to_string(input.samples.begin) + " to " +
         std::to_string(input.samples.end - 1) + ")";
}

expected<const at::Tensor*> only_tensor(const payload_ptr& handle, const char* what, const activation& input) {
  const auto* set = dynamic_cast<const tensor_set*>(handle.get());
  if (set == nullptr) {
    return fail(error_code::metric_failed, place(input), std::string("has no ") + what,
                "evaluate data that has labels");
  }
  if (set->tensors().size() != 1) {
    return fail(error_code::metric_failed, place(input),
                std::string("expected one tensor of ") + what + ", found " + std::to_string(set->tensors().size()),
                "use a model with one output and data with one label per sample");
  }
  return &set->tensors().front();
}

expected<const at::Tensor*> tensor_named(const std::string& name, const payload_ptr& handle, const activation& input) {
  const tensor_set& set = as_tensors(handle);
  for (std::size_t i = 0; i < set.tensors().size(); ++i) {
    if (set.name(i) == name) return &set.tensors()[i];
  }
  return fail(error_code::metric_failed, place(input), "there is no tensor \"" + name + "\" among the outputs",
              "correct the sink's `tensor`, or let the stage before it return one of that name");
}

expected<void> check_rows(const at::Tensor& outputs, const activation& input) {
  const auto samples = static_cast<std::int64_t>(input.row_count());
  if (outputs.defined() && outputs.dim() >= 1 && outputs.size(0) == samples) return {};
  const std::string found = !outputs.defined() || outputs.dim() == 0 ? "none" : std::to_string(outputs.size(0));
  return fail(error_code::metric_failed, place(input),
              "expected " + std::to_string(samples) + " rows of outputs, one per sample, found " + found,
              "use a model that keeps dimension 0, the samples");
}

expected<payload_ptr> copied(const at::Tensor& outputs, const activation& input) {
  try {
    return make_tensors(at::clone(outputs, at::MemoryFormat::Contiguous).detach());
  } catch (const std::exception& e) {
    return fail(error_code::metric_failed, place(input), std::string("the outputs cannot be copied: ") + e.what(),
                "use a smaller micro-batch");
  }
}

}  // namespace

std::size_t words_of(const std::vector<metric_ptr>& metrics) {
  std::size_t words = 0;
  for (const metric_ptr& each : metrics) words += each->words();
  return words;
}

metric_scorer::metric_scorer(std::vector<metric_ptr> metrics, bool return_outputs, std::string tensor)
    : metrics_(std::move(metrics)),
      words_(words_of(metrics_)),
      return_outputs_(return_outputs),
      tensor_(std::move(tensor)) {}

expected<void> metric_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) {
  const expected<const at::Tensor*> rows =
      tensor_.empty() ? only_tensor(outputs, "outputs", input) : tensor_named(tensor_, outputs, input);
  if (!rows) return tl::make_unexpected(rows.error());
  if (expected<void> fine = check_rows(**rows, input); !fine) return fine;
  into.samples = input.row_count();
  into.words.assign(words_, 0);
  if (!metrics_.empty()) {
    const expected<const at::Tensor*> labels = only_tensor(input.passengers, "labels", input);
    if (!labels) return tl::make_unexpected(labels.error());
    std::span<std::uint64_t> rest = into.words;
    for (const metric_ptr& each : metrics_) {
      if (expected<void> done = each->update(**rows, **labels, rest.first(each->words())); !done) {
        error e = std::move(done.error());
        e.where = place(input) + ", " + e.where;
        return tl::make_unexpected(std::move(e));
      }
      rest = rest.subspan(each->words());
    }
  }
  if (!return_outputs_) return {};
  expected<payload_ptr> copy = copied(**rows, input);
  if (!copy) return tl::make_unexpected(copy.error());
  into.outputs = std::move(*copy);
  return {};
}

}  // namespace troupe
