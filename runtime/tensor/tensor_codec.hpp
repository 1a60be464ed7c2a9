#pragma once

#include "runtime/edge/payload_codec.hpp"

namespace troupe {

/// tensor_set as bytes: CPU tensors of every dtype with whole bytes, quantized ones with one scale, with names, sizes
/// and strides. Dense tensors keep their strides (a transposed or channels-last one too), as layout changes the bits of
/// some kernels; all others are laid out anew, contiguously. Of views whose values are not what their memory holds
/// (conjugated, negated) the values are written. write() copies them once, gather() none that is dense. Every tensor
/// starts at a multiple of limits::payload_alignment, so that a tensor that is read views the bytes in place.
///
/// Layout, native byte order, both ends being the same version on the same kind of machine (docs/wire.md):
///   64 bits  magic and count of tensors;  then for each tensor in order
///     64 bits  dtype | dimensions << 8 | bytes of the name << 16,  the name padded to 8 bytes,
///     64 bits  offset of its data from the first byte,  then a size and a stride (64 bits each) per dimension,
///     of a quantized tensor its scale (float64) and zero point (64 bits each);
///   the data of all tensors in order.
///
/// size_of() refuses what has no such bytes: sparse, nested and ComplexHalf tensors, quantized ones with more than one
/// scale, those of other devices, and those beyond limits::wire_dimensions_max, wire_tensors_max and
/// wire_tensor_name_bytes_max. A broken invariant: another kind of payload.
class tensor_codec final : public payload_codec {
 public:
  [[nodiscard]] std::size_t size_of(const payload& value) const override;
  void write(const payload& value, std::span<std::byte> into) const override;
  /// Views the memory of dense tensors; copies the others.
  void gather(const payload& value, gathered_bytes& into) const override;
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void> owner) const override;
};

}  // namespace troupe
