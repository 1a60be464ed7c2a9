#include "runtime/data/sample_block.hpp"

#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/own_memory.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

namespace {

std::string described(const std::string& what, const std::string& name) {
  return name.empty() ? what : what + " \"" + name + "\"";
}

/// "its labels \"end\" have 3 rows": the problem with a tensor of so many samples, or nothing.
std::string objection(const at::Tensor& tensor, std::int64_t samples) {
  if (!tensor.defined()) return "are undefined";
  if (!tensor.device().is_cpu()) return "are on " + tensor.device().str();
  if (tensor.dim() == 0) return "have no sample dimension";
  if (tensor.size(0) != samples) return "have " + std::to_string(tensor.size(0)) + " rows";
  return {};
}

expected<named_tensors> checked(const data_set& data, std::int64_t samples, const std::string& what,
                                const named_tensors& given) {
  named_tensors fine;
  for (const auto& [name, tensor] : given) {
    if (const std::string problem = objection(tensor, samples); !problem.empty()) {
      return fail(error_code::source_failed, data.name(),
                  "for " + std::to_string(samples) + " samples its " + described(what, name) + " " + problem,
                  "give tensors on the CPU with one row per sample");
    }
    fine.set(name, tensor.contiguous());
  }
  return fine;
}

expected<sample_block> read_guarded(const data_set& data, sample_range range) try {
  return data.read(range);
} catch (...) {
  return fail(error_code::source_failed, data.name(),
              "reading samples " + std::to_string(range.begin) + " to " + std::to_string(range.end - 1) +
                  " threw: " + current_exception_text(),
              "check what read() does with these samples, outside the pipeline");
}

}  // namespace

expected<sample_block> read_samples(const data_set& data, sample_range range) {
  expected<sample_block> block = read_guarded(data, range);
  if (!block) return block;
  if (block->inputs.empty()) {
    return fail(error_code::source_failed, data.name(), "it gave samples without inputs", "give one tensor at least");
  }
  const auto samples = static_cast<std::int64_t>(range.size());
  named_tensors inputs = TROUPE_TRY(checked(data, samples, "inputs", block->inputs));
  named_tensors labels = TROUPE_TRY(checked(data, samples, "labels", block->labels));
  return sample_block{std::move(inputs), std::move(labels)};
}

expected<sample_block> read_samples_to_keep(const data_set& data, sample_range range) {
  const sample_block block = TROUPE_TRY(read_samples(data, range));
  const bool is_constant = data.has_constant_memory();
  return sample_block{taken_all(block.inputs, is_constant), taken_all(block.labels, is_constant)};
}

named_tensors taken_all(const named_tensors& given, bool is_constant) {
  named_tensors own;
  for (const auto& [name, tensor] : given) own.set(name, taken(tensor, is_constant));
  return own;
}

std::uint64_t bytes_of(const named_tensors& tensors) {
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor.defined() ? tensor.nbytes() : 0;
  return bytes;
}

}  // namespace troupe
