#include "runtime/metric/scored_tensor.hpp"

#include "messages/try.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

std::string names_in(const tensor_set& set) {
  std::string names;
  for (std::size_t i = 0; i < set.tensors().size(); ++i) {
    names += (i == 0 ? "" : ", ") + (set.name(i).empty() ? std::string("one without a name") : set.name(i));
  }
  return names;
}

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

expected<const at::Tensor*> only_tensor(const tensor_set& set, const tensor_role& role, const activation& input) {
  if (set.tensors().size() == 1) return &set.tensors().front();
  return fail(error_code::metric_failed, place_of(input),
              "expected one tensor of " + std::string(role.plural) + ", found " + std::to_string(set.tensors().size()) +
                  ": " + names_in(set),
              "choose one, " + std::string(role.flag) + " NAME, or " + role.option + " in code");
}

expected<const at::Tensor*> find_tensor(const std::string& name, const payload_ptr& handle, const tensor_role& role,
                                        const activation& input) {
  const auto* set = dynamic_cast<const tensor_set*>(handle.get());
  if (set == nullptr) {
    return fail(error_code::metric_failed, place_of(input), std::string("has no ") + role.plural, role.if_missing);
  }
  if (name.empty()) return only_tensor(*set, role, input);
  for (std::size_t i = 0; i < set->tensors().size(); ++i) {
    if (set->name(i) == name) return &set->tensors()[i];
  }
  return fail(error_code::metric_failed, place_of(input),
              "there is no tensor \"" + name + "\" among the " + role.plural + ": " + names_in(*set),
              "correct " + std::string(role.flag) + ", or " + role.option + " in code");
}

}  // namespace

expected<const at::Tensor*> find_output(const payload_ptr& outputs, const std::string& name, const activation& input) {
  return find_tensor(name, outputs, output_role, input);
}

expected<const at::Tensor*> find_label(const activation& input, const std::string& name) {
  return find_tensor(name, input.labels, label_role, input);
}

}  // namespace troupe
