#include <algorithm>
#include <stdexcept>

#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include <troupe/named_tensors.hpp>

namespace troupe {

void named_tensors::set(std::string name, at::Tensor tensor) {
  const auto found = std::ranges::find(entries_, name, &entry::first);
  if (found != entries_.end()) {
    found->second = std::move(tensor);
  } else {
    entries_.emplace_back(std::move(name), std::move(tensor));
  }
}

const at::Tensor* named_tensors::find(const std::string& name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &entry::first);
  return found == entries_.end() ? nullptr : &found->second;
}

const at::Tensor& named_tensors::at(const std::string& name) const {
  const at::Tensor* found = find(name);
  if (found == nullptr) throw std::out_of_range("there is no tensor \"" + name + "\"; there are: " + names());
  return *found;
}

const at::Tensor& named_tensors::only() const {
  if (entries_.size() != 1) {
    throw std::invalid_argument("one tensor was expected, and there are " + std::to_string(entries_.size()) + ": " +
                                names());
  }
  return entries_.front().second;
}

std::string named_tensors::names() const {
  if (entries_.empty()) return "none";
  std::string text;
  for (const auto& [name, tensor] : entries_) {
    text += (text.empty() ? "" : ", ") + (name.empty() ? "one without a name" : name);
  }
  return text;
}

named_tensors to_named(const payload_ptr& handle) {
  const tensor_set& set = as_tensors(handle);
  named_tensors made;
  for (std::size_t i = 0; i < set.tensors().size(); ++i) made.set(set.name(i), set.tensors()[i]);
  return made;
}

payload_ptr to_payload(const named_tensors& tensors) {
  std::vector<at::Tensor> values;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    names.push_back(name);
    values.push_back(tensor);
  }
  return std::make_shared<const tensor_set>(std::move(values), std::move(names));
}

}  // namespace troupe
