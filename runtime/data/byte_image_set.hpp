#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/byte_region.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// Where one thing per sample lies in a file: that of sample i at `offset + i * stride`.
struct byte_column {
  byte_region_ptr region;
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;

  /// What the samples have, `width` bytes each, behind each other. Errors: as byte_region::read.
  [[nodiscard]] expected<void> read(sample_range samples, std::uint64_t width, std::span<std::uint8_t> into) const {
    return region->read({offset + samples.begin * stride, samples.size(), width, stride}, into);
  }
};

/// Images of one byte per pixel with one label byte each: what MNIST and CIFAR-10 have in common.
struct byte_image_layout {
  std::string name;
  /// data_set::reading().
  std::string reading = {};
  std::uint64_t size = 0;
  std::vector<std::int64_t> shape;
  /// At least 1.
  std::uint32_t classes = 0;
  /// A greater label is a class as well, and not an error.
  bool takes_more_classes = false;
  byte_column pixels;
  byte_column labels;
};

/// All samples must lie inside their regions (a broken invariant otherwise). A label that is no class is E0305.
/// The set has layout.classes, or greatest label + 1 where that is more.
/// Samples are float32 byte / 255, [N, C, H, W], labels int64 [N].
expected<data_set_ptr> make_byte_image_set(byte_image_layout layout);

/// out[i] = in[i] / 255, rounded once: the bits of torch's `x.to(kFloat) / 255`.
void bytes_to_unit_floats(const std::uint8_t* in, float* out, std::size_t count) noexcept;

}  // namespace troupe
