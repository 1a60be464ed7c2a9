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

}  // namespace troupe
