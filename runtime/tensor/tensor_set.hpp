#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/payload.hpp"

namespace troupe {

/// The tensors of one micro-batch, or of a part of one: the one real kind of payload. All have its samples as dimension
/// 0 wherever samples are scored, routed or joined.
/// Immutable once sent; tensors are shared by handle, never copied, inside a process.
class tensor_set final : public payload {
 public:
  /// `names`: one per tensor, or none: then the first has no name, and the others are called by their position.
  explicit tensor_set(std::vector<at::Tensor> tensors, std::vector<std::string> names = {})
      : tensors_(std::move(tensors)), names_(std::move(names)) {}
  explicit tensor_set(at::Tensor tensor) { tensors_.push_back(std::move(tensor)); }

  [[nodiscard]] const std::vector<at::Tensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::string name(std::size_t index) const {
    if (index < names_.size()) return names_[index];
    return index == 0 ? std::string{} : std::to_string(index);
  }
  /// As given; empty where none was.
  [[nodiscard]] std::string stored_name(std::size_t index) const {
    return index < names_.size() ? names_[index] : std::string{};
  }
  /// The only tensor of a set that has one; a broken invariant otherwise.
  [[nodiscard]] const at::Tensor& single() const;

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<std::string> names_;
};

/// The tensors behind a handle. Null or another kind of payload is a broken invariant: such a handle never reaches a
/// body.
const tensor_set& as_tensors(const payload_ptr& handle);

/// `make` of each tensor, under the same names. Null for null: an empty part.
template <class Make>
payload_ptr each_tensor(const payload_ptr& of, const Make& make) {
  if (of == nullptr) return nullptr;
  const tensor_set& given = as_tensors(of);
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;
  for (std::size_t index = 0; index < given.tensors().size(); ++index) {
    tensors.push_back(make(given.tensors()[index]));
    names.push_back(given.stored_name(index));
  }
  return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
}

inline payload_ptr make_tensors(at::Tensor tensor) {
  return std::make_shared<const tensor_set>(std::move(tensor));
}

/// A contiguous view of `owner`'s storage, `offset` elements from the storage's beginning, without the dispatcher. The
/// whole view must lie inside the storage.
at::Tensor contiguous_view(const at::Tensor& owner, std::int64_t offset, std::span<const std::int64_t> sizes);

}  // namespace troupe
