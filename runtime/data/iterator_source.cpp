#include "runtime/data/iterator_source.hpp"

#include <string>
#include <utility>

#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

iterator_source::iterator_source(data_iterator iterator, batch_function transform, std::uint64_t count)
    : iterator_(std::move(iterator)), transform_(std::move(transform)), count_(count) {}

expected<std::optional<loaded_micro_batch>> iterator_source::next() {
  if (taken_ == count_ || exhausted()) return std::nullopt;
  std::optional<batch> pulled = iterator_();
  if (!pulled) {
    exhausted_.store(true, std::memory_order_relaxed);
    return std::nullopt;
  }
  batch next = transform_ ? transform_(std::move(*pulled)) : std::move(*pulled);
  if (!next.inputs.defined() || next.inputs.dim() == 0) {
    return fail(error_code::source_failed, "data iterator", "inputs without a sample dimension",
                "give inputs of shape [N, ...]");
  }
  const std::int64_t samples = next.inputs.size(0);
  if (next.labels.defined() && (next.labels.dim() == 0 || next.labels.size(0) != samples)) {
    return fail(error_code::source_failed, "data iterator",
                "inputs have " + std::to_string(samples) + " samples, labels have " +
                    (next.labels.dim() == 0 ? "no sample dimension" : std::to_string(next.labels.size(0))),
                "give one label per sample");
  }
  ++taken_;
  const sample_range range{samples_, samples_ + static_cast<std::uint64_t>(samples)};
  samples_ = range.end;
  const std::uint64_t bytes = next.inputs.nbytes() + (next.labels.defined() ? next.labels.nbytes() : 0);
  return loaded_micro_batch{range, make_tensors(std::move(next.inputs)),
                            next.labels.defined() ? make_tensors(std::move(next.labels)) : nullptr, bytes};
}

}  // namespace troupe
