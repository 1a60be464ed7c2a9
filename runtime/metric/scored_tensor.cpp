#include "runtime/metric/scored_tensor.hpp"

#include <string>
#include <utility>

#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

/// Outputs or labels, in words.
struct tensor_role {
  const char* plural;
  const char* if_missing;
  /// What chooses one of several: the flag, and the option of a sink.
  const char* flag;
  const char* option;
};
constexpr tensor_role output_role = {"outputs", "let the stage before the sink return a tensor", "--score-output",
                                     "sink_options::tensor"};
constexpr tensor_role label_role = {"labels", "evaluate data that has labels", "--score-label", "sink_options::label"};

expected<const at::Tensor*> find_tensor(const named_tensors& all, const std::string& name, const tensor_role& role) {
  const auto refuse = [&](std::string cause, std::string fix) {
    return fail(error_code::metric_failed, {}, std::move(cause), std::move(fix));
  };
  if (all.empty()) return refuse(std::string("has no ") + role.plural, role.if_missing);
  if (name.empty() && all.size() == 1) return &all.begin()->second;
  if (name.empty()) {
    return refuse("expected one tensor of " + std::string(role.plural) + ", found " + std::to_string(all.size()) +
                      ": " + all.names(),
                  "choose one, " + std::string(role.flag) + " NAME, or " + role.option + " in code");
  }
  if (const at::Tensor* found = all.find(name)) return found;
  return refuse("there is no tensor \"" + name + "\" among the " + role.plural + ": " + all.names(),
                "correct " + std::string(role.flag) + ", or " + role.option + " in code");
}

named_tensors tensors_in(const payload_ptr& handle) {
  named_tensors named;
  const auto* set = dynamic_cast<const tensor_set*>(handle.get());
  if (set == nullptr) return named;
  for (std::size_t i = 0; i < set->tensors().size(); ++i) named.set(set->name(i), set->tensors()[i]);
  return named;
}

}  // namespace

scored_part::scored_part(named_tensors outputs, named_tensors labels, scored_names names)
    : outputs_(std::move(outputs)), labels_(std::move(labels)), names_(std::move(names)) {
  const named_tensors& counted = outputs_.empty() ? labels_ : outputs_;
  if (counted.empty()) return;
  const at::Tensor& first = counted.begin()->second;
  if (first.defined() && first.dim() > 0) samples_.end = static_cast<std::uint64_t>(first.size(0));
}

scored_part::scored_part(named_tensors outputs, named_tensors labels, scored_names names, sample_range samples,
                         row_set_ptr positions)
    : outputs_(std::move(outputs)),
      labels_(std::move(labels)),
      names_(std::move(names)),
      samples_(samples),
      positions_(std::move(positions)) {}

expected<const at::Tensor*> scored_part::output() const {
  return find_tensor(outputs_, names_.output, output_role);
}

expected<const at::Tensor*> scored_part::label() const {
  return find_tensor(labels_, names_.label, label_role);
}

std::size_t scored_part::size() const noexcept {
  return positions_ ? positions_->size() : samples_.size();
}

std::uint64_t scored_part::sample(std::size_t row) const noexcept {
  return samples_.begin + (positions_ ? (*positions_)[row] : row);
}

scored_part part_of(const payload_ptr& outputs, const activation& input, const scored_names& names) {
  return {tensors_in(outputs), tensors_in(input.labels), names, input.samples, input.rows};
}

}  // namespace troupe
