#include "runtime/data/gathered_samples.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <tl/expected.hpp>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/sample_block.hpp"

namespace troupe {
namespace {

/// How many samples from `first` on follow one another.
std::size_t run_length(std::span<const std::uint64_t> samples, std::size_t first) {
  std::size_t end = first + 1;
  while (end < samples.size() && samples[end] == samples[end - 1] + 1) ++end;
  return end - first;
}

/// Lets `sizes` grow so that the rows of `tensor` have room, too. False where they cannot have it.
bool make_room(std::vector<std::int64_t>& sizes, const at::Tensor& tensor, bool may_grow) {
  if (tensor.dim() != static_cast<std::int64_t>(sizes.size())) return false;
  for (std::size_t dimension = 1; dimension < sizes.size(); ++dimension) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(dimension));
    if (size != sizes[dimension] && !may_grow) return false;
    sizes[dimension] = std::max(sizes[dimension], size);
  }
  return true;
}

/// The tensors of one name of all runs, in one tensor. The error is the index of the first run that does not fit.
tl::expected<at::Tensor, std::size_t> joined(const std::vector<const at::Tensor*>& parts, std::int64_t rows,
                                             std::optional<std::int64_t> padding) {
  std::vector<std::int64_t> sizes = parts.front()->sizes().vec();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool fits = parts[i] != nullptr && parts[i]->scalar_type() == parts.front()->scalar_type() &&
                      make_room(sizes, *parts[i], padding.has_value());
    if (!fits) return tl::make_unexpected(i);
  }
  sizes.front() = rows;
  const at::TensorOptions options = parts.front()->options();
  at::Tensor made = padding ? at::full(sizes, *padding, options) : at::empty(sizes, options);
  std::int64_t row = 0;
  for (const at::Tensor* part : parts) {
    at::Tensor room = made.narrow(0, row, part->size(0));
    for (std::int64_t i = 1; i < part->dim(); ++i) room = room.narrow(i, 0, part->size(i));
    room.copy_(*part);
    row += part->size(0);
  }
  return made;
}

/// The same for all names.
tl::expected<named_tensors, std::size_t> joined(const std::vector<const named_tensors*>& parts, std::int64_t rows,
                                                const std::map<std::string, std::int64_t>& padding) {
  const auto other = std::ranges::find_if(parts, [&](const auto* part) { return part->size() != parts[0]->size(); });
  if (other != parts.end()) return tl::make_unexpected(static_cast<std::size_t>(other - parts.begin()));
  named_tensors made;
  for (const auto& [name, tensor] : *parts.front()) {
    std::vector<const at::Tensor*> of_name;
    of_name.reserve(parts.size());
    for (const named_tensors* part : parts) of_name.push_back(part->find(name));
    const auto known = padding.find(name);
    auto one = joined(of_name, rows, known == padding.end() ? std::nullopt : std::optional(known->second));
    if (!one) return tl::make_unexpected(one.error());
    made.set(name, std::move(*one));
  }
  return made;
}

}  // namespace

expected<sample_block> gathered_samples(const data_set& data, std::span<const std::uint64_t> samples) {
  TROUPE_CHECK(!samples.empty(), "there are samples to read");
  std::vector<sample_block> runs;
  std::vector<std::uint64_t> firsts;
  for (std::size_t at = 0; at < samples.size();) {
    const std::size_t count = run_length(samples, at);
    runs.push_back(TROUPE_TRY(read_samples_to_keep(data, {samples[at], samples[at] + count})));
    firsts.push_back(samples[at]);
    at += count;
  }
  if (runs.size() == 1) return std::move(runs.front());
  std::vector<const named_tensors*> inputs;
  std::vector<const named_tensors*> labels;
  for (const sample_block& run : runs) {
    inputs.push_back(&run.inputs);
    labels.push_back(&run.labels);
  }
  const auto rows = static_cast<std::int64_t>(samples.size());
  const auto padding = data.padding();
  auto all_inputs = joined(inputs, rows, padding);
  auto all_labels = joined(labels, rows, padding);
  if (all_inputs && all_labels) return sample_block{std::move(*all_inputs), std::move(*all_labels)};
  const std::uint64_t misfit = firsts[all_inputs ? all_labels.error() : all_inputs.error()];
  return fail(error_code::source_failed, data.name(),
              "sample " + std::to_string(misfit) + " has another size or type than sample " +
                  std::to_string(samples.front()) + ", with which it is to be in one micro-batch",
              "give all samples one size, or train on them in their order (--order sequential)");
}

}  // namespace troupe
