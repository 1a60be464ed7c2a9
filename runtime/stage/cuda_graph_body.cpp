#include "runtime/stage/cuda_graph_body.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/core/Tensor.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/stage/rows.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

void append(std::string& key, std::int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// Sizes, strides and the like of one tensor; false for one without a dense row of values to copy to.
bool append(std::string& key, const at::Tensor& one) {
  if (one.layout() != at::kStrided || !one.has_storage() || !one.is_non_overlapping_and_dense()) return false;
  append(key, static_cast<std::int64_t>(one.scalar_type()));
  append(key, one.dim());
  for (const std::int64_t size : one.sizes()) append(key, size);
  for (const std::int64_t stride : one.strides()) append(key, stride);
  append(key,
         static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(one.const_data_ptr()) % limits::payload_alignment));
  return true;
}

/// Nothing where the inputs cannot be copied to those of a recording.
std::optional<std::string> key_of(std::span<const activation> inputs) {
  std::string key;
  for (const activation& input : inputs) {
    if (input.tensors == nullptr || !same_rows(input, inputs.front())) return std::nullopt;
    const tensor_set& set = as_tensors(input.tensors);
    append(key, static_cast<std::int64_t>(set.tensors().size()));
    for (std::size_t index = 0; index < set.tensors().size(); ++index) {
      if (!append(key, set.tensors()[index])) return std::nullopt;
      key.append(set.stored_name(index)).push_back('\0');
    }
  }
  return key;
}

/// The host waits for both.
bool are_same(const at::Tensor& one, const at::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) return false;
  if (one.strides() != other.strides()) return false;
  const at::Tensor here = one.cpu().contiguous();
  const at::Tensor there = other.cpu().contiguous();
  return here.nbytes() == 0 || std::memcmp(here.const_data_ptr(), there.const_data_ptr(), here.nbytes()) == 0;
}

bool are_same(const activation& one, const activation& other) {
  return std::ranges::equal(as_tensors(one.tensors).tensors(), as_tensors(other.tensors).tensors(),
                            [](const at::Tensor& a, const at::Tensor& b) { return are_same(a, b); });
}

}  // namespace

expected<void> cuda_graph_body::run(std::span<const activation> inputs, std::span<activation> outputs) {
  TROUPE_CHECK(outputs.size() == ways_.size(), "it is known of every output where it goes");
  shape* const of = find(inputs);
  if (of != nullptr && of->made) return replay(*of->made, inputs, outputs);
  auto ran = inner_->run(inputs, outputs);
  if (!ran || of == nullptr || of->runs++ < limits::graph_warm_ups) return ran;
  return record(inputs, outputs).map([of](recording&& made) { of->made = std::move(made); });
}

cuda_graph_body::shape* cuda_graph_body::find(std::span<const activation> inputs) {
  const auto key = key_of(inputs);
  if (!key) return nullptr;
  const auto known = shapes_.find(*key);
  if (known != shapes_.end()) return &known->second;
  return shapes_.size() < limits::graph_shapes_max ? &shapes_[*key] : nullptr;
}

expected<cuda_graph_body::recording> cuda_graph_body::record(std::span<const activation> inputs,
                                                             std::span<const activation> outputs) {
  recording made{.inputs = {inputs.begin(), inputs.end()}, .outputs = {outputs.begin(), outputs.end()}, .graph = {}};
  for (activation& each : made.inputs) each.tensors = each_tensor(each.tensors, faithful_copy);
  for (activation& each : made.outputs) each.tensors = nullptr;
  expected<void> ran;
  auto graph = recorder_->record([&] { ran = inner_->run(made.inputs, made.outputs); });
  if (!ran) return cannot_record(ran.error().cause);
  if (!graph) return cannot_record(graph.error().cause);
  made.graph = std::move(*graph);
  TROUPE_TRY(made.graph->launch());
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    if (!are_same(outputs[port], made.outputs[port]))
      return cannot_record("its outputs are others when it is repeated");
  }
  return made;
}

// The stream orders these copies, the graph, and the reading of its outputs, which comes before the next run.
expected<void> cuda_graph_body::replay(const recording& of, std::span<const activation> inputs,
                                       std::span<activation> outputs) const {
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    const auto& given = as_tensors(inputs[port].tensors).tensors();
    const auto& read = as_tensors(of.inputs[port].tensors).tensors();
    for (std::size_t index = 0; index < given.size(); ++index) read[index].copy_(given[index], true);
  }
  TROUPE_TRY(of.graph->launch());
  for (std::size_t port = 0; port < outputs.size(); ++port) {
    const payload_ptr& written = of.outputs[port].tensors;
    outputs[port].tensors = ways_[port] == output_way::leaves ? written : each_tensor(written, faithful_copy);
  }
  return {};
}

tl::unexpected<error> cuda_graph_body::cannot_record(const std::string& why) const {
  return fail(error_code::forward_failed, stage_, "it cannot be recorded as a CUDA graph: " + why,
              "leave cuda_graphs out for this stage");
}

}  // namespace troupe
