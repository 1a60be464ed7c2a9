#include "runtime/data/iterator_source.hpp"

#include <string>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/own_memory.hpp"

namespace troupe {

namespace {

/// Undefined tensors are none: a loss that is not asked for needs no labels.
named_tensors taken_ones(const named_tensors& given, bool is_constant) {
  named_tensors kept;
  for (const auto& [name, tensor] : given) {
    if (tensor.defined()) kept.set(name, taken(tensor, is_constant));
  }
  return kept;
}

expected<void> check_rows(const named_tensors& tensors, std::int64_t samples, const std::string& what) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dim() > 0 && tensor.size(0) == samples) continue;
    return fail(error_code::source_failed, "data iterator",
                "inputs have " + std::to_string(samples) + " samples, " + what +
                    (name.empty() ? "" : " \"" + name + "\"") + " have " +
                    (tensor.dim() == 0 ? "no sample dimension" : std::to_string(tensor.size(0))),
                "give one row per sample in every tensor");
  }
  return {};
}

/// What `call`, which is code of a user, gives. `what` and `batch`, counted from 0, name it.
template <class Call>
auto guarded(const char* what, std::uint64_t batch, std::uint64_t samples, const Call& call)
    -> expected<decltype(call())> {
  try {
    return call();
  } catch (...) {
    return fail(error_code::source_failed, "data iterator",
                std::string(what) + " threw for batch " + std::to_string(batch) + ", behind " +
                    std::to_string(samples) + " samples: " + current_exception_text(),
                std::string("check ") + what + " outside the pipeline");
  }
}

}  // namespace

iterator_source::iterator_source(data_iterator iterator, batch_function transform, std::uint64_t count,
                                 bool is_constant)
    : iterator_(std::move(iterator)), transform_(std::move(transform)), count_(count), is_constant_(is_constant) {}

expected<std::optional<loaded_micro_batch>> iterator_source::next() {
  if (taken_ == count_ || exhausted()) return std::nullopt;
  auto pulled = TROUPE_TRY(guarded("the iterator", taken_, samples_, iterator_));
  if (!pulled) {
    exhausted_.store(true, std::memory_order_relaxed);
    return std::nullopt;
  }
  auto next = TROUPE_TRY(transform_ ? guarded("the function of set_batch_fn", taken_, samples_,
                                              [&] { return transform_(std::move(*pulled)); })
                                    : expected<batch>(std::move(*pulled)));
  pulled.reset();  // its handles count as owners
  const named_tensors inputs = taken_ones(next.inputs, is_constant_);
  const named_tensors labels = taken_ones(next.labels, is_constant_);
  if (inputs.empty() || inputs.begin()->second.dim() == 0) {
    return fail(error_code::source_failed, "data iterator", "inputs without a sample dimension",
                "give inputs of shape [N, ...]");
  }
  const std::int64_t samples = inputs.begin()->second.size(0);
  if (samples == 0) {
    return fail(error_code::source_failed, "data iterator", "a batch without samples",
                "end the iterator with std::nullopt, and leave out empty batches");
  }
  TROUPE_TRY(check_rows(inputs, samples, "inputs"));
  TROUPE_TRY(check_rows(labels, samples, "labels"));
  ++taken_;
  const sample_range range{samples_, samples_ + static_cast<std::uint64_t>(samples)};
  samples_ = range.end;
  const std::uint64_t bytes = bytes_of(inputs) + bytes_of(labels);
  return loaded_micro_batch{range, to_payload(inputs), labels.empty() ? nullptr : to_payload(labels), bytes};
}

}  // namespace troupe
