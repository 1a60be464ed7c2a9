#include "bench/zoo/zoo_data.hpp"

#include <torch/script.h>

namespace troupe::bench {
namespace {

std::vector<std::string> names_in(const torch::jit::Module& record, const char* attribute) {
  std::vector<std::string> names;
  for (const c10::IValue& each : record.attr(attribute).toListRef()) names.push_back(each.toStringRef());
  return names;
}

/// The batch of 3 three times, then that of 2.
at::Tensor samples_of(const torch::jit::Module& record, const std::string& prefix, std::size_t position) {
  const std::string end = "_" + std::to_string(position);
  const at::Tensor three = record.attr(prefix + "3" + end).toTensor();
  return at::cat({three, three, three, record.attr(prefix + "2" + end).toTensor()});
}

named_tensors rows_of(const named_tensors& all, sample_range range) {
  named_tensors rows;
  for (const auto& [name, tensor] : all) {
    rows.set(name, tensor.narrow(0, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.size())));
  }
  return rows;
}

}  // namespace

zoo_data::zoo_data(const std::string& file) : file_(file) {
  const torch::jit::Module record = torch::jit::load(file);
  const std::vector<std::string> inputs = names_in(record, "inputs");
  outputs_ = names_in(record, "outputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) all_inputs_.set(inputs[i], samples_of(record, "in", i));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    labels_.push_back("eager " + std::to_string(i));
    all_labels_.set(labels_.back(), samples_of(record, "out", i));
  }
}

std::uint64_t zoo_data::size() const noexcept {
  return static_cast<std::uint64_t>(all_inputs_.begin()->second.size(0));
}

std::vector<std::int64_t> zoo_data::sample_shape() const {
  return all_inputs_.begin()->second.sizes().slice(1).vec();
}

expected<sample_block> zoo_data::read(sample_range range) const {
  return sample_block{rows_of(all_inputs_, range), rows_of(all_labels_, range)};
}

}  // namespace troupe::bench
