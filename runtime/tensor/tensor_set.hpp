#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/messages/payload.hpp>

namespace troupe {

/// The tensors of one micro-batch: the one real kind of payload. All have the micro-batch's samples as dimension 0.
/// Immutable once sent; tensors are shared by handle, never copied, inside a process.
class tensor_set final : public payload {
 public:
  explicit tensor_set(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {}
  explicit tensor_set(at::Tensor tensor) { tensors_.push_back(std::move(tensor)); }

  [[nodiscard]] const std::vector<at::Tensor>& tensors() const noexcept { return tensors_; }
  /// The only tensor of a set that has one; a broken invariant otherwise.
  [[nodiscard]] const at::Tensor& single() const;

 private:
  std::vector<at::Tensor> tensors_;
};

/// The tensors behind a handle. Null or another kind of payload is a broken invariant: such a handle never reaches a
/// body.
const tensor_set& as_tensors(const payload_ptr& handle);

inline payload_ptr make_tensors(at::Tensor tensor) {
  return std::make_shared<const tensor_set>(std::move(tensor));
}

/// A contiguous view of `owner`'s storage, `offset` elements from the storage's beginning, without the dispatcher. All
/// of it must lie inside the storage.
at::Tensor contiguous_view(const at::Tensor& owner, std::int64_t offset, std::span<const std::int64_t> sizes);

/// Rows [begin, end) of a contiguous tensor as a view of its storage: a narrow(0, ...) without the dispatcher, which
/// costs more than the rest of a small micro-batch's way through the loader.
at::Tensor slice_rows(const at::Tensor& tensor, std::int64_t begin, std::int64_t end);

}  // namespace troupe
