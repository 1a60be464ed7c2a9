#include "runtime/data/gathered_samples.hpp"

#include <cstddef>
#include <string>

#include <ATen/ops/empty.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/own_memory.hpp"

namespace troupe {
namespace {

/// How many samples from `first` on follow one another.
std::size_t run_length(std::span<const std::uint64_t> samples, std::size_t first) {
  std::size_t end = first + 1;
  while (end < samples.size() && samples[end] == samples[end - 1] + 1) ++end;
  return end - first;
}

bool is_alike(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.dim() == other.dim() &&
         one.sizes().slice(1) == other.sizes().slice(1);
}

named_tensors room_for(const named_tensors& like, std::int64_t rows) {
  named_tensors made;
  for (const auto& [name, tensor] : like) {
    std::vector<std::int64_t> sizes = tensor.sizes().vec();
    sizes[0] = rows;
    made.set(name, at::empty(sizes, tensor.options()));
  }
  return made;
}

/// False where they do not fit.
bool put(const named_tensors& part, std::int64_t at, const named_tensors& into) {
  if (part.size() != into.size()) return false;
  for (const auto& [name, tensor] : part) {
    const at::Tensor* const room = into.find(name);
    if (room == nullptr || !is_alike(tensor, *room)) return false;
    room->narrow(0, at, tensor.size(0)).copy_(tensor);
  }
  return true;
}

}  // namespace

expected<sample_block> gathered_samples(const data_set& data, std::span<const std::uint64_t> samples) {
  TROUPE_CHECK(!samples.empty(), "there are samples to read");
  if (run_length(samples, 0) == samples.size()) {
    return read_samples_to_keep(data, {samples.front(), samples.front() + samples.size()});
  }
  sample_block made;
  for (std::size_t at = 0; at < samples.size();) {
    const std::size_t count = run_length(samples, at);
    const sample_block part = TROUPE_TRY(read_samples(data, {samples[at], samples[at] + count}));
    if (at == 0) {
      const auto rows = static_cast<std::int64_t>(samples.size());
      made = {room_for(part.inputs, rows), room_for(part.labels, rows)};
    }
    const auto row = static_cast<std::int64_t>(at);
    if (!put(part.inputs, row, made.inputs) || !put(part.labels, row, made.labels)) {
      return fail(error_code::source_failed, data.name(),
                  "sample " + std::to_string(samples[at]) + " has another size or type than sample " +
                      std::to_string(samples.front()) + ", with which it is to be in one micro-batch",
                  "give all samples one size, or train on them in their order (--order sequential)");
    }
    at += count;
  }
  return made;
}

}  // namespace troupe
