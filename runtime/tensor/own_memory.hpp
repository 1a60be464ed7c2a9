#pragma once

#include <ATen/core/Tensor.h>

namespace troupe {

/// Whether nothing else can write to the memory of the tensor behind this handle: there is no other handle, no other
/// tensor of its storage, and the memory is LibTorch's own (of the CPU not at::from_blob(), pinned or mapped memory).
bool is_only_owner(const at::Tensor& handle);

/// A dense tensor on the CPU that nothing else writes to, and that begins at a multiple of limits::payload_alignment:
/// `given`, where it is one (is_only_owner, or `is_constant`: its owner promised it); else a copy, in the strides that
/// an edge between processes keeps. A tensor of another kind of memory or layout comes back as it is. Throws what
/// LibTorch throws where there is no memory.
at::Tensor taken(const at::Tensor& given, bool is_constant);

}  // namespace troupe
