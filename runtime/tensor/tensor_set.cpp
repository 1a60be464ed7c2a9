#include "runtime/tensor/tensor_set.hpp"

#include "messages/check.hpp"

namespace troupe {

const at::Tensor& tensor_set::single() const {
  TROUPE_CHECK(tensors_.size() == 1, "the caller knows that this set holds one tensor");
  return tensors_.front();
}

const tensor_set& as_tensors(const payload_ptr& handle) {
  const auto* set = dynamic_cast<const tensor_set*>(handle.get());
  TROUPE_CHECK(set != nullptr, "bodies and metrics only ever get tensors");
  return *set;
}

at::Tensor contiguous_view(const at::Tensor& owner, std::int64_t offset, std::span<const std::int64_t> sizes) {
  at::Tensor view =
      at::detail::make_tensor<at::TensorImpl>(c10::Storage(owner.storage()), owner.key_set(), owner.dtype());
  at::TensorImpl* impl = view.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  impl->set_sizes_contiguous({sizes.data(), sizes.size()});
  const std::int64_t bytes_end = (offset + view.numel()) * static_cast<std::int64_t>(view.element_size());
  TROUPE_CHECK(offset >= 0 && (view.numel() == 0 || bytes_end <= static_cast<std::int64_t>(owner.storage().nbytes())),
               "a view lies inside its storage");
  return view;
}

at::Tensor slice_rows(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
  TROUPE_CHECK(tensor.dim() >= 1 && 0 <= begin && begin <= end && end <= tensor.size(0), "rows lie inside the tensor");
  TROUPE_CHECK(tensor.is_contiguous(), "rows of a contiguous tensor are contiguous");
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[0] = end - begin;
  return contiguous_view(tensor, tensor.storage_offset() + begin * tensor.stride(0), sizes);
}

}  // namespace troupe
